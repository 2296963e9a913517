"""Which indexes a type should have, and what is to be done about those that it has. Pure.

An index is found by its column and kind, never by its name. Nothing here is needed for a correct answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType, Scalar
from omnigraph.storage.indexes import ExistingIndex, IndexBuild
from omnigraph.storage.tables import IndexSpec

LOOKUP_ROWS_MIN = 10_000
"""From so many rows on, texts that are indexed or unique get an index for equality beside the one for words."""
SUBSTRING_ROWS_MIN = 1_000_000
"""From so many rows on, texts that are indexed get an n-gram index for `contains`. Building one took 11 s for 100,000
short texts and 18 s for 1,000,000. A search took 1 ms instead of 8 among the former, 8 ms instead of 80 among these."""
EXACT_VECTORS_MAX = 1_000_000
"""Up to so many rows a vector index is exact: one partition, every vector as it is."""
PARTITION_VECTORS = 4096
SEGMENTS_MAX = 16
"""So many segments, then the index is built anew."""

PART_ROWS = 16_000_000
"""A lookup index over more rows is built in parts, each a segment, so that several machines can work at it."""
SUBSTRING_PART_ROWS = 1_000_000
"""The same for an n-gram index, whose building takes fifty times as long."""
PARTS_MAX = 8

Action = Literal["build", "extend", "rebuild"]


@dataclass(frozen=True, slots=True)
class IndexWork:
    """One thing to do, and over how many rows."""

    action: Action
    build: IndexBuild
    rows: int


def wanted_indexes(
    entity: NodeType | EdgeType, rows: int, substring_rows_min: int = SUBSTRING_ROWS_MIN
) -> tuple[IndexSpec, ...]:
    """What the declaration of a type asks for. Lists and blobs get none.

    An index over several properties is one for equality and ranges on each of them: a filter over all of them goes
    through each, and takes what every one of them finds.
    """
    own = ("id", "src", "dst") if isinstance(entity, EdgeType) else ("id",)
    wanted = {(column, "BTREE"): IndexSpec(column, "BTREE", f"{column}_idx") for column in own}
    key = entity.key if isinstance(entity, NodeType) else None
    for spec in _declared(entity, key, rows, substring_rows_min):
        if spec is not None:
            wanted.setdefault((spec.column, spec.kind), spec)
    return tuple(wanted.values())


def _declared(
    entity: NodeType | EdgeType, key: tuple[str, ...] | None, rows: int, substring_rows_min: int
) -> Iterator[IndexSpec | None]:
    kinds = {name: prop.type for name, prop in entity.by_name.items()}
    single = [columns[0] for columns in entity.indices if len(columns) == 1 and columns[0] in kinds]
    for column in (*single, *(key if key is not None and len(key) == 1 else ())):
        yield _for_search(column, kinds[column], rows)
    for columns in (*entity.indices, *entity.unique):
        if len(columns) == 1 and columns != key and columns[0] in kinds:
            yield _for_equality(columns[0], kinds[columns[0]], rows)
    for column in dict.fromkeys(column for columns in entity.indices if len(columns) > 1 for column in columns):
        if column in kinds:  # the ends of an edge have theirs anyway
            yield _for_equality(column, kinds[column], max(rows, LOOKUP_ROWS_MIN))
    for column in single if rows >= substring_rows_min else ():
        if (column,) != key and _is_text(kinds[column]):
            yield IndexSpec(column, "NGRAM", f"{column}_ngram_idx")


def _is_text(kind: PropType) -> bool:
    return kind.scalar is Scalar.STRING and not (kind.is_enum or kind.is_list or kind.is_blob or kind.is_vector)


def _for_search(column: str, kind: PropType, rows: int) -> IndexSpec | None:
    name = f"{column}_idx"
    if kind.is_list or kind.is_blob:
        return None
    if kind.is_vector:
        return _for_vectors(column, name, rows)
    if _is_text(kind):
        return IndexSpec(column, "INVERTED", name)
    return IndexSpec(column, "BTREE", name)


def _for_vectors(column: str, name: str, rows: int) -> IndexSpec:
    if rows <= EXACT_VECTORS_MAX:
        return IndexSpec(column, "IVF_FLAT", name, (("num_partitions", 1), ("metric", "l2")))
    return IndexSpec(column, "IVF_RQ", name, (("num_partitions", max(1, rows // PARTITION_VECTORS)), ("metric", "l2")))


def _for_equality(column: str, kind: PropType, rows: int) -> IndexSpec | None:
    if kind.is_list or kind.is_blob or kind.is_vector:
        return None
    if _is_text(kind):
        return IndexSpec(column, "BTREE", f"{column}_btree_idx") if rows >= LOOKUP_ROWS_MIN else None
    return IndexSpec(column, "BTREE", f"{column}_idx")


def existing_for(spec: IndexSpec, existing: Iterable[ExistingIndex]) -> ExistingIndex | None:
    return next((index for index in existing if index.columns == (spec.column,) and index.kind == spec.kind), None)


def plan_indexes(
    wanted: Sequence[IndexSpec],
    existing: Sequence[ExistingIndex],
    fragments: Mapping[int, int],
    broken: Iterable[str] = (),
    rewritten: Iterable[int] = (),
) -> tuple[IndexWork, ...]:
    """What to do so that every wanted index covers every fragment; `fragments` are the table's, with their rows.

    New fragments become a new segment. When they outweigh what is indexed, or segments pile up, all is built anew. So
    is a text index when new fragments hold rewritten rows: their old entries would show beside the new ones.
    """
    dead, moved, works = set(broken), set(rewritten), []
    for spec in wanted:
        index = existing_for(spec, existing)
        everything = tuple(sorted(fragments))
        if not everything:
            continue
        if index is None or index.name in dead:
            named = spec if index is None else _renamed(spec, index.name)
            action: Action = "build" if index is None else "rebuild"
            taken = {other.name for other in existing if other is not index and not _replaced_by(spec, other)}
            works.append(_work(action, _untaken(named, taken), everything, fragments, replaces=True))
            continue
        fresh = tuple(number for number in everything if number not in index.fragments)
        if not fresh:
            continue
        new_rows = sum(fragments[number] for number in fresh)
        old_rows = sum(rows for number, rows in fragments.items() if number in index.fragments)
        again = new_rows >= old_rows or len(index.segments) >= SEGMENTS_MAX
        again = again or (spec.kind == "INVERTED" and not moved.isdisjoint(fresh))
        numbers = everything if again else fresh
        action = "rebuild" if again else "extend"
        works.append(_work(action, _renamed(spec, index.name), numbers, fragments, replaces=again))
    return tuple(works)


def split_build(build: IndexBuild, rows: Mapping[int, int]) -> tuple[IndexBuild, ...]:
    """A build as parts of about equal size over whole fragments. Only an index that looks up is the same in parts: one
    of words counts them per segment, an approximate one of vectors trains on what it is given."""
    total = sum(rows[number] for number in build.fragments)
    part_rows = {"BTREE": PART_ROWS, "NGRAM": SUBSTRING_PART_ROWS}.get(build.spec.kind, total)
    count = min(PARTS_MAX, len(build.fragments), -(-total // max(1, part_rows)))
    if count <= 1:
        return (build,)
    parts: list[list[int]] = [[] for _ in range(count)]
    before = 0
    for number in build.fragments:
        parts[min(count - 1, before * count // total)].append(number)
        before += rows[number]
    return tuple(replace(build, fragments=tuple(part)) for part in parts if part)


def _work(
    action: Action, spec: IndexSpec, numbers: tuple[int, ...], fragments: Mapping[int, int], *, replaces: bool
) -> IndexWork:
    return IndexWork(action, IndexBuild(spec, numbers, replaces), sum(fragments[number] for number in numbers))


def _replaced_by(spec: IndexSpec, other: ExistingIndex) -> bool:
    """A vector index of another kind under the same name makes way when the table outgrows it."""
    return other.columns == (spec.column,) and other.kind.startswith("IVF") and spec.kind.startswith("IVF")


def _renamed(spec: IndexSpec, name: str) -> IndexSpec:
    return IndexSpec(spec.column, spec.kind, name, spec.parameters)


def _untaken(spec: IndexSpec, taken: set[str]) -> IndexSpec:
    if spec.name not in taken:
        return spec
    return _renamed(spec, f"{spec.column}_{spec.kind.lower()}_idx")
