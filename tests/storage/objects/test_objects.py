"""Control objects: the same promises on local disk and on a real S3 server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph.model.errors import ConditionalPutsUnsupported
from omnigraph.storage.objects.control_objects import ObjectStore, StoredObject, open_store, probe_conditional_puts
from omnigraph.storage.objects.local import LocalObjects
from omnigraph.storage.root import parse_root


@pytest.fixture
def store(new_root: Callable[[str], str]) -> ObjectStore:
    return open_store(parse_root(new_root("objects")))


def test_a_missing_object_reads_as_none_and_deletes_without_error(store: ObjectStore) -> None:
    assert store.read("a/b.json") is None
    assert not store.exists("a/b.json")
    store.delete("a/b.json")


def test_a_write_replaces_the_whole_object(store: ObjectStore) -> None:
    store.write("a/b.json", b"first, and longer")
    etag = store.write("a/b.json", b"second")
    assert store.read("a/b.json") == StoredObject(b"second", etag)


def test_write_if_absent_keeps_the_first_object(store: ObjectStore) -> None:
    assert store.write_if_absent("claim", b"mine") is not None
    assert store.write_if_absent("claim", b"yours") is None
    found = store.read("claim")
    assert found is not None
    assert found.data == b"mine"


def test_of_racing_write_if_absent_exactly_one_wins(store: ObjectStore) -> None:
    for round_ in range(5):
        path, barrier = f"race-{round_}", threading.Barrier(8)

        def attempt(number: int, path: str = path, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait()
            return store.write_if_absent(path, str(number).encode()) is not None

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(8))) == 1


def test_write_if_match_needs_the_current_etag(store: ObjectStore) -> None:
    first = store.write("x", b"1")
    second = store.write_if_match("x", b"2", first)
    assert second is not None
    assert store.write_if_match("x", b"3", first) is None
    assert store.write_if_match("missing", b"3", first) is None
    found = store.read("x")
    assert found is not None
    assert found.data == b"2"


def test_of_racing_write_if_match_exactly_one_wins(store: ObjectStore) -> None:
    etag = store.write("x", b"start")
    with ThreadPoolExecutor(8) as pool:
        wins = list(pool.map(lambda n: store.write_if_match("x", f"writer {n}".encode(), etag), range(8)))
    assert sum(win is not None for win in wins) == 1


def test_a_listing_has_the_direct_objects_of_a_folder_sorted(store: ObjectStore) -> None:
    for name in ("f/b.json", "f/a.json", "f/sub/c.json", "g/d.json"):
        store.write(name, b"")
    assert store.list_names("f") == ["a.json", "b.json"]
    assert store.list_names("nothing") == []


def test_a_place_whose_objects_are_all_gone_lists_nothing(store: ObjectStore) -> None:
    """Some stores keep a folder without a name there."""
    store.write("only", b"1")
    store.delete("only")
    assert store.list_names("") == []


def test_delete_tree_removes_everything_below_and_nothing_beside(store: ObjectStore) -> None:
    for name in ("t/a", "t/b/c", "tt/d"):
        store.write(name, b"")
    store.delete_tree("t")
    assert not store.has_any("t")
    assert store.has_any("tt")


def test_the_probe_of_conditional_puts_leaves_nothing_behind(store: ObjectStore) -> None:
    store.write("keep", b"")
    store.require_conditional_puts()
    assert store.list_names("") == ["keep"]


class _Careless(LocalObjects):
    """A store that ignores conditions, as some S3 look-alikes do."""

    def write_if_absent(self, path: str, data: bytes) -> str | None:
        return self.write(path, data)

    def write_if_match(self, path: str, data: bytes, etag: str) -> str | None:
        return self.write(path, data)


def test_a_store_that_ignores_conditions_is_refused_for_writing(tmp_path: Path) -> None:
    with pytest.raises(ConditionalPutsUnsupported) as refused:
        probe_conditional_puts(_Careless(str(tmp_path)), "s3://careless/graph")
    assert refused.value.code == "conditional_puts_unsupported"
    assert list(tmp_path.iterdir()) == []


class _Repeating(LocalObjects):
    """Stores the first put, loses the answer, tries again by itself and is refused by its own object."""

    def write_if_absent(self, path: str, data: bytes) -> str | None:
        super().write_if_absent(path, data)
        return None


def test_a_put_that_was_repeated_is_no_sign_of_a_careless_store(tmp_path: Path) -> None:
    probe_conditional_puts(_Repeating(str(tmp_path)), "s3://honest/graph")
    assert list(tmp_path.iterdir()) == []


class _Refusing(LocalObjects):
    """Says that everything is there already."""

    def write_if_absent(self, path: str, data: bytes) -> str | None:
        return None


def test_a_store_that_never_creates_anything_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConditionalPutsUnsupported):
        probe_conditional_puts(_Refusing(str(tmp_path)), "s3://refusing/graph")


def test_a_reader_never_sees_a_part_of_a_write(tmp_path: Path) -> None:
    store = LocalObjects(str(tmp_path))
    contents = [bytes([65 + n]) * 100_000 for n in range(4)]
    store.write("x", contents[0])
    stop = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not stop.is_set():
            found = store.read("x")
            assert found is not None
            seen.add(found.data)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        for n in range(60):
            store.write("x", contents[n % 4])
        stop.set()
        reading.result()
    assert seen <= set(contents)


def test_a_leftover_temp_file_is_never_listed(tmp_path: Path) -> None:
    """A writer that died between its temp file and the rename leaves one; recovery must not take it for a sidecar."""
    store = LocalObjects(str(tmp_path))
    store.write("f/a.json", b"")
    (tmp_path / "f" / ".b.json.01J.tmp").write_bytes(b"half")
    assert store.list_names("f") == ["a.json"]
    assert not any(name.endswith(".json") for name in os.listdir(tmp_path / "f") if name.startswith("."))
