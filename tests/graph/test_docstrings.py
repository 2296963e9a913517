"""The documentation of the public face is true: every member has an example, and every example runs."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import pydoc
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.history import Blob
from omnigraph.pipeline.clone import CloneResult

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person"
RECORDS = """\
{"type": "Person", "data": {"name": "Ada", "age": 36}}
{"type": "Person", "data": {"name": "Grace", "age": 45}}
{"edge": "Knows", "from": "Ada", "to": "Grace"}
"""
CLASSES = (
    og.Graph,
    og.PinnedGraph,
    og.QueryResult,
    og.Explanation,
    og.QueryLimits,
    og.Cancellation,
    og.MutationResult,
    og.LoadResult,
    og.LoadReport,
    og.ExportResult,
    og.VerifyReport,
    og.MigrationPlan,
    og.SchemaPlan,
    og.SchemaReceipt,
    og.IndexStatus,
    og.IndexReport,
    og.OptimizeReport,
    og.Suggestion,
    og.Snapshot,
    og.Progress,
    Blob,
    CloneResult,
)
FUNCTIONS = (og.init, og.open, og.verify)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented() -> Iterator[tuple[str, object]]:
    """The public classes, their public methods and properties, and the functions, each with its name."""
    for function in FUNCTIONS:
        yield f"omnigraph.{function.__name__}", function
    for cls in CLASSES:
        yield cls.__name__, cls
        fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
        own = [base for base in cls.__mro__ if base.__module__.startswith("omnigraph.")]
        for name, member in (each for base in own for each in vars(base).items()):
            if not name.startswith("_") and name not in fields:
                yield f"{cls.__name__}.{name}", getattr(member, "__func__", member)


MEMBERS = dict(documented())


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    """The graph that the examples use, in the folder that they run in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.jsonl").write_text(RECORDS)
    (tmp_path / "people.csv").write_text("name,age\nAda,36\nGrace,45\nAlan,41\n")
    graph = og.init("people.omni", SCHEMA, durability="os")
    graph.load([RECORDS.encode()], mode="append")
    return graph


def library() -> og.Graph:
    """What the examples about blobs use."""
    schema = "node Book { isbn: String @key  cover: Blob? }"
    graph = og.init("books.omni", schema, durability="os")
    graph.load([b'{"type":"Book","data":{"isbn":"b1","cover":"base64:aGVsbG8gd29ybGQ="}}'], mode="append")
    return graph


@pytest.mark.parametrize("name", MEMBERS)
def test_every_public_member_has_an_example_that_runs(name: str, graph: og.Graph) -> None:
    text = inspect.getdoc(MEMBERS[name]) or ""
    known = {"og": og, "graph": graph, "library": library() if "library." in text else None}
    test = doctest.DocTestParser().get_doctest(text, known, name, None, 0)
    assert test.examples, f"{name} has no example"
    told: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append).failed
    assert not failed, "".join(told)


@pytest.mark.parametrize("name", [name for name, member in MEMBERS.items() if name.startswith("Graph.")])
def test_every_method_of_a_graph_says_what_it_raises(name: str) -> None:
    cannot_fail = ("close", "uri", "branch_name", "actor", "as_actor", "schema_source", "branches")
    assert name.removeprefix("Graph.") in cannot_fail or "Raises " in (inspect.getdoc(MEMBERS[name]) or "")


def test_every_error_that_a_docstring_names_can_be_imported_from_the_package() -> None:
    for name, member in MEMBERS.items():
        _, _, raised = (inspect.getdoc(member) or "").partition("Raises ")
        for word in raised.replace(",", " ").replace(".", " ").split():
            if word[0].isupper() and any(letter.islower() for letter in word) and word not in ("Damage", "Ctrl-C"):
                is_there = hasattr(og.errors, word) or hasattr(og, word) or word in ("Spark", "Raises")
                assert is_there, f"{name} names {word}"


def test_every_exported_name_is_there_and_listed() -> None:
    for name in og.__all__:
        assert getattr(og, name) is not None
    assert set(og.__all__) <= set(dir(og))
    assert {"Graph", "CompileError", "QueryLimits", "LoadResult", "Progress"} <= set(og.__all__)


def test_options_are_spelled_out_in_the_signatures() -> None:
    for function in FUNCTIONS:
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds
    for cls in (og.Graph, og.PinnedGraph):
        parameters = inspect.signature(cls.query).parameters
        assert {"params", "query_name", "limits", "timeout", "cancellation", "named_params"} <= set(parameters)
        assert "query_name" in pydoc.render_doc(cls.query)
