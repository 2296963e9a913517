"""Line files: any cut of a file into ranges gives the same records, and every way to name files finds them."""

from __future__ import annotations

import gzip
import itertools
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.language.schema import compile_schema
from omnigraph.model.errors import BadRequest
from omnigraph.write.intake.line_files import ENDINGS, LineItem, line_source
from omnigraph.write.intake.read_item import ReadPlan
from omnigraph.write.intake.source_files import find_files
from omnigraph.write.intake.sources import Unreadable
from omnigraph.write.places import Places

CATALOG = compile_schema("node Q { s: String?  r: I32 }\nedge K: Q -> Q { w: F64? }").catalog
PLAN = ReadPlan(CATALOG, "load", 1_700_000_000_000, False, True, 10_000)


def mixed_lines(count: int, seed: int) -> bytes:
    chance = random.Random(seed)
    kinds = [
        lambda: b'{"type":"Q","data":{"r":%d}}' % chance.randrange(100),
        lambda: b'{"edge":"K","from":"a","to":"b","data":{"w":%d}}' % chance.randrange(100),
        lambda: '{"type":"Q","data":{"r":1,"s":"\u00fc\u4f60"}}\r'.encode(),
        lambda: b"",
        lambda: b'{"type":"Q","data":{"r":"x"}}',
        lambda: b"{broken",
        lambda: b" " * chance.randrange(40),
    ]
    chosen = chance.choices(kinds, [30, 30, 5, 2, 1, 1, 1], k=count)
    return b"\n".join(kind() for kind in chosen)


def everything(items: list[LineItem]) -> tuple[Any, ...]:
    """Rows, places and violations of all items, with lines of the file."""
    rows: dict[str, list[Any]] = {}
    readings = [PLAN.read(item) for item in items]
    parts = [list(reading.parts()) for reading in readings]
    places = Places.of(items, [reading.span for reading in readings])
    found = []
    for number, reading in enumerate(readings):
        before = places.before[number]
        for part in parts[number]:
            values = part.decoded.rows.to_pylist()
            lines = (part.decoded.lines + before).tolist()
            rows.setdefault(part.plan.entity.name, []).extend(zip(lines, values, strict=True))
        found += [(each.line or 0) + before for each in reading.violations.first()]
        found += [(each.line + before, each.text) for each in reading.refused]
        for part in parts[number]:
            for line in part.decoded.lines.tolist():
                assert places.place(places.starts[number] + line) == (items[number].file, line + before)
    return rows, found, sum(reading.span for reading in readings)


@pytest.mark.parametrize("cuts", [2, 3, 7, 50, 999])
def test_any_cut_into_byte_ranges_gives_the_same_rows_lines_ids_and_errors(tmp_path: Path, cuts: int) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(mixed_lines(600, cuts))
    size = path.stat().st_size
    chance = random.Random(cuts)
    borders = [0, *sorted(chance.sample(range(1, size), cuts - 1)), size]
    ranges = [
        LineItem("in.jsonl", str(path), start, None if end == size else end)
        for start, end in itertools.pairwise(borders)
    ]
    whole = everything([LineItem("in.jsonl", str(path))])
    parts = everything(ranges)
    assert parts[0] == whole[0]
    assert sorted(map(str, parts[1])) == sorted(map(str, whole[1]))
    assert parts[2] == whole[2]


@pytest.mark.parametrize("block_bytes", [1, 7, 1000])
def test_blocks_of_any_size_join_to_the_file(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(mixed_lines(80, 1))
    size = path.stat().st_size
    joined = b""
    for start, end in ((0, 100), (100, size // 2), (size // 2, None)):
        for block in LineItem("in.jsonl", str(path), start, end).blocks(block_bytes):
            assert block.offset == len(joined)
            joined += block.data
    assert joined == path.read_bytes()


def test_records_of_an_item_are_what_blocks_hold(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(mixed_lines(200, 3))
    item = LineItem("in.jsonl", str(path))
    reading = PLAN.read(item)
    lines = sorted(line for part in reading.parts() for line in part.decoded.lines.tolist())
    found = list(item.records(CATALOG))
    refused = {each.line for each in reading.refused}
    assert sorted(each.line for each in found if each.line not in refused) == lines
    assert {each.line for each in found if isinstance(each, Unreadable)} <= refused


def test_a_large_file_is_cut_and_a_compressed_one_is_not(tmp_path: Path) -> None:
    text = mixed_lines(400, 5)
    (tmp_path / "a.jsonl").write_bytes(text)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(text))
    with pa.output_stream(str(tmp_path / "c.jsonl.zst"), compression="zstd") as out:
        out.write(text)
    source = line_source(tmp_path, split_bytes=5_000)
    by_file = {name: [item for item in source.items if item.file == name] for name in source.files}
    plain, gz, zstd = by_file.values()
    assert len(plain) > 2
    assert (len(gz), len(zstd)) == (1, 1)
    numbers = [
        [value for item in items for part in PLAN.read(item).parts() for value in part.decoded.lines.tolist()]
        for items in (gz, zstd)
    ]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == sum(len(lines) for lines in everything(plain)[0].values())


def test_files_folders_and_patterns_are_found_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.ndjson", "x/c.jsonl.gz", "_SUCCESS", ".hidden.jsonl", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    names = [
        Path(file.path).relative_to(tmp_path).as_posix()
        for file in find_files([tmp_path, tmp_path / "b.jsonl"], ENDINGS)
    ]
    assert names == ["a.ndjson", "b.jsonl", "x/c.jsonl.gz"]
    assert len(find_files([str(tmp_path / "**/*.jsonl*")], ENDINGS)) == 2


@pytest.mark.parametrize(
    ("source", "reason"),
    [("nowhere.jsonl", "there is no such file"), ("*.nothing", "no file matches"), (".", "contains no loadable files")],
)
def test_a_source_without_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadRequest, match=reason):
        line_source(source)


def test_a_damaged_archive_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n" * 100)[:-20])
    with pytest.raises(BadRequest, match=r"cannot read .*in\.jsonl\.gz"):
        list(line_source(path).items[0].blocks())
