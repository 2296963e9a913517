"""Row versions: read and written as Lance does it, and put together without telling anybody something else."""

from __future__ import annotations

import json
from dataclasses import replace

import lance
import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.storage import GraphStorage, OneOf
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import StagedEffect, Table, stage_append, stage_delete, stage_upsert
from omnigraph.storage.tables.row_versions import (
    read_row_versions,
    run_count,
    told_apart_from,
    written_row_versions,
)
from support.processes.writers import PERSON

versions = st.lists(st.integers(0, 2**40) | st.integers(0, 9), max_size=60)
pairs = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), max_size=60)


@given(versions)
def test_what_is_written_is_read_back_in_as_few_runs_as_there_can_be(listed: list[int]) -> None:
    rows = np.array(listed, np.int64)
    message = written_row_versions(rows)
    found = read_row_versions(message)
    assert found is not None
    assert found.tolist() == listed
    assert run_count(rows) == sum(n == 0 or listed[n] != listed[n - 1] for n in range(len(listed)))


@given(pairs, st.integers(1, 14), st.integers(0, 14))
def test_no_question_about_a_version_that_is_there_is_answered_otherwise(
    listed: list[tuple[int, int]], oldest: int, later: int
) -> None:
    """Whether a row was made, or written, after a version; and whether it was written again since it was made."""
    made = np.array([one for one, _ in listed], np.int64)
    written = made + np.array([more for _, more in listed], np.int64)
    now_made, now_written = told_apart_from(oldest, made, written)
    asked = oldest + later
    assert ((now_made > asked) == (made > asked)).all()
    assert ((now_written > asked) == (written > asked)).all()
    assert ((now_made != now_written) == (made != written)).all()
    assert (now_made <= now_written).all()
    assert len(set(now_written.tolist())) <= len(set(written.tolist()))


def test_a_form_that_is_not_known_is_left_to_lance() -> None:
    known = written_row_versions(np.array([3, 3, 4]))
    other_span = bytes([10, 8, 10, 4, 50, 2, 16, 1, 16, 4])
    for message in (known[:-1], known + bytes([26, 0]), b"\xff", other_span):
        assert read_row_versions(message) is None


def test_lance_says_the_same_of_every_row_after_its_lists_were_read_and_written(local: GraphStorage) -> None:
    storage, pin = local, TablePin(PERSON, PERSON.location, 1, None, 0)
    schema = storage.tables.open(pin).schema

    def rows(names: list[str], age: int) -> pa.Table:
        return pa.Table.from_pylist([{"id": name, "name": name, "age": age} for name in names], schema=schema)

    def committed(effect: StagedEffect | None) -> Table:
        assert effect is not None
        return storage.tables.open(replace(pin, version=storage.table_commits.commit(effect).table_version))

    table = storage.tables.open(pin)
    for number in range(12):
        table = committed(stage_append(table, rows([f"k{number}", f"m{number}"], 1)))
    table = committed(stage_upsert(table, rows(["k3", "m7", "new"], 2)))
    committed(stage_delete(table, OneOf("id", ("k5",)))[0])
    dataset = lance.dataset(f"{storage.root.uri}/{PERSON.location}")
    dataset.optimize.compact_files()
    asked = ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    before = dataset.scanner(columns=asked).to_table().to_pylist()
    fragments = []
    for fragment in dataset.get_fragments():
        known = fragment.metadata.to_json()
        for name in ("created_at_version_meta", "last_updated_at_version_meta"):
            found = read_row_versions(bytes(known[name]["inline"]))
            assert found is not None
            known[name] = {"inline": list(written_row_versions(found))}
        fragments.append(lance.FragmentMetadata.from_json(json.dumps(known)))
    operation = lance.LanceOperation.Merge(fragments, dataset.lance_schema)
    after = lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)
    assert after.scanner(columns=asked).to_table().to_pylist() == before
    assert {row["_row_last_updated_at_version"] for row in before} > {13, 14}
