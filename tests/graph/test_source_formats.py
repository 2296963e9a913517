"""What a file is follows from the ending of its name; a folder may hold files of several formats."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.graph import Graph

SCHEMA = "node P { k: String @key  n: I32?  d: Date? }\nedge K: P -> P { w: F64? }"


def write(folder: Path, name: str, *keys: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"k": list(keys), "n": pa.array(range(len(keys)), pa.int32())})
    if name.endswith((".csv", ".CSV")):
        pc.write_csv(table, path)
    elif name.endswith(".parquet"):
        pq.write_table(table, path)
    else:
        path.write_text("".join(json.dumps({"type": "P", "data": row}) + "\n" for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.parquet", "a.jsonl", "a.ndjson", "a.json", "a.txt", "a"])
def test_one_file_is_read_as_its_ending_says(name: str, graph: Graph, tmp_path: Path) -> None:
    path = write(tmp_path, name, "x", "y")
    is_table = name.lower().endswith((".csv", ".parquet"))
    result = graph.load(path, mode="append", type="P" if is_table else None)
    assert result.nodes == {"P": 2}


def test_a_folder_of_several_formats_is_loaded_as_one_commit(graph: Graph, tmp_path: Path) -> None:
    for name, key in (("P/a.csv", "c"), ("P/b.parquet", "p"), ("c.jsonl", "j"), ("notes.md", "m"), ("_x.csv", "h")):
        write(tmp_path / "in", name, key)
    result = graph.load(tmp_path / "in", mode="append")
    assert sorted(row["p.k"] for row in graph.query("query q() { match { $p: P } return { $p.k } }")) == ["c", "j", "p"]
    assert len(graph.commits()) == 2
    assert result.total_entities == 3


def test_a_pattern_over_several_formats_and_an_empty_folder_are_refused_with_what_to_do(
    graph: Graph, tmp_path: Path
) -> None:
    for name in ("a.csv", "b.jsonl"):
        write(tmp_path / "in", name, name)
    with pytest.raises(og.BadRequest, match="several formats: csv, jsonl"):
        graph.load(str(tmp_path / "in" / "*"), mode="append")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(og.BadRequest, match="no loadable files"):
        graph.load(tmp_path / "nothing", mode="append")
    with pytest.raises(og.BadRequest, match="applies to tables"):
        graph.load(tmp_path / "in" / "b.jsonl", mode="append", type="P")


def test_the_rejects_of_a_table_are_lines_that_load_once_they_are_mended(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "P.csv").write_text("k,n,d\na,1,2020-02-29\nb,many,2020-03-01\nc,3,soon\n,4,\n")
    rejects = tmp_path / "rejects.jsonl"
    result = graph.load(tmp_path / "P.csv", type="P", mode="append", on_error="skip", reject_file=rejects)
    assert (result.total_entities, result.rejected) == (1, 3)
    again = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [record["type"] for record in again] == ["P", "P", "P"]
    for record, mended in zip(again, ({"n": 2}, {"d": "2020-03-02"}, {"k": "d"}), strict=True):
        record["data"] |= mended
    assert graph.load([json.dumps(record).encode() for record in again], mode="append").nodes == {"P": 3}
    rows = graph.query("query q() { match { $p: P } return { $p.k, $p.n } order { $p.k } }").rows()
    assert rows == [{"p.k": key, "p.n": number} for key, number in (("a", 1), ("b", 2), ("c", 3), ("d", 4))]
