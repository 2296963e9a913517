"""Export: a snapshot as JSON lines, streamed in order, and readable by `load`."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.history import current_snapshot
from omnigraph.history.export.json_export import UnknownType, export_lines
from omnigraph.history.export.json_lines import ValueNotExportable
from omnigraph.history.export.ordered_scan import scan_by_id
from omnigraph.model.values import parse_datetime
from omnigraph.storage import GraphStorage, accept, open_storage, read_files
from omnigraph.write.verify.check_graph import verify_graph
from support.graphs.rust_graphs import rust_graph
from support.graphs.tables import append_rows

SCHEMA = """
node Doc {
  slug: String @key
  day: Date?
  at: DateTime?
  days: [Date]?
  score: F64?
  ratios: [F64]?
  small: F32?
  emb: Vector(2)?
  file: Blob?
  note: String?
}
node Cites { slug: String @key }
edge Cites: Doc -> Doc { at: DateTime? }
edge A: Doc -> Doc
"""


def new_graph(path: Path, schema: str = SCHEMA) -> GraphStorage:
    Graph.init(str(path), schema, durability="os").close()
    return open_storage(str(path), durability="os")


def doc(slug: str, **values: Any) -> dict[str, Any]:
    return {"id": slug, "slug": slug} | values


def exported(storage: GraphStorage, branch: str = "main", **options: Any) -> list[dict[str, Any]]:
    lines = list(texts(storage, branch, **options))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    return [json.loads(line) for line in lines]


def texts(storage: GraphStorage, branch: str = "main", **options: Any) -> list[str]:
    catalog = accept(read_files(storage.objects)).catalog
    return [line.decode() for line in export_lines(storage, current_snapshot(storage, branch), catalog, **options)]


# --- graphs of the Rust binary ------------------------------------------------------------------------------


def as_milliseconds(record: dict[str, Any]) -> dict[str, Any]:
    """That release writes a DateTime as text without a zone; ours is the number."""
    data = dict(record["data"])
    if isinstance(data.get("at"), str):
        data["at"] = parse_datetime(data["at"])
    return record | {"data": data}


def canonical(records: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(record, ensure_ascii=False) for record in records)


@pytest.mark.parametrize("name", ["people", "rich", "branches", "evolved", "fork-of-fork"])
def test_entities_and_key_order_are_what_the_binary_exported_on_every_branch(name: str) -> None:
    with rust_graph(name) as rust:
        storage = open_storage(rust.uri, read_only=True)
        assert set(rust.expected["at"]) == set(rust.expected["branches"])
        for branch, expected in rust.expected["at"].items():
            wanted = [as_milliseconds(record) for record in expected["entities"]]
            assert canonical(exported(storage, branch)) == canonical(wanted)


def test_exporting_leaves_every_byte_as_it_was() -> None:
    with rust_graph("rich") as rust:
        before = {path: path.read_bytes() for path in rust.path.rglob("*") if path.is_file()}
        exported(open_storage(rust.uri, read_only=True))
        assert before == {path: path.read_bytes() for path in rust.path.rglob("*") if path.is_file()}


# --- order ----------------------------------------------------------------------------------------------------


def test_nodes_come_before_edges_types_by_name_and_rows_in_byte_order_of_their_ids(tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    append_rows(storage, "node:Doc", [doc(slug) for slug in ("b", "Z", "é", "a", "ab", "😀", "￿")])
    append_rows(storage, "node:Cites", [{"id": "x", "slug": "x"}])
    append_rows(storage, "edge:Cites", [{"id": "2", "src": "a", "dst": "b"}, {"id": "1", "src": "b", "dst": "a"}])
    append_rows(storage, "edge:A", [{"id": "9", "src": "a", "dst": "b"}])
    order = [(next(iter(record)), record["data"]["id"]) for record in exported(storage)]
    slugs = sorted(("b", "Z", "é", "a", "ab", "😀", "￿"), key=str.encode)
    assert order == [
        ("type", "x"),
        *(("type", slug) for slug in slugs),
        ("edge", "9"),
        ("edge", "1"),
        ("edge", "2"),
    ]


def test_id_comes_first_then_the_properties_in_byte_order_with_nulls(tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    append_rows(storage, "node:Doc", [doc("a")])
    append_rows(storage, "edge:Cites", [{"id": "e", "src": "a", "dst": "a"}])
    assert texts(storage) == [
        (
            '{"type":"Doc","data":{"id":"a","at":null,"day":null,"days":null,"emb":null,"file":null,"note":null,'
            '"ratios":null,"score":null,"slug":"a","small":null}}\n'
        ),
        '{"edge":"Cites","from":"a","to":"a","data":{"id":"e","at":null}}\n',
    ]


@pytest.mark.parametrize("run_bytes", [1, 100, 2_000, 1 << 30])
def test_order_and_rows_do_not_depend_on_how_much_is_sorted_in_memory(run_bytes: int, tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    ids = [f"{place * 7919 % 5003:05}" for place in range(5000)]
    for start in range(0, 5000, 1000):
        append_rows(storage, "node:Doc", [doc(slug, note=f"n{slug}") for slug in ids[start : start + 1000]])
    pin = current_snapshot(storage).tables[-1]
    batches = scan_by_id(storage.tables.open(pin), ["id", "note"], run_bytes=run_bytes)
    rows = pa.Table.from_batches(batches).to_pylist()
    assert rows == [{"id": slug, "note": f"n{slug}"} for slug in sorted(ids)]


def test_spilled_files_are_gone_after_an_export_that_was_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = new_graph(tmp_path / "g.omni")
    append_rows(storage, "node:Doc", [doc(f"{place}") for place in range(5000)])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    lines = iter(
        export_lines(storage, current_snapshot(storage), accept(read_files(storage.objects)).catalog, run_bytes=1)
    )
    next(lines)
    assert list(scratch.iterdir()) != []
    lines.close()  # type: ignore[attr-defined]
    assert list(scratch.iterdir()) == []


# --- values ---------------------------------------------------------------------------------------------------


def test_dates_are_integers_and_iso_text_on_request(tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    append_rows(storage, "node:Doc", [doc("a", day=-1, at=1234, days=[0, 19782])])
    raw, iso = (exported(storage, dates=dates)[0]["data"] for dates in ("raw", "iso"))
    assert (raw["day"], raw["at"], raw["days"]) == (-1, 1234, [0, 19782])
    assert (iso["day"], iso["at"], iso["days"]) == (
        "1969-12-31",
        "1970-01-01T00:00:01.234Z",
        ["1970-01-01", "2024-02-29"],
    )


def test_text_keeps_every_character_and_stays_on_one_line(tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    note = 'line\nnext "quoted" \\ \x00 \u2028 日本語 %s %'
    append_rows(storage, "node:Doc", [doc("a", note=note)])
    assert exported(storage)[0]["data"]["note"] == note


def test_managed_blobs_are_base64_whatever_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = new_graph(tmp_path / "g.omni")
    monkeypatch.setattr("omnigraph.storage.blobs.cells.BLOB_READ_BYTES", 1000)
    blobs = {"a": b"\x00\xff", "b": b"x" * 100_000, "c": b"y" * 5_000_000, "d": b"", "e": None}
    rows = [
        doc(slug, file=None if data is None else {"data": data, "uri": None}) for slug, data in reversed(blobs.items())
    ]
    append_rows(storage, "node:Doc", rows[1:])
    append_rows(storage, "node:Doc", rows[:1])
    found = {record["data"]["id"]: record["data"]["file"] for record in exported(storage)}
    texts_of = {
        slug: None if data is None else f"base64:{base64.b64encode(data).decode()}" for slug, data in blobs.items()
    }
    assert found == texts_of


def test_empty_blob_and_null_stay_apart_in_a_graph_that_was_never_written_by_the_rust_releases(tmp_path: Path) -> None:
    """Theirs look alike on disk: the fixtures have both, and there a blob of nothing at position 0 is a null."""
    storage = new_graph(tmp_path / "g.omni")
    append_rows(storage, "node:Doc", [doc("a", file={"data": b"", "uri": None})])
    append_rows(storage, "node:Doc", [doc("b")])
    assert [record["data"]["file"] for record in exported(storage)] == ["base64:", None]


def test_numbers_read_back_exactly_and_look_like_numbers_with_a_point(tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    numbers = [0.0, -0.0, 1.0, -3.0, 0.1, 1e15, 1e16, -1e300, 5e-324, 123456.789, None]
    append_rows(storage, "node:Doc", [doc(f"{place:02}", score=number) for place, number in enumerate(numbers)])
    append_rows(storage, "node:Doc", [doc("x", emb=[-0.0, 0.1]), doc("y"), doc("z", emb=[1e20, 2.0], small=0.1)])
    found = [record["data"] for record in exported(storage)]
    assert [repr(data["score"]) for data in found[: len(numbers)]] == [repr(number) for number in numbers]
    assert [repr(data["emb"]) for data in found[len(numbers) :]] == [
        "[-0.0, 0.10000000149011612]",
        "None",
        "[1.0000000200408773e+20, 2.0]",
    ]
    assert found[-1]["small"] == 0.10000000149011612


@pytest.mark.parametrize(
    ("prop", "value", "shown"),
    [
        ("score", float("nan"), "nan"),
        ("small", float("-inf"), "-inf"),
        ("emb", [1.0, float("inf")], "inf"),
        ("ratios", [0.5, float("nan")], "nan"),
    ],
)
def test_number_that_json_cannot_carry_is_refused_by_name(prop: str, value: Any, shown: str, tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    append_rows(storage, "node:Doc", [doc("a", **{prop: value}), doc("b")])
    with pytest.raises(ValueNotExportable) as refused:
        exported(storage)
    assert refused.value.details() == {"type_name": "Doc", "entity_id": "a", "property": prop, "value": shown}
    assert prop in str(refused.value)


# --- the filter -----------------------------------------------------------------------------------------------


def test_type_filter_takes_node_and_edge_names_and_a_name_of_both_selects_both(tmp_path: Path) -> None:
    storage = new_graph(tmp_path / "g.omni")
    append_rows(storage, "node:Doc", [doc("a")])
    append_rows(storage, "node:Cites", [{"id": "x", "slug": "x"}])
    append_rows(storage, "edge:Cites", [{"id": "e", "src": "a", "dst": "a"}])
    kinds = {name: [next(iter(record)) for record in exported(storage, types=[name])] for name in ("Doc", "Cites", "A")}
    assert kinds == {"Doc": ["type"], "Cites": ["type", "edge"], "A": []}


@pytest.mark.parametrize(("name", "hint"), [("doc", "'Doc'"), ("Cite", "'Cites'"), ("Zzz", "schema show")])
def test_unknown_type_is_refused_before_the_first_line_with_the_nearest_name(
    name: str, hint: str, tmp_path: Path
) -> None:
    storage = new_graph(tmp_path / "g.omni")
    catalog = accept(read_files(storage.objects)).catalog
    with pytest.raises(UnknownType, match=f"'{name}'") as refused:
        export_lines(storage, current_snapshot(storage), catalog, types=["Doc", name])
    assert hint in (refused.value.hint or "")
    assert refused.value.code == "type_not_found"


def test_export_and_verify_work_on_every_kind_of_store(new_root: Callable[[str], str]) -> None:
    uri = new_root("g.omni")
    Graph.init(uri, SCHEMA).close()
    storage = open_storage(uri)
    append_rows(storage, "node:Doc", [doc("b", file={"data": b"x" * 100_000, "uri": None}), doc("a", note="n")])
    reader = open_storage(uri, read_only=True)
    assert [record["data"]["id"] for record in exported(reader)] == ["a", "b"]
    assert verify_graph(reader).findings == ()


# --- rows of the contract that need a graph ---------------------------------------------------------------


def test_schema_D43_a_date_is_text_in_a_query_result_and_days_in_an_export(tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "dates"), "node P { k: String @key  d: Date? }", durability="os")
    graph.load([b'{"type":"P","data":{"k":"a","d":"2026-01-02"}}'], mode="append")
    shown = json.dumps(graph.query("query q() { match { $p: P } return { $p.d } }").to_json())
    assert '"p.d": "2026-01-02"' in shown
    assert json.loads(next(graph.export()))["data"]["d"] == 20455
    assert json.loads(next(graph.export(dates="iso")))["data"]["d"] == "2026-01-02"


def test_schema_D44_a_large_integer_is_exact_in_a_query_result_and_in_an_export(tmp_path: Path) -> None:
    """Replaced: a string only for callers that ask for JavaScript's range."""
    graph = Graph.init(str(tmp_path / "numbers"), "node P { k: String @key  n: I64? }", durability="os")
    graph.load([b'{"type":"P","data":{"k":"a","n":9007199254740992}}'], mode="append")
    shown = json.dumps(graph.query("query q() { match { $p: P } return { $p.n } }").to_json())
    assert '"p.n": 9007199254740992' in shown
    assert b'"n":9007199254740992' in next(graph.export())


def test_tx_O20_an_export_that_runs_beside_a_cleanup_is_whole(tmp_path: Path) -> None:
    """Replaced: neither is refused. What a read begun within the grace time needs stays there."""
    graph = Graph.init(str(tmp_path / "busy"), "node P { k: String @key  n: I32? }", durability="os")
    for number in range(5):
        graph.load([b'{"type":"P","data":{"k":"a","n":%d}}' % number, b'{"type":"P","data":{"k":"b"}}'], mode="merge")
    lines = graph.export(manifest=True)
    first = next(lines)
    graph.load([b'{"type":"P","data":{"k":"a","n":99}}'], mode="overwrite")
    graph.cleanup(keep_versions=1, confirm=True)
    rest = list(lines)
    copy = Graph.init(str(tmp_path / "copy"), "node P { k: String @key  n: I32? }", durability="os")
    assert copy.load([first, *rest], mode="overwrite").total_entities == 2
