"""Canaries: filters, columns, indexes and search of Lance."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance import LanceDataset, Transaction
from lance import LanceOperation as Op
from lance.fragment import write_fragments
from lance.query import MatchQuery
from lance.schema import LanceSchema

from omnigraph.storage.tables.columns import BLOB_MARK, BLOB_TYPE

VECTOR = pa.list_(pa.float32(), 2)


def create(uri: Path, table: pa.Table) -> LanceDataset:
    transaction = write_fragments(table, str(uri), mode="create", return_transaction=True, data_storage_version="2.2")
    return LanceDataset.commit(str(uri), transaction, max_retries=0, enable_stable_row_ids=True)


def documents(tmp_path: Path) -> LanceDataset:
    return create(
        tmp_path / "docs",
        pa.table(
            {
                "id": ["a", "b", "c"],
                "body": ["Alpha wolf", "beta blocker", "alphabet soup"],
                "vec": pa.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], VECTOR),
            }
        ),
    )


def found(dataset: LanceDataset, query: object, **options: object) -> list[str]:
    scanner = dataset.scanner(columns=["id", "_score"], full_text_query=query, **options)
    return scanner.to_table()["id"].to_pylist()


def test_an_n_gram_index_finds_what_a_scan_finds_and_is_left_alone_by_short_texts(tmp_path: Path) -> None:
    """Why `contains` is given to Lance as it is: the index only proposes, and every proposal is looked at again."""
    words = [
        "Straße",
        "STRASSE",
        "straße",
        "漢字かな",
        "a漢字かb",
        "cafe\u0301",
        "café",
        None,
        "",
        "ab",
        "it's 100%_\\",
    ]
    dataset = create(tmp_path / "texts", pa.table({"id": [f"t{n}" for n in range(len(words))], "body": words}))
    dataset.create_scalar_index("body", "NGRAM")
    dataset.merge_insert("id").when_matched_update_all().execute(pa.table({"id": ["t0"], "body": ["xstraßex"]}))

    def scanner(part: str, **options: bool) -> lance.LanceScanner:
        quoted = part.replace("'", "''")
        return dataset.scanner(columns=["id"], filter=f"contains(body, '{quoted}')", **options)

    for part in (
        "straße",
        "Straße",
        "STR",
        "漢字か",
        "字",
        "a",
        "ab",
        "",
        "afé",
        "e\u0301",
        "'s ",
        "0%_",
        "\\",
        "none",
    ):
        by_index = sorted(scanner(part).to_table()["id"].to_pylist())
        assert by_index == sorted(scanner(part, use_scalar_index=False).to_table()["id"].to_pylist()), part
        expected = [f"t{n}" for n, word in enumerate(["xstraßex", *words[1:]]) if word is not None and part in word]
        assert by_index == sorted(expected), part
    assert "ScalarIndexQuery" in scanner("straße").explain_plan()
    assert "ScalarIndexQuery" not in scanner("ab").explain_plan()


# --- columns ----------------------------------------------------------------------------------------------


def test_edge_14_a_projection_numbered_from_arrow_serves_the_wrong_column(tmp_path: Path) -> None:
    """Dropped and renamed columns take their Lance schema from a scratch clone on which Lance itself did the change."""
    table = pa.table({"a": [1], "b": [10], "c": [100]})
    wrong = create(tmp_path / "wrong", table)
    schema = LanceSchema.from_pyarrow(pa.schema([table.schema.field("a"), table.schema.field("c")]))
    wrong = LanceDataset.commit(wrong, Op.Project(schema), read_version=1, max_retries=0)
    assert wrong.to_table().to_pydict() == {"a": [1], "c": [10]}
    right = create(tmp_path / "right", table)
    scratch = right.shallow_clone(str(tmp_path / "scratch"), 1)
    scratch.drop_columns(["b"])
    right = LanceDataset.commit(right, Op.Project(scratch.lance_schema), read_version=1, max_retries=0)
    assert right.to_table().to_pydict() == {"a": [1], "c": [100]}


def test_a_blob_column_of_two_children_keeps_empty_and_null_apart_and_large_values_beside_the_file(
    tmp_path: Path,
) -> None:
    schema = pa.schema([pa.field("id", pa.string()), pa.field("b", BLOB_TYPE, metadata=BLOB_MARK)])
    values = [b"bytes", b"", None, b"p" * 200_000, b"d" * 6_000_000]
    blobs = pa.array([None if value is None else {"data": value, "uri": None} for value in values], BLOB_TYPE)
    base = create(tmp_path / "blobs", pa.table({"id": list("vwxyz"), "b": blobs}, schema=schema))
    ids = base.to_table(columns=["_rowid"])["_rowid"].to_pylist()
    assert [value for _, value in base.read_blobs("b", ids=ids)] == values
    [fragment] = base.get_fragments()
    stem = fragment.metadata.files[0].path.removesuffix(".lance")
    assert len(list((tmp_path / "blobs" / "data" / stem).glob("*.blob"))) == 2, "a packed file and a file of its own"
    assert [child.name() for child in base.lance_schema.fields()[1].children()] == ["data", "uri"]


# --- filters ----------------------------------------------------------------------------------------------


def test_edge_18_double_quotes_make_text_of_a_name_and_placeholders_kill_the_scan(tmp_path: Path) -> None:
    dataset = documents(tmp_path)
    assert dataset.count_rows("\"id\" = 'id'") == 3, "text compared with text: every row"
    assert dataset.count_rows("`id` = 'a'") == 1
    with pytest.raises(RuntimeError, match="Task was aborted"):
        dataset.to_table(filter="id = $1")


def test_one_time_column_breaks_every_filter_that_is_an_arrow_expression(tmp_path: Path) -> None:
    table = pa.table({"id": ["a"], "t": pa.array([1], pa.time64("us"))})
    dataset = create(tmp_path / "t", table)
    assert dataset.count_rows("`id` = 'a'") == 1
    with pytest.raises((OSError, ValueError, RuntimeError, pa.ArrowException)):
        dataset.to_table(filter=pc.field("id") == "a")


def test_a_name_in_backticks_is_matched_exactly(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No field named"):
        documents(tmp_path).count_rows("`ID` = 'a'")


# --- indexes ----------------------------------------------------------------------------------------------


def test_edge_22_a_raw_full_text_segment_is_unreadable_until_it_is_merged(tmp_path: Path) -> None:
    base = documents(tmp_path)
    raw = base.create_index_uncommitted("body", "INVERTED", name="body_idx", fragment_ids=[0])
    broken = LanceDataset.commit(base, Transaction(1, Op.CreateIndex([raw], [])), max_retries=0)
    with pytest.raises(pa.ArrowInvalid, match=r"tokens\.lance"):
        found(broken, "wolf")
    again = broken.create_index_uncommitted("body", "INVERTED", name="other_idx", fragment_ids=[0])
    merged = broken.merge_existing_index_segments([again])
    healed = LanceDataset.commit(broken, Transaction(2, Op.CreateIndex([merged], [_as_index(broken)])), max_retries=0)
    assert found(healed, "wolf") == ["a"]


def _as_index(dataset: LanceDataset) -> lance.Index:
    [index] = dataset.describe_indices()
    [segment] = index.segments
    return lance.Index(
        uuid=segment.uuid,
        name=index.name,
        fields=list(index.fields),
        dataset_version=segment.dataset_version_at_last_update,
        fragment_ids=segment.fragment_ids,
        index_version=segment.index_version,
    )


def test_an_index_of_a_taken_name_needs_replace_and_does_not_remove_the_old_one_by_itself(tmp_path: Path) -> None:
    base = documents(tmp_path)
    first = base.create_index_uncommitted("id", "BTREE", name="id_idx", fragment_ids=[0])
    indexed = LanceDataset.commit(base, Op.CreateIndex([first], []), read_version=1, max_retries=0)
    with pytest.raises((OSError, ValueError, RuntimeError), match="id_idx"):
        indexed.create_index_uncommitted("id", "BTREE", name="id_idx", fragment_ids=[0])
    second = indexed.create_index_uncommitted("id", "BTREE", name="id_idx", fragment_ids=[0], replace=True)
    replaced = Op.CreateIndex([second], [_as_index(indexed)])
    rebuilt = LanceDataset.commit(indexed, replaced, read_version=2, max_retries=0)
    assert [len(index.segments) for index in rebuilt.describe_indices()] == [1]


# --- search -----------------------------------------------------------------------------------------------


def test_edge_16_text_search_without_an_index_minds_case_and_fuzzy_search_skips_fresh_rows(tmp_path: Path) -> None:
    dataset = documents(tmp_path)
    assert found(dataset, MatchQuery("alpha", "body")) == [], "Alpha is missed"
    dataset.create_scalar_index("body", "INVERTED", name="body_idx")
    assert found(dataset, MatchQuery("alpha", "body")) == ["a"]
    assert found(dataset, MatchQuery("blockar", "body", fuzziness=1)) == ["b"]
    assert found(dataset, MatchQuery("blockar", "body", fuzziness=None)) == [], "automatic fuzziness finds nothing"
    fresh = pa.table({"id": ["d"], "body": ["chain blocker"], "vec": pa.array([[9.0, 9.0]], VECTOR)})
    grown = lance.write_dataset(fresh, dataset, mode="append")
    assert sorted(found(grown, MatchQuery("blocker", "body"))) == ["b", "d"]
    assert found(grown, MatchQuery("blockar", "body", fuzziness=1)) == ["b"]


def test_edge_17_a_filter_runs_after_the_search_unless_told_otherwise(tmp_path: Path) -> None:
    dataset = documents(tmp_path)
    near = {"column": "vec", "q": [0.0, 0.0], "k": 1}

    def hits(**options: bool) -> list[str]:
        scanner = dataset.scanner(columns=["id", "_distance"], nearest=near, filter="`id` = 'c'", **options)
        return scanner.to_table()["id"].to_pylist()

    assert hits() == []
    assert hits(prefilter=True) == ["c"]


@pytest.mark.parametrize(("metric", "distance"), [("l2", 25.0), ("cosine", 0.2), ("dot", -14.0)])
def test_distances_are_squared_l2_and_one_minus_the_similarity(tmp_path: Path, metric: str, distance: float) -> None:
    dataset = create(tmp_path / "v", pa.table({"vec": pa.array([[3.0, 4.0]], VECTOR)}))
    query = {"l2": [0.0, 0.0], "cosine": [0.0, 1.0], "dot": [1.0, 3.0]}[metric]
    nearest = {"column": "vec", "q": query, "k": 1, "metric": metric}
    found_at = dataset.scanner(columns=["_distance"], nearest=nearest).to_table()["_distance"].to_pylist()
    assert found_at == [pytest.approx(distance)]
