"""What Python callers may pass: addresses, moments and parameters as they have them at hand, or a typed refusal."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omnigraph as og
from omnigraph.graph import Graph
from omnigraph.language.query import ParameterError
from omnigraph.language.query.compile import UnknownQuery
from omnigraph.model.errors import BadRequest, InvalidRoot, OmniGraphError

SCHEMA = """
node Person {
    name: String @key
    age: I64?
    ratio: F64?
    ok: Bool?
    born: Date?
    seen: DateTime?
    emb: Vector(3)?
    tags: [String]?
}
"""
SEEN = dt.datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=dt.UTC)
NAIVE = SEEN.replace(tzinfo=None)
CET = dt.timezone(dt.timedelta(hours=1))


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = og.init(tmp_path / "people.omni", SCHEMA, durability="os")
    graph.mutate(
        "query add($d: Date, $t: DateTime, $v: Vector(3)) "
        '{ insert Person { name: "Ada", age: 36, ratio: 0.5, ok: true, born: $d, seen: $t, emb: $v, tags: ["a"] } }',
        d=dt.date(1815, 12, 10),
        t=SEEN,
        v=np.array([1, 2, 3], np.float32),
    )
    return graph


def names(graph: Graph, declared: str, test: str, **named: Any) -> list[str]:
    text = f"query q({declared}) {{ match {{ $p: Person\n $p.{test} }} return {{ $p.name as n }} }}"
    return [str(row["n"]) for row in graph.query(text, **named)]


# --- addresses ---------------------------------------------------------------------------------------------


def test_a_path_is_an_address(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "people.omni"
    for opened in (og.open(path), Graph.open(path, read_only=True), og.open(str(path))):
        assert opened.uri == str(path)
        assert len(opened.query("query q() { match { $p: Person } return { $p.name } }")) == 1
    again = Graph.init(tmp_path / "again", SCHEMA, durability="os")
    assert again.uri == str(tmp_path / "again")


def test_a_path_is_a_schema_file(tmp_path: Path) -> None:
    (tmp_path / "people.pg").write_text(SCHEMA)
    assert og.init(tmp_path / "g", schema=tmp_path / "people.pg").schema_source == SCHEMA


@pytest.mark.parametrize("address", [None, 7, b"people.omni", Path("s3://bucket/graph.omni"), Path("file:///tmp/g")])
def test_what_is_no_address_is_refused_by_type(address: Any) -> None:
    with pytest.raises(InvalidRoot):
        og.open(address)
    with pytest.raises(InvalidRoot):
        og.init(address, SCHEMA)


# --- moments -----------------------------------------------------------------------------------------------


def test_a_datetime_says_as_of_when(graph: Graph) -> None:
    count = "query q() { match { $p: Person } return { count($p) as n } }"
    first = graph.commits()[0]
    made = dt.datetime.fromtimestamp(first.created_at / 1_000_000, dt.UTC)
    assert graph.query(count, as_of=made)[0] == {"n": 1}
    assert graph.query(count, as_of=made.astimezone(CET))[0] == {"n": 1}
    assert graph.query(count, as_of=made.isoformat())[0] == {"n": 1}
    assert graph.query(count, as_of=dt.date(9999, 12, 31))[0] == {"n": 1}
    assert graph.explain(count, as_of=made).text
    with pytest.raises(OmniGraphError, match="commit"):
        graph.query(count, as_of=made - dt.timedelta(days=1))


@pytest.mark.parametrize("moment", [NAIVE, 1_767_323_045, dt.time(3, 4)])
def test_a_moment_without_a_zone_and_what_is_no_moment_are_refused(graph: Graph, moment: Any) -> None:
    with pytest.raises(BadRequest) as refused:
        graph.query("query q() { match { $p: Person } return { $p.name } }", as_of=moment)
    assert "as_of" in str(refused.value)
    if isinstance(moment, dt.datetime):
        assert "tzinfo" in (refused.value.hint or "")


# --- parameters --------------------------------------------------------------------------------------------


class Known(enum.StrEnum):
    ADA = "Ada"


class Age(enum.IntEnum):
    ADA = 36


ACCEPTED: list[tuple[str, str, Any]] = [
    ("$x: Date", "born = $x", dt.date(1815, 12, 10)),
    ("$x: Date", "born = $x", np.datetime64("1815-12-10")),
    ("$x: Date", "born < $x", dt.datetime(1815, 12, 11, 0, 30, tzinfo=dt.UTC)),
    ("$x: DateTime", "seen = $x", SEEN),
    ("$x: DateTime", "seen = $x", SEEN.astimezone(CET)),
    ("$x: DateTime", "seen = $x", pd.Timestamp(SEEN)),
    ("$x: DateTime", "seen = $x", np.datetime64("2026-01-02T03:04:05.678901")),
    ("$x: DateTime", "seen > $x", dt.date(2026, 1, 2)),
    ("$x: [Date]", "born in $x", [dt.date(1815, 12, 10), "2000-01-01"]),
    ("$x: [Date]", "born in $x", np.array(["1815-12-10", "2000-01-01"], "datetime64[D]")),
    ("$x: I64", "age = $x", np.int64(36)),
    ("$x: I64", "age = $x", np.uint8(36)),
    ("$x: I64", "age = $x", Decimal(36)),
    ("$x: [I64]", "age in $x", np.array([35, 36])),
    ("$x: [I64]", "age in $x", [np.int32(36), 1]),
    ("$x: F64", "ratio = $x", np.float32(0.5)),
    ("$x: F64", "ratio = $x", np.float64(0.5)),
    ("$x: F64", "ratio = $x", Decimal("0.5")),
    ("$x: Bool", "ok = $x", np.bool_(True)),
    ("$x: String", "name = $x", np.str_("Ada")),
    ("$x: String", "name = $x", Known.ADA),
    ("$x: I64", "age = $x", Age.ADA),
    ("$x: [String]", "name in $x", np.array(["Ada", "Bela"])),
    ("$x: [String]", "name in $x", ("Ada",)),
    ("$x: [String]", "name in $x", np.array(["Ada", "Bela"], object)),
]


@pytest.mark.parametrize(("declared", "test", "value"), ACCEPTED, ids=lambda value: repr(value)[:40])
def test_a_value_that_python_programs_have_is_a_parameter(graph: Graph, declared: str, test: str, value: Any) -> None:
    assert names(graph, declared, test, x=value) == ["Ada"]
    text = f"query u({declared}) {{ update Person set {{ tags: [] }} where {test} }}"
    assert graph.mutate(text, {"x": value}, idempotency_key="k").affected_nodes == 1
    assert graph.mutate(text, {"x": value}, idempotency_key="k").replayed


def test_no_time_is_null(graph: Graph) -> None:
    for value in (np.datetime64("NaT"), pd.NaT, None):
        assert names(graph, "$x: Date?", "born = $x", x=value) == []


@pytest.mark.parametrize(
    "value",
    [
        *({"Ada"}, b"Ada", object(), uuid.uuid4(), {"a": 1}, 1j, dt.time(3), dt.timedelta(1), np.timedelta64(1, "D")),
        *(iter(["Ada"]), [["Ada"]], [object()], np.array([b"Ada"])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_other_value_is_refused_with_its_name_and_what_is_accepted(graph: Graph, value: Any) -> None:
    for declared in ("String", "[String]"):
        with pytest.raises(ParameterError, match="param 'x'"):
            names(graph, f"$x: {declared}", "name = $x" if declared == "String" else "name in $x", x=value)
        with pytest.raises(ParameterError, match="param 'x'"):
            graph.mutate(f"query u($x: {declared}) {{ delete Person where age = 1 }}", x=value, idempotency_key="i")


def test_a_datetime_without_a_zone_is_refused(graph: Graph) -> None:
    with pytest.raises(ParameterError, match=r"param 'x'.*time zone") as refused:
        names(graph, "$x: DateTime", "seen = $x", x=NAIVE)
    assert "tzinfo" in (refused.value.hint or "")


@pytest.mark.parametrize("params", [["x"], "x", 7, {1: "x"}])
def test_parameters_are_a_mapping_of_names(graph: Graph, params: Any) -> None:
    with pytest.raises(ParameterError, match="params"):
        graph.query("query q() { match { $p: Person } return { $p.name } }", params)


# --- names of parameters -----------------------------------------------------------------------------------

OPTIONAL = (
    "query find($name: String?, $old: I64?) { match { $p: Person\n not { $p.name != $name } } return { $p.name } }"
)
CHANGE = "query set($name: String?, $age: I64?) { update Person set { age: $age } where name = $name }"


def test_a_parameter_that_is_not_declared_is_refused_with_the_nearest_name(graph: Graph) -> None:
    reads = [graph.query, graph.explain, graph.at(graph.commits()[0].commit_id).query]
    for ask in (*reads, graph.at(graph.commits()[0].commit_id).explain):
        with pytest.raises(ParameterError, match="'nmae'") as refused:
            ask(OPTIONAL, {"nmae": "Bela"})
        assert "'name'" in (refused.value.hint or "")
    with pytest.raises(ParameterError, match="'agee'") as refused:
        graph.mutate(CHANGE, {"name": "Ada"}, agee=1)
    assert "'age'" in (refused.value.hint or "")
    with pytest.raises(ParameterError, match="'x'") as refused:
        graph.query("query q() { match { $p: Person } return { $p.name } }", x=1)
    assert "no parameters" in (refused.value.hint or "")
    with pytest.raises(ParameterError) as refused:
        graph.query(OPTIONAL, {"$name": "Ada"})
    assert "'$'" in (refused.value.hint or "")


def test_a_parameter_that_is_given_twice_is_refused(graph: Graph) -> None:
    with pytest.raises(ParameterError, match="'old'"):
        graph.query(OPTIONAL, {"old": 1}, old=2)


def test_an_option_never_swallows_a_parameter_of_its_name(graph: Graph) -> None:
    shadowed = "query q($mode: String?) { match { $p: Person  $p.name = $mode } return { $p.name } }"
    for ask in (graph.query, graph.explain):
        with pytest.raises(ParameterError, match="'mode'") as refused:
            ask(shadowed, mode="auto")  # the option's default: a value that the caller may well have meant
        assert "params=" in (refused.value.hint or "")
    assert len(graph.query(shadowed, {"mode": "Ada"}, mode="csr")) == 1
    texts = "query q($message: String?, $branch: String?) { update Person set { tags: [] } where name = $message }"
    with pytest.raises(ParameterError, match="'message'"):
        graph.mutate(texts, message="Ada")
    with pytest.raises(ParameterError, match="'branch'"):
        graph.mutate(texts, branch="main")


def test_name_is_always_the_parameter_called_name(graph: Graph) -> None:
    assert len(graph.query(OPTIONAL, name="Ada")) == 1
    assert graph.explain(OPTIONAL, name="Ada").query_name == "find"
    assert graph.mutate(CHANGE, name="Ada", age=1).affected_nodes == 1
    shadowed = "query q($query_name: String?) { match { $p: Person  $p.name = $query_name } return { $p.name } }"
    with pytest.raises(ParameterError, match="'query_name'"):
        graph.query(shadowed, query_name="q")  # it cannot be known whether the query or the parameter is meant
    with pytest.raises(ParameterError, match="'query_name'"):
        graph.query(shadowed, query_name="Ada")


def test_with_a_mapping_options_are_options(graph: Graph) -> None:
    assert len(graph.query(OPTIONAL, {"name": "Ada"}, query_name="find")) == 1
    assert len(graph.query(OPTIONAL, params={}, query_name="find")) == 0 + len(graph.query(OPTIONAL))
    assert graph.mutate(CHANGE, {"name": "Ada", "age": 1}, query_name="set", message="why").affected_nodes == 1
    with pytest.raises(UnknownQuery):
        graph.query(OPTIONAL, {}, query_name="Ada")


def test_the_text_of_a_query_leaves_its_own_name_free(graph: Graph) -> None:
    assert names(graph, "$text: String", "name = $text", text="Ada") == ["Ada"]
    assert names(graph, "$self: String", "name = $self", self="Ada") == ["Ada"]
    pinned = graph.at(graph.commits()[0].commit_id)
    text = "query q($text: String) { match { $p: Person { name: $text } } return { $p.name } }"
    assert len(pinned.query(text, text="Ada")) == 1


def test_a_pinned_read_is_of_its_own_commit(graph: Graph) -> None:
    pinned = graph.at(graph.commits()[0].commit_id)
    for option in ("commit", "as_of", "branch"):
        with pytest.raises(BadRequest, match=option):
            pinned.query("query q() { match { $p: Person } return { $p.name } }", **{option: "x"})
