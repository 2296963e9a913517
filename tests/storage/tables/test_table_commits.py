"""Table commits: one attempt, checked before and proven after, durable when it is asked for."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import Conflict, OmniGraphError, ReadSetChanged
from omnigraph.model.identifiers import TableKey
from omnigraph.storage import Compare, GraphStorage, open_storage
from omnigraph.storage.failpoints import Point, armed
from omnigraph.storage.files import durability
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import (
    IndexSpec,
    StagedEffect,
    Table,
    stage_append,
    stage_delete,
    stage_indexes,
    stage_overwrite,
    stage_upsert,
)
from omnigraph.storage.tables import commits as table_commits
from omnigraph.storage.tables.commits import StaleEffect
from support.processes.writers import PERSON

BASE = TablePin(PERSON, PERSON.location, 1, None, 0)


@pytest.fixture
def storage(local: GraphStorage) -> GraphStorage:
    return local


def people(**ages: int | None) -> pa.Table:
    columns = {"id": list(ages), "age": list(ages.values()), "name": list(ages)}
    fields = [("id", pa.string(), False), ("age", pa.int32(), True), ("name", pa.string(), False)]
    return pa.table(columns, schema=pa.schema([pa.field(*field) for field in fields]))


def table(storage: GraphStorage, version: int = 1) -> Table:
    return storage.tables.open(replace(BASE, version=version))


def commit(storage: GraphStorage, effect: StagedEffect | None) -> Table:
    """Commits and opens what came out."""
    assert effect is not None
    row = storage.table_commits.commit(effect)
    return storage.tables.open(replace(effect.pin, version=row.table_version))


def test_a_commit_is_the_next_version_and_gives_the_row_that_publishes_it(storage: GraphStorage) -> None:
    effect = stage_append(table(storage), people(ann=1, bob=2))
    row = storage.table_commits.commit(effect)
    assert (row.table_key, row.table_version, row.table_branch, row.row_count) == ("node:Person", 2, None, 2)
    assert row.table_version == effect.commits_as
    assert Path("/", row.manifest_path).is_file(), "the path of the version file, as the store names it"
    assert table(storage, 2).handle.read_transaction(2).uuid == effect.transaction_id


def test_nothing_is_visible_before_the_commit(storage: GraphStorage) -> None:
    stage_append(table(storage), people(ann=1))
    assert storage.tables.head_version(BASE) == 1
    assert table(storage).count() == 0


def test_a_commit_leaves_the_table_it_was_staged_on_as_it_was(storage: GraphStorage) -> None:
    before = table(storage)
    commit(storage, stage_append(before, people(ann=1)))
    assert (before.version, before.count()) == (1, 0)
    assert table(storage, 1) is not before
    assert table(storage, 1).count() == 0


@pytest.mark.parametrize("kind", ["append", "upsert", "overwrite", "delete", "index"])
def test_an_effect_on_a_table_that_moved_is_refused_before_it_is_tried(storage: GraphStorage, kind: str) -> None:
    base = commit(storage, stage_append(table(storage), people(ann=1)))
    late = _effect(base, kind)
    commit(storage, stage_append(base, people(cid=3)))
    with pytest.raises(ReadSetChanged) as refused:
        storage.table_commits.commit(late)
    assert (refused.value.expected, refused.value.actual) == ("2", "3")
    assert storage.tables.head_version(base.pin) == 3


def _effect(base: Table, kind: str) -> StagedEffect:
    match kind:
        case "append":
            return stage_append(base, people(bob=2))
        case "upsert":
            return stage_upsert(base, people(ann=9))
        case "overwrite":
            return stage_overwrite(base, people(bob=2))
        case "delete":
            effect, _ = stage_delete(base, Compare("id", "=", "ann"))
            assert effect is not None
            return effect
        case _:
            return stage_indexes(base, [IndexSpec("id", "BTREE", "id_idx")])


class _BlindCommits(table_commits.TableCommits):
    """The window between the check and the commit, in which a foreign writer may move the table."""

    def _require_head_at_pin(self, effect: StagedEffect) -> None:
        """Saw nothing."""


def _blind(storage: GraphStorage) -> _BlindCommits:
    return _BlindCommits(storage.root, storage.handles, storage.tables, "os")


@pytest.mark.parametrize("kind", ["upsert", "overwrite", "delete"])
def test_an_effect_that_lance_refuses_to_rebase_is_stale_and_changes_nothing(storage: GraphStorage, kind: str) -> None:
    base = commit(storage, stage_append(table(storage), people(ann=1)))
    late = _effect(base, kind)
    moved = commit(storage, stage_upsert(base, people(ann=5)))
    with pytest.raises(StaleEffect) as refused:
        _blind(storage).commit(late)
    assert isinstance(refused.value, Conflict)
    assert storage.tables.head_version(base.pin) == 3
    assert moved.read(["age"])["age"].to_pylist() == [5]


def test_an_effect_that_lance_rebased_in_silence_is_never_taken_for_ours(storage: GraphStorage) -> None:
    base = table(storage)
    late = stage_append(base, people(ann=1))
    commit(storage, stage_append(base, people(bob=2)))
    with pytest.raises(ReadSetChanged) as refused:
        _blind(storage).commit(late)
    assert (refused.value.expected, refused.value.actual) == ("2", "3")


def test_a_process_that_dies_after_the_commit_leaves_a_version_that_the_next_one_sees(storage: GraphStorage) -> None:
    base = table(storage)
    with armed(Point.TABLE_COMMITTED), pytest.raises(Exception, match="table"):
        storage.table_commits.commit(stage_append(base, people(ann=1)))
    assert storage.tables.head_version(BASE) == 2
    with pytest.raises(ReadSetChanged):
        storage.table_commits.commit(stage_append(base, people(bob=1)))


_COMMIT_ELSEWHERE = """
import pickle, sys
from omnigraph.storage import open_storage
effect = pickle.loads(sys.stdin.buffer.read())
print(open_storage(sys.argv[1]).table_commits.commit(effect).row_count)
"""


@pytest.mark.parametrize("kind", ["append", "upsert", "overwrite", "delete", "index"])
def test_an_effect_can_be_committed_by_another_process(storage: GraphStorage, kind: str) -> None:
    base = commit(storage, stage_append(table(storage), people(ann=1)))
    effect = _effect(base, kind)
    again = pickle.loads(pickle.dumps(effect))
    assert (again.kind, again.pin, again.transaction_id) == (effect.kind, effect.pin, effect.transaction_id)
    done = subprocess.run(
        [sys.executable, "-c", _COMMIT_ELSEWHERE, storage.root.uri],
        input=pickle.dumps(effect),
        capture_output=True,
        check=True,
    )
    counts = {"append": 2, "upsert": 1, "overwrite": 1, "delete": 0, "index": 1}
    assert int(done.stdout) == counts[kind] == table(storage, 3).count()
    assert table(storage, 3).handle.read_transaction(3).uuid == effect.transaction_id


def test_a_commit_whose_base_version_is_gone_fails_with_an_error_of_ours(storage: GraphStorage) -> None:
    effect = stage_append(table(storage), people(ann=1))
    for path in Path(storage.root.uri, PERSON.location, "_versions").iterdir():
        path.unlink()
    fresh = open_storage(storage.root.uri, durability="os")
    with pytest.raises(OmniGraphError):
        fresh.table_commits.commit(effect)


# --- durability -------------------------------------------------------------------------------------------

BLOBS = "node Doc { slug: String @key  file: Blob? }\n"


def test_with_full_durability_every_new_file_of_the_version_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data, deletion vectors, blobs beside the data, index files and the version itself."""
    Graph.init(str(tmp_path / "g"), BLOBS, durability="os")
    storage = open_storage(str(tmp_path / "g"), durability="full")
    key = TableKey("node", "Doc")
    base = storage.tables.open(TablePin(key, key.location, 1, None, 0))
    folder = Path(storage.root.uri, key.location)
    synced: list[str] = []
    monkeypatch.setattr(durability, "_sync", synced.append)

    def committed(effect: StagedEffect | None) -> Table:
        assert effect is not None
        synced.clear()
        done = commit(storage, effect)
        folders = {str(parent) for path in synced for parent in Path(path).parents if parent.is_relative_to(folder)}
        assert folders - {str(folder)} <= set(synced), "a folder may be as new as its files"
        synced[:] = [path for path in synced if Path(path).is_file()]
        return done

    rows = [{"slug": slug, "id": slug, "file": {"data": slug.encode() * 300_000, "uri": None}} for slug in "ab"]
    schema = base.schema
    blob = pa.struct([pa.field("data", pa.large_binary()), pa.field("uri", pa.string())])
    columns = {
        "id": pa.array([row["id"] for row in rows]),
        "file": pa.array([row["file"] for row in rows], blob),
        "slug": pa.array([row["slug"] for row in rows]),
    }
    marked = pa.schema(
        [
            schema.field("id"),
            pa.field("file", blob, metadata={"ARROW:extension:name": "lance.blob.v2"}),
            schema.field("slug"),
        ]
    )
    grown = committed(stage_append(base, pa.table(columns, schema=marked)))
    assert _kinds(synced, folder) == {"data", "blob", "_versions"}
    assert {path for path in _files(folder) if path.endswith((".lance", ".blob"))} <= set(synced)
    shrunk = committed(stage_delete(grown, Compare("id", "=", "a"))[0])
    assert _kinds(synced, folder) == {"_deletions", "_versions"}
    committed(stage_indexes(shrunk, [IndexSpec("id", "BTREE", "id_idx")]))
    assert _kinds(synced, folder) == {"_indices", "_versions"}
    assert {path for path in _files(folder) if "/_indices/" in path} == {p for p in synced if "/_indices/" in p}


def _files(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file()]


def _kinds(paths: list[str], folder: Path) -> set[str]:
    return {"blob" if path.endswith(".blob") else Path(path).relative_to(folder).parts[0] for path in paths}
