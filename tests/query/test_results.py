"""What a query gives back: rows in wire form, Arrow, data frames, a notebook table, and which snapshot it read."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, CommitNotFound

SCHEMA = """
node Doc {
    slug: String @key
    title: String
    pages: U64?
    ratio: F32?
    day: Date?
    at: DateTime?
    tags: [String]?
    times: [DateTime]?
    emb: Vector(2)?
    file: Blob?
}
edge Cites: Doc -> Doc { note: String?  day: Date? }
"""
RECORDS: list[dict[str, Any]] = [
    {
        "type": "Doc",
        "data": {
            "slug": "a",
            "title": "<b>",
            "pages": 2**64 - 1,
            "ratio": 0.1,
            "day": "1969-12-31",
            "at": "2024-02-29T12:34:56.789Z",
            "tags": ["x", "y"],
            "times": ["1969-12-31T23:59:59.999Z"],
            "emb": [0.5, 0.25],
            "file": "base64:aGk=",
        },
    },
    {"type": "Doc", "data": {"slug": "b", "title": "two"}},
    {"edge": "Cites", "from": "a", "to": "b", "data": {"id": "c1", "note": "see", "day": "2000-01-02"}},
]
WHOLE_A = {
    "id": "a",
    "at": "2024-02-29T12:34:56.789Z",
    "day": "1969-12-31",
    "emb": [0.5, 0.25],
    "pages": 2**64 - 1,
    "ratio": 0.10000000149011612,
    "slug": "a",
    "tags": ["x", "y"],
    "times": ["1969-12-31T23:59:59.999Z"],
    "title": "<b>",
}
BY_SLUG = "query q($s: String) { match { $d: Doc { slug: $s } } return { $d.slug, $d.pages, $d.ratio, $d.day, $d.at } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = Graph.init(str(tmp_path / "g.omni"), SCHEMA, durability="os")
    made.load([json.dumps(record).encode() + b"\n" for record in RECORDS], mode="append")
    return made


@pytest.fixture(params=["csr", "indexed"])
def mode(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_rows_have_the_wire_form_of_their_types(graph: Graph, mode: Any) -> None:
    result = graph.query(BY_SLUG, s="a", mode=mode)
    assert result.columns == ("d.slug", "d.pages", "d.ratio", "d.day", "d.at")
    assert list(result) == [
        {
            "d.slug": "a",
            "d.pages": 2**64 - 1,
            "d.ratio": 0.10000000149011612,
            "d.day": "1969-12-31",
            "d.at": "2024-02-29T12:34:56.789Z",
        }
    ]


def test_a_whole_entity_is_an_object_with_its_id_first(graph: Graph, mode: Any) -> None:
    text = 'query q() { match { $d: Doc { slug: "a" } $d $c:cites $e } return { $d.* as d, $c.* as c, $e.* as e } }'
    (row,) = graph.query(text, mode=mode).rows()
    assert row["d"] == WHOLE_A
    assert next(iter(row["d"])) == "id"
    assert row["c"] == {"id": "c1", "from": "a", "to": "b", "day": "2000-01-02", "note": "see"}
    assert row["e"]["pages"] is None


def test_a_whole_entity_that_is_missing_is_null(graph: Graph, mode: Any) -> None:
    text = 'query q() { match { $d: Doc { slug: "b" } maybe { $d cites $e } } return { $d.slug, $e.* as e } }'
    assert graph.query(text, mode=mode).rows() == [{"d.slug": "b", "e": None}]


def test_a_result_is_a_sequence_of_rows(graph: Graph) -> None:
    result = graph.query("query q() { match { $d: Doc } return { $d.slug } order { $d.slug } }")
    assert len(result) == result.row_count == 2
    assert result[0] == {"d.slug": "a"}
    assert result[-1:] == [{"d.slug": "b"}]


def test_the_json_document_names_target_columns_and_commit(graph: Graph) -> None:
    result = graph.query(BY_SLUG, s="none")
    assert result.to_json() == {
        "query_name": "q",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 0,
        "columns": ["d.slug", "d.pages", "d.ratio", "d.day", "d.at"],
        "rows": [],
        "graph_commit_id": graph.snapshot().commit_id,
    }


def test_arrow_keeps_the_stored_types_also_when_there_are_no_rows(graph: Graph, mode: Any) -> None:
    kinds = [pa.string(), pa.uint64(), pa.float32(), pa.date32(), pa.date64()]
    for slug in ("a", "none"):
        assert graph.query(BY_SLUG, s=slug, mode=mode).to_arrow().schema.types == kinds


def test_pandas_gets_a_data_frame(graph: Graph) -> None:
    frame = graph.query(BY_SLUG, s="a").to_pandas()
    assert frame["d.slug"].tolist() == ["a"]
    assert frame["d.at"][0].isoformat(timespec="milliseconds") == "2024-02-29T12:34:56.789"


class TestPolars:
    TEXT = """query q() {
        match { $d: Doc  maybe { $d cites $e } }
        return { $d.slug, $d.pages, $d.ratio, $d.day, $d.at, $d.tags, $d.times, $d.emb, $e.* as e }
        order { $d.slug }
    }"""
    MOMENT = datetime.datetime(2024, 2, 29, 12, 34, 56, 789_000)  # noqa: DTZ001  # polars has the stored UTC without a zone

    def test_a_data_frame_keeps_the_types_of_the_columns(self, graph: Graph) -> None:
        kinds = {
            "d.slug": polars.String(),
            "d.pages": polars.UInt64(),
            "d.ratio": polars.Float32(),
            "d.day": polars.Date(),
            "d.at": polars.Datetime("ms"),
            "d.tags": polars.List(polars.String()),
            "d.times": polars.List(polars.Datetime("ms")),
            "d.emb": polars.Array(polars.Float32(), 2),
        }
        whole = graph.query(self.TEXT).to_polars()
        assert {name: whole.schema[name] for name in kinds} == kinds
        nothing = graph.query(self.TEXT.replace("$d: Doc ", '$d: Doc { slug: "none" } ')).to_polars()
        assert nothing.schema == whole.schema
        assert nothing.height == 0

    def test_a_data_frame_has_the_values_lists_and_vectors_of_the_rows(self, graph: Graph) -> None:
        first = graph.query(self.TEXT).to_polars().to_dicts()[0]
        assert first.pop("e") == {"id": "b", "slug": "b", "title": "two"} | dict.fromkeys(
            ("at", "day", "emb", "pages", "ratio", "tags", "times")
        )
        assert first == {
            "d.slug": "a",
            "d.pages": 2**64 - 1,
            "d.ratio": 0.10000000149011612,
            "d.day": datetime.date(1969, 12, 31),
            "d.at": self.MOMENT,
            "d.tags": ["x", "y"],
            "d.times": [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000)],  # noqa: DTZ001
            "d.emb": [0.5, 0.25],
        }

    def test_what_is_missing_is_null_in_a_data_frame(self, graph: Graph) -> None:
        second = graph.query(self.TEXT).to_polars().row(1, named=True)
        assert second.pop("d.slug") == "b"
        assert set(second.values()) == {None}


def test_polars_that_is_missing_is_named_with_the_way_to_get_it(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(BadRequest) as caught:
        graph.query(BY_SLUG, s="a").to_polars()
    assert "polars" in str(caught.value)
    assert caught.value.hint is not None
    assert "pip install" in caught.value.hint


def test_a_notebook_sees_a_table_with_escaped_text(graph: Graph) -> None:
    html = graph.query("query q() { match { $d: Doc } return { $d.title } order { $d.slug } }")._repr_html_()
    assert "<td>&lt;b&gt;</td>" in html
    assert "<th>d.title</th>" in html


def test_the_times_of_lists_and_groups_keep_their_milliseconds(graph: Graph, mode: Any) -> None:
    text = "query q() { match { $d: Doc } return { $d.at, $d.times, count($d) as n } order { n, $d.at } }"
    rows = graph.query(text, mode=mode).rows()
    assert rows[1] == {"d.at": "2024-02-29T12:34:56.789Z", "d.times": ["1969-12-31T23:59:59.999Z"], "n": 1}


class TestTimeTravel:
    COUNT = "query q() { match { $d: Doc } return { count($d) as n } }"

    def test_a_commit_is_read_as_it_was(self, graph: Graph, mode: Any) -> None:
        before = graph.snapshot().commit_id
        graph.mutate('query d() { delete Doc where slug = "b" }')
        result = graph.query(self.COUNT, commit=before, mode=mode)
        assert (result[0]["n"], result.snapshot, result.branch, result.commit_id) == (2, before, None, before)
        assert graph.query(self.COUNT, mode=mode)[0]["n"] == 1

    def test_a_pinned_graph_reads_and_exports_its_commit_alone(self, graph: Graph) -> None:
        pinned = graph.at(str(graph.snapshot().commit_id))
        lines = list(graph.export())
        graph.mutate('query d() { delete Doc where slug = "b" }')
        assert pinned.query(self.COUNT)[0]["n"] == 2
        assert list(pinned.export()) == lines
        assert "scan" in pinned.explain(self.COUNT).text

    def test_a_moment_shows_the_newest_commit_that_is_not_later(self, graph: Graph) -> None:
        commits = graph.commits()
        moment = datetime.datetime.fromtimestamp(commits[0].created_at / 1e6, datetime.UTC)
        graph.mutate('query d() { delete Doc where slug = "b" }')
        later = datetime.datetime(2200, 1, 1, tzinfo=datetime.UTC)
        assert graph.query(self.COUNT, as_of=later.isoformat())[0]["n"] == 1
        result = graph.query(self.COUNT, as_of=moment.isoformat())
        assert result.commit_id in {commits[0].commit_id, graph.commits()[0].commit_id}

    def test_a_moment_before_the_first_commit_is_not_found(self, graph: Graph) -> None:
        with pytest.raises(CommitNotFound):
            graph.query(self.COUNT, as_of="1999-01-01T00:00:00Z")

    def test_commit_and_moment_exclude_each_other(self, graph: Graph) -> None:
        with pytest.raises(BadRequest):
            graph.query(self.COUNT, commit=graph.snapshot().commit_id, as_of="2200-01-01T00:00:00Z")
