"""The reject file of a load: it never costs anybody a record, and says what the last load rejected and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import BadRequest, ReadSetChanged
from omnigraph.storage.failpoints import Point, armed
from omnigraph.write.rules import ValidationFailed
from support.graphs.people import INSERT_PERSON, fx, lines, people, person

BAD = {"type": "Person", "data": {"name": "Eve", "age": "old"}}
MIXED = b"".join(lines(person("Fay", 7), BAD))
[BAD_LINE] = lines(BAD)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fx(tmp_path / "g")


@pytest.fixture
def rejects(tmp_path: Path) -> Path:
    """The reject file of an earlier load, half mended: one record is good now, the other is not."""
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / "rejects.jsonl"
    path.write_bytes(MIXED)
    return path


def same(path: Path) -> Path:
    return path


def by_symlink(path: Path) -> Path:
    link = path.parent / "link.jsonl"
    link.symlink_to(path)
    return link


def by_hard_link(path: Path) -> Path:
    link = path.parent / "hard.jsonl"
    os.link(path, link)
    return link


def by_relative_path(path: Path) -> Path:
    return Path(os.path.relpath(path))


def by_folder(path: Path) -> Path:
    return path.parent


def by_pattern(path: Path) -> Path:
    return path.parent / "*.jsonl"


WAYS = [same, by_symlink, by_relative_path, by_folder, by_pattern]
Way = Callable[[Path], Path]


@pytest.mark.parametrize("way", [*WAYS, by_hard_link])
def test_an_input_that_is_also_the_reject_file_is_read_before_it_is_replaced(
    graph: Graph, rejects: Path, way: Way
) -> None:
    source = way(rejects)
    result = graph.load(source, mode="append", on_error="skip", reject_file=rejects)
    assert people(graph)["Fay"] == 7
    assert result.rejected == 1
    assert rejects.read_bytes() == BAD_LINE


@pytest.mark.parametrize("way", [*WAYS, by_hard_link])
def test_a_load_that_fails_leaves_its_input_as_it_was(graph: Graph, rejects: Path, way: Way) -> None:
    source = way(rejects)
    with pytest.raises(ValidationFailed):
        graph.load(source, mode="append", reject_file=rejects)
    assert rejects.read_bytes() == MIXED
    assert "Fay" not in people(graph)


def test_a_reject_file_that_is_a_link_stays_a_link(graph: Graph, rejects: Path) -> None:
    link = by_symlink(rejects)
    graph.load(rejects, mode="append", on_error="skip", reject_file=link)
    assert link.is_symlink()
    assert rejects.read_bytes() == link.read_bytes() == BAD_LINE


def test_a_load_of_an_open_file_that_fails_leaves_the_file_as_it_was(graph: Graph, rejects: Path) -> None:
    with rejects.open("rb") as stream, pytest.raises(ValidationFailed):
        graph.load(stream, mode="append", reject_file=rejects)
    assert rejects.read_bytes() == MIXED


def test_a_load_that_lost_its_race_leaves_its_input_as_it_was(graph: Graph, rejects: Path) -> None:
    other = Graph.open(graph.uri, durability="os")
    knows = lines({"edge": "Knows", "from": "Alice", "to": "Bob"}, {"edge": "Knows", "from": "Alice"})
    rejects.write_bytes(b"".join(knows))
    with (
        armed(Point.MUTATION_STAGED, lambda: other.mutate(INSERT_PERSON, n="Zoe") and None),
        pytest.raises(ReadSetChanged),
    ):
        graph.load(rejects, mode="overwrite", on_error="skip", reject_file=rejects)
    assert rejects.read_bytes() == b"".join(knows)
    assert os.listdir(rejects.parent) == [rejects.name]


def test_a_load_that_is_prepared_again_reads_the_same_input_again(graph: Graph, rejects: Path) -> None:
    other = Graph.open(graph.uri, durability="os")
    with armed(Point.MUTATION_STAGED, lambda: other.mutate(INSERT_PERSON, n="Zoe") and None):
        graph.load(rejects, mode="append", on_error="skip", reject_file=rejects)
    assert people(graph)["Fay"] == 7
    assert rejects.read_bytes() == BAD_LINE
    assert os.listdir(rejects.parent) == [rejects.name]


@pytest.mark.parametrize("way", WAYS)
def test_a_load_that_rejects_nothing_leaves_no_reject_file(graph: Graph, rejects: Path, way: Way) -> None:
    rejects.write_bytes(b"".join(lines(person("Fay", 7))))
    graph.load(way(rejects), mode="append", on_error="skip", reject_file=rejects)
    assert people(graph)["Fay"] == 7
    assert not rejects.exists()


def test_a_clean_load_of_another_input_removes_what_an_earlier_one_rejected(graph: Graph, rejects: Path) -> None:
    graph.load(lines(person("Gus")), mode="append", on_error="skip", reject_file=rejects)
    assert not rejects.exists()


def test_a_dry_run_leaves_its_input_as_it_was(graph: Graph, rejects: Path) -> None:
    graph.load(rejects, mode="append", on_error="skip", reject_file=rejects, dry_run=True)
    assert rejects.read_bytes() == MIXED
    rejects.write_bytes(b"".join(lines(person("Fay", 7))))
    graph.load(rejects, mode="append", on_error="skip", reject_file=rejects, dry_run=True)
    assert rejects.exists()


def test_a_repeated_load_leaves_the_rejects_of_the_first_one(graph: Graph, rejects: Path) -> None:
    records, options = MIXED.splitlines(keepends=True), {"on_error": "skip", "reject_file": rejects}
    for _ in range(2):
        graph.load(records, mode="append", idempotency_key="k", **options)  # type: ignore[arg-type]
        assert rejects.read_bytes() == BAD_LINE


def test_a_load_that_fails_tells_what_it_could_not_read_in_a_file_of_its_own(graph: Graph, rejects: Path) -> None:
    broken = rejects.parent / "broken.jsonl"
    for _ in range(2):
        with pytest.raises(ValidationFailed):
            graph.load(rejects, mode="append", reject_file=broken)
        assert broken.read_bytes() == BAD_LINE
        broken.write_bytes(b"of an earlier load\n")


@pytest.mark.parametrize(("name", "options"), [("p.csv", {"format": "csv", "type": "Person"}), ("p.jsonl.gz", {})])
def test_an_input_that_rejects_would_not_fit_into_is_no_place_for_them(
    graph: Graph, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    import gzip

    file = tmp_path / name
    content = b"name,age\nFay,7\nEve,old\n" if name.endswith("csv") else gzip.compress(MIXED)
    file.write_bytes(content)
    with pytest.raises(BadRequest, match="part of the input"):
        graph.load(file, mode="append", on_error="skip", reject_file=file, **options)
    assert file.read_bytes() == content
    assert "Fay" not in people(graph)


@pytest.mark.parametrize("place", ["", "missing/rejects.jsonl"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_loaded(
    graph: Graph, rejects: Path, place: str
) -> None:
    before = graph.snapshot()
    with pytest.raises(BadRequest, match="cannot write the reject file"):
        graph.load(rejects, mode="append", on_error="skip", reject_file=rejects.parent / place)
    assert graph.snapshot() == before


def test_a_pipe_is_written_to_and_stays(graph: Graph, rejects: Path, tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    graph.load(rejects, mode="append", on_error="skip", reject_file=pipe)
    reader.join()
    assert heard == [BAD_LINE]
    assert pipe.is_fifo()


def test_the_reject_file_keeps_its_permissions(graph: Graph, rejects: Path) -> None:
    rejects.chmod(0o600)
    graph.load(rejects, mode="append", on_error="skip", reject_file=rejects)
    assert rejects.stat().st_mode & 0o777 == 0o600
