"""Staging: what each kind of effect writes, and what the table holds once it is committed."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from omnigraph.model.errors import KeyConflict, OmniGraphError
from omnigraph.storage import All, Compare, GraphStorage, IsNull, OneOf
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import (
    IndexSpec,
    StagedEffect,
    Table,
    existing_ids,
    stage_append,
    stage_delete,
    stage_indexes,
    stage_insert,
    stage_overwrite,
    stage_upsert,
    staging,
)
from support.processes.writers import PERSON

SCHEMA = "node Person { name: String @key  age: I32?  bio: String?  vec: Vector(2)? }\n"
BASE = TablePin(PERSON, PERSON.location, 1, None, 0)


@pytest.fixture
def empty(storage: GraphStorage) -> Table:
    return storage.tables.open(BASE)


@pytest.fixture
def trio(storage: GraphStorage, empty: Table) -> Table:
    return commit(storage, stage_append(empty, people(empty, ann=1, bob=2, cid=3)))


def people(table: Table, /, **ages: int | None) -> pa.Table:
    records = [
        {"id": name, "age": age, "bio": f"about {name}", "name": name, "vec": [float(age or 0), 1.0]}
        for name, age in ages.items()
    ]
    return pa.Table.from_pylist(records, schema=table.schema)


def commit(storage: GraphStorage, effect: StagedEffect | None) -> Table:
    assert effect is not None
    row = storage.table_commits.commit(effect)
    table = storage.tables.open(replace(effect.pin, version=row.table_version))
    assert table.handle.has_stable_row_ids
    assert table.handle.data_storage_version == "2.2"
    return table


def ages(table: Table) -> dict[str, int | None]:
    read = table.read(["id", "age"])
    return dict(zip(read["id"].to_pylist(), read["age"].to_pylist(), strict=True))


def column(table: Table, name: str) -> dict[str, int]:
    read = table.read(["id", name])
    return dict(zip(read["id"].to_pylist(), read[name].to_pylist(), strict=True))


def test_an_append_adds_rows_and_keeps_the_ids_of_the_others(storage: GraphStorage, trio: Table) -> None:
    grown = commit(storage, stage_append(trio, people(trio, dan=4)))
    assert ages(grown) == {"ann": 1, "bob": 2, "cid": 3, "dan": 4}
    assert column(trio, "_rowid").items() <= column(grown, "_rowid").items()


def test_an_append_takes_a_stream_of_batches(storage: GraphStorage, trio: Table) -> None:
    batches = (batch for number in range(50) for batch in people(trio, **{f"n{number}": number}).to_batches())
    grown = commit(storage, stage_append(trio, pa.RecordBatchReader.from_batches(trio.schema, batches)))
    assert grown.count() == 53
    assert grown.fragment_count() == 2


def test_a_strict_insert_refuses_a_taken_id_with_its_facts_and_writes_nothing(
    storage: GraphStorage, trio: Table
) -> None:
    before = _objects(storage, trio)
    with pytest.raises(KeyConflict) as refused:
        stage_insert(trio, people(trio, dan=4, cid=9, bob=9))
    assert refused.value.details() == {"table_key": "node:Person", "id": "bob"}
    assert _objects(storage, trio) == before


def _objects(storage: GraphStorage, table: Table) -> list[str]:
    return storage.objects.list_names(f"{table.pin.path}/data")


def test_a_strict_insert_of_new_ids_is_an_append(storage: GraphStorage, trio: Table) -> None:
    effect = stage_insert(trio, people(trio, dan=4))
    assert effect.kind == "insert"
    assert ages(commit(storage, effect))["dan"] == 4


def test_an_upsert_replaces_and_adds_and_leaves_the_other_rows_unwritten(storage: GraphStorage, trio: Table) -> None:
    changed = commit(storage, stage_upsert(trio, people(trio, bob=20, dan=4)))
    assert ages(changed) == {"ann": 1, "bob": 20, "cid": 3, "dan": 4}
    assert column(changed, "_row_last_updated_at_version") == {"ann": 2, "bob": 3, "cid": 2, "dan": 3}
    assert column(changed, "_row_created_at_version") == {"ann": 2, "bob": 2, "cid": 2, "dan": 3}
    assert column(trio, "_rowid").items() <= column(changed, "_rowid").items(), "an updated row keeps its id"


def test_an_upsert_does_not_need_an_index_that_is_up_to_date(storage: GraphStorage, trio: Table) -> None:
    indexed = commit(storage, stage_indexes(trio, [IndexSpec("id", "BTREE", "id_idx")]))
    once = commit(storage, stage_upsert(indexed, people(trio, ann=10, eve=5)))
    twice = commit(storage, stage_upsert(once, people(trio, ann=11, eve=6)))
    assert ages(twice) == {"ann": 11, "bob": 2, "cid": 3, "eve": 6}


def test_an_upsert_of_one_id_twice_is_refused_when_the_id_is_known(trio: Table) -> None:
    twice = pa.concat_tables([people(trio, ann=5), people(trio, ann=6)])
    with pytest.raises(OmniGraphError):
        stage_upsert(trio, twice)


@pytest.mark.parametrize("rest", [{}, {"zed": 26}], ids=["no rows", "one row"])
def test_an_overwrite_is_the_whole_new_content(storage: GraphStorage, trio: Table, rest: dict[str, int]) -> None:
    replaced = commit(storage, stage_overwrite(trio, people(trio, **rest)))
    assert ages(replaced) == rest
    assert replaced.schema.equals(trio.schema)
    refilled = commit(storage, stage_append(replaced, people(trio, new=1)))
    assert ages(refilled) == {**rest, "new": 1}
    assert ages(trio) == {"ann": 1, "bob": 2, "cid": 3}, "the version before can still be read"


@pytest.mark.parametrize(
    ("predicate", "left"),
    [
        (Compare("age", ">", 1), {"ann"}),
        (OneOf("id", ("ann", "nobody")), {"bob", "cid"}),
        (All(()), set()),
        (Compare("id", "!=", "bob"), {"bob"}),
    ],
    ids=["some", "by id", "all", "all but one"],
)
def test_a_delete_removes_exactly_the_rows_that_match(
    storage: GraphStorage, trio: Table, predicate: Compare | OneOf | All, left: set[str]
) -> None:
    effect, count = stage_delete(trio, predicate)
    assert count == 3 - len(left)
    shrunk = commit(storage, effect)
    assert set(ages(shrunk)) == left
    assert shrunk.count() == len(left)
    assert all(version == 2 for version in column(shrunk, "_row_last_updated_at_version").values())


def test_a_delete_reaches_over_fragments_and_empties_some(storage: GraphStorage, trio: Table) -> None:
    wide = commit(storage, stage_append(trio, people(trio, dan=4)))
    effect, count = stage_delete(wide, Compare("age", ">", 2))
    shrunk = commit(storage, effect)
    assert (count, ages(shrunk), shrunk.fragment_count()) == (2, {"ann": 1, "bob": 2}, 1)


@pytest.mark.parametrize("predicate", [IsNull("age"), OneOf("id", ()), Compare("id", "=", "nobody")])
def test_a_delete_that_matches_nothing_stages_nothing(
    storage: GraphStorage, trio: Table, predicate: IsNull | OneOf | Compare
) -> None:
    assert stage_delete(trio, predicate) == (None, 0)
    assert storage.tables.head_version(trio.pin) == trio.version


ALL_INDEXES = [
    IndexSpec("id", "BTREE", "id_idx"),
    IndexSpec("bio", "INVERTED", "bio_idx"),
    IndexSpec("vec", "IVF_FLAT", "vec_idx", (("num_partitions", 1), ("metric", "L2"))),
]


def test_indexes_of_every_kind_become_one_version_and_cover_every_row(storage: GraphStorage, trio: Table) -> None:
    wide = commit(storage, stage_append(trio, people(trio, dan=4)))
    indexed = commit(storage, stage_indexes(wide, ALL_INDEXES))
    assert indexed.version == wide.version + 1
    assert [(index.name, index.columns, index.kind, index.rows_indexed) for index in indexed.indexes()] == [
        ("bio_idx", ("bio",), "Inverted", 4),
        ("id_idx", ("id",), "BTree", 4),
        ("vec_idx", ("vec",), "IVF_FLAT", 4),
    ]
    scan = indexed.handle.scanner
    assert "ScalarIndexQuery" in scan(filter="`id` = 'dan'").explain_plan()
    assert scan(columns=["id", "_score"], full_text_query="dan").to_table()["id"].to_pylist() == ["dan"]
    near = {"column": "vec", "q": [4.0, 1.0], "k": 1}
    assert scan(columns=["id", "_distance"], nearest=near).to_table()["id"].to_pylist() == ["dan"]


def test_building_an_index_again_replaces_the_one_of_that_name(storage: GraphStorage, trio: Table) -> None:
    indexed = commit(storage, stage_indexes(trio, ALL_INDEXES))
    grown = commit(storage, stage_append(indexed, people(trio, dan=4)))
    assert {index.rows_indexed for index in grown.indexes()} == {3}
    again = commit(storage, stage_indexes(grown, ALL_INDEXES))
    assert {index.name: index.rows_indexed for index in again.indexes()} == dict.fromkeys(
        ("bio_idx", "id_idx", "vec_idx"), 4
    )
    assert all(len(index.segments) == 1 for index in again.handle.describe_indices())


def test_rows_that_an_index_does_not_cover_or_that_moved_are_found_all_the_same(
    storage: GraphStorage, trio: Table
) -> None:
    indexed = commit(storage, stage_indexes(trio, [IndexSpec("age", "BTREE", "age_idx")]))
    changed = commit(storage, stage_upsert(indexed, people(trio, ann=30, dan=4)))
    shrunk = commit(storage, stage_delete(changed, Compare("id", "=", "bob"))[0])
    for value, names in {1: [], 2: [], 3: ["cid"], 4: ["dan"], 30: ["ann"]}.items():
        for use_index in (True, False):
            assert shrunk.read(["id"], Compare("age", "=", value), use_index=use_index)["id"].to_pylist() == names


def test_existing_ids_are_looked_up_in_chunks(trio: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PROBE_CHUNK_KEYS", 2)
    asked = ["cid", "no", "ann", "nor", "this", "ann"]
    assert existing_ids(trio, asked) == {"ann", "cid"} == existing_ids(trio, asked, use_index=False)
    assert existing_ids(trio, []) == set()


def test_every_effect_has_its_own_transaction_id(trio: Table) -> None:
    effects = [
        stage_append(trio, people(trio, dan=1)),
        stage_upsert(trio, people(trio, ann=1)),
        stage_overwrite(trio, trio.schema.empty_table()),
        stage_delete(trio, All(()))[0],
        stage_indexes(trio, [IndexSpec("id", "BTREE", "id_idx")]),
    ]
    ids = {effect.transaction_id for effect in effects if effect is not None}
    assert len(ids) == len(effects)
    assert all(len(name) == 36 for name in ids)


@pytest.mark.parametrize("broken", ["missing column", "null id", "wrong type"])
def test_rows_that_do_not_fit_the_table_are_refused_as_an_error_of_ours(trio: Table, broken: str) -> None:
    rows = people(trio, dan=4)
    match broken:
        case "missing column":
            rows = rows.drop_columns(["name"])
        case "null id":
            loose = pa.schema([field.with_nullable(True) for field in rows.schema])
            rows = rows.cast(loose).set_column(0, loose.field("id"), pa.nulls(1, pa.string()))
        case _:
            rows = rows.set_column(rows.schema.get_field_index("age"), "age", pa.array(["four"]))
    with pytest.raises(OmniGraphError):
        stage_append(trio, rows)
