"""Index probes: does an index open, and does it find what a scan finds? For `verify`; ordinary reads never need it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.model.errors import Corrupt
from omnigraph.storage.indexes.analyser import analysed, words_of
from omnigraph.storage.indexes.text_search import lengths_of, rows_covered, text_index
from omnigraph.storage.indexes.vector_search import known_fault
from omnigraph.storage.lance import MatchQuery, translated
from omnigraph.storage.predicates import Compare, Contains, IsNull, Not, OneOf, Predicate
from omnigraph.storage.tables import IndexInfo, Table

T = TypeVar("T")
SAMPLE_ROWS = 256
"""So many values, spread over the table, are looked up through an index and by a scan."""
SEARCHES = 8
"""So many of them are searched for through a text or vector index."""

LOOKUPS_MAX = 100_000
"""So many rows are looked up one by one through an index for equality."""
GROUP_ROWS = 2_000
WORDS, WORDS_OF_ROW, PIECES, VECTORS = 128, 4, 128, 64
"""So many texts, words of each, pieces and vectors are searched for."""

NGRAM_LENGTH = 3
"""Lance's n-gram index knows pieces of so many letters."""
SUBSTRING_LENGTH = 6


def probe_index(table: Table, index: IndexInfo) -> str | None:
    """What the index gets wrong, or None. An index that cannot be read raises, as every read through it would."""
    if len(index.columns) != 1:
        return None
    column = index.columns[0]
    fault = known_fault(table, index.name)
    if fault is not None:
        raise Corrupt(table.uri, fault)
    sample = _sample(table, column)
    if sample.num_rows == 0:
        return None
    kind = index.kind.upper()
    if kind == "BTREE":
        return _probe_lookup(table, column, sample)
    if kind == "NGRAM":
        return _probe_substrings(table, column, sample)
    if kind == "INVERTED":
        return _probe_text(table, column, sample, index.name)
    if kind.startswith("IVF"):
        return _probe_vector(table, column, sample, kind)
    return None


def _sample(table: Table, column: str) -> pa.Table:
    """Rows that have a value, evenly spread; ids and values."""
    step = max(1, table.count() // SAMPLE_ROWS)
    kept: list[pa.Table] = []
    seen, held = 0, 0
    for batch in table.scan(list(dict.fromkeys(("id", column, "_rowid"))), use_index=False):
        first = -seen % step
        rows = pa.array(range(first, batch.num_rows, step), pa.int64())
        seen += batch.num_rows
        part = pa.Table.from_batches([batch]).take(rows)
        part = part.filter(pc.is_valid(part[column]))
        kept.append(part)
        held += part.num_rows
        if held >= SAMPLE_ROWS:
            break
    return pa.concat_tables(kept).slice(0, SAMPLE_ROWS) if kept else pa.table({"id": pa.array([], pa.string())})


def _probe_lookup(table: Table, column: str, sample: pa.Table) -> str | None:
    """Single values, the whole range, which reads every page of the index, and the values of the table in groups."""
    values = as_literals(sample[column])
    lowest = min(values)
    checks: tuple[tuple[str, Predicate], ...] = (
        ("a lookup of sampled values", OneOf(column, tuple(dict.fromkeys(values)))),
        ("the range of all values from a sampled one", Compare(column, ">=", lowest)),
        ("the range below it", Compare(column, "<", lowest)),
        ("everything else", Not(Compare(column, ">=", lowest))),
    )
    for what, predicate in checks:
        by_index, by_scan = (_row_ids(table, predicate, use_index=use) for use in (True, False))
        if not by_index.equals(by_scan):
            return f"{what} finds {len(by_index)} rows through the index and {len(by_scan)} by a scan"
    return _probe_every_value(table, column)


def _probe_every_value(table: Table, column: str) -> str | None:
    """Whether each row is found under its value. Beyond so many rows, for some that are spread evenly."""
    for group in _groups(table, column):
        values = tuple(dict.fromkeys(as_literals(group[column])))
        found = _row_ids(table, OneOf(column, values), use_index=True)
        missed = len(group) - int(pc.sum(pc.is_in(group["_rowid"].combine_chunks(), value_set=found)).as_py() or 0)
        if missed:
            return f"{missed} of {len(group)} rows are not found under their own value"
    return None


def _groups(table: Table, column: str) -> Iterator[pa.Table]:
    """Rows that have a value, with their ids, some thousand at a time."""
    step = max(1, table.count() // LOOKUPS_MAX)
    seen = 0
    for batch in table.scan([column, "_rowid"], use_index=False, batch_rows=GROUP_ROWS * step):
        rows = pa.array(range(-seen % step, batch.num_rows, step), pa.int64())
        seen += batch.num_rows
        group = pa.Table.from_batches([batch]).take(rows)
        group = group.filter(pc.is_valid(group[column]))
        if group.num_rows:
            yield group


def _probe_substrings(table: Table, column: str, sample: pa.Table) -> str | None:
    """Pieces of sampled texts, and what is not there; shorter ones than the index knows are not asked of it."""
    texts = [text for text in sample[column].to_pylist() if len(text) >= NGRAM_LENGTH]
    parts = [text[len(text) // 3 :][:SUBSTRING_LENGTH] for text in texts]
    pieces = [text[place : place + NGRAM_LENGTH] for text in texts for place in range(len(text) - NGRAM_LENGTH + 1)]
    chosen = [part for part in dict.fromkeys(parts) if len(part) >= NGRAM_LENGTH][:SEARCHES]
    for part in [*chosen, *_spread(list(dict.fromkeys(pieces)), PIECES), "\x01\x02\x03"]:
        by_index, by_scan = (_row_ids(table, Contains(column, part), use_index=use) for use in (True, False))
        if not by_index.equals(by_scan):
            return f"'{part}' is in {len(by_index)} texts through the index and in {len(by_scan)} by a scan"
    return None


def _row_ids(table: Table, predicate: Predicate, *, use_index: bool) -> pa.Array:
    """8 bytes per row that matches."""
    batches = table.scan(["_rowid"], predicate, use_index=use_index, fall_back=False)
    found: list[pa.Array] = [batch.column("_rowid") for batch in batches]
    ids = pa.chunked_array(found, pa.uint64()).combine_chunks()
    return ids.take(pc.sort_indices(ids))


def as_literals(column: pa.ChunkedArray) -> list[Any]:
    """Dates as the numbers that predicates take."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_date64(column.type):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _probe_text(table: Table, column: str, sample: pa.Table, name: str) -> str | None:
    """A row is found by the words of its own text, what is found by a word has it, and a row is counted by its length.
    Only rows that the index covers are asked for: the others are scanned."""
    _finds_any(table, column, "x")  # a search for anything shows whether the index can be read
    covered = rows_covered(table, name)
    rows = [row for row in sample.to_pylist() if row["_rowid"] in covered]
    words: dict[str, str] = {}
    for row in _spread(rows, WORDS):
        for word in words_of(row[column])[:WORDS_OF_ROW]:
            for token in analysed(word):
                words.setdefault(token, word)
    exact = text_index(table, column) is not None  # else it has old texts of rows, and searches do without it
    for token, word in list(words.items())[:WORDS]:
        fault = _probe_word(table, column, rows, token, word, exact=exact)
        if fault is not None:
            return fault
    return _probe_lengths(table, column, name, rows)


def _probe_word(
    table: Table, column: str, rows: Sequence[dict[str, Any]], token: str, word: str, *, exact: bool
) -> str | None:
    found = _finds_any(table, column, word)
    for row in rows:
        if token in analysed(row[column]) and row["_rowid"] not in found:
            return f"the row '{row['id']}' is not found by its own word '{word}'"
    some = list(found)[:SEARCHES] if exact else []
    texts = table.take(some, [column])[column].to_pylist() if some else []  # without rows that are deleted since
    if any(text is None or token not in analysed(text) for text in texts):
        return f"rows are found by the word '{word}' that do not have it"
    return None


def _finds_any(table: Table, column: str, word: str) -> set[int]:
    with translated(table.uri):
        query = MatchQuery(word, column)
        scanner = table.handle.scanner(columns=["_rowid"], full_text_query=query, fast_search=True)
        return set(scanner.to_table()["_rowid"].to_pylist())


def _probe_lengths(table: Table, column: str, name: str, rows: Sequence[dict[str, Any]]) -> str | None:
    counted = lengths_of(table, name)
    if counted is None:
        return None
    for row in rows:
        length = len(analysed(row[column]))
        if length and counted.get(row["_rowid"]) != length:
            return f"the row '{row['id']}' has {length} words, and is counted with {counted.get(row['_rowid'])}"
    return None


def _probe_vector(table: Table, column: str, sample: pa.Table, kind: str) -> str | None:
    """The nearest row of a stored vector is at distance zero, up to rounding; a quantised index only has to answer.
    Asked for as many as there are, an exact index finds every row that has a vector."""
    exact = kind == "IVF_FLAT"
    for row in _spread(sample.to_pylist(), VECTORS):
        found = _nearest(table, column, row[column], 1)
        scale = sum(number * number for number in row[column]) or 1.0
        if found.num_rows == 0 or (exact and abs(found["_distance"][0].as_py()) > 1e-3 * scale):
            return f"the row '{row['id']}' is not found by its own vector"
    if exact and table.count() <= LOOKUPS_MAX:
        stored = table.count(Not(IsNull(column)), fall_back=False)
        reached = len(set(_nearest(table, column, sample[column][0].as_py(), table.count())["_rowid"].to_pylist()))
        if reached != stored:
            return f"{reached} rows are reached through the index, and {stored} have a vector"
    return None


def _nearest(table: Table, column: str, vector: Sequence[float], count: int) -> pa.Table:
    with translated(table.uri):
        nearest = {"column": column, "q": pa.array(vector, pa.float32()), "k": count, "use_index": True}
        found: pa.Table = table.handle.scanner(
            columns=["id", "_distance"], nearest=nearest, with_row_id=True
        ).to_table()
        return found


def _spread(rows: Sequence[T], count: int) -> Sequence[T]:
    return rows[:: max(1, len(rows) // count)][:count]
