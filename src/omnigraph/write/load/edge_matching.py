"""Edge matching: records without an id that mean the edge between two nodes, wherever there is one already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa

from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.intake import Decoded, Mask
from omnigraph.write.load.spool import Spool
from omnigraph.write.rules import (
    SLICE_ROWS,
    Codes,
    CommittedView,
    Rows,
    members,
    part_count,
    part_numbers,
    repeats,
    take_rows,
    tuple_codes,
)

MatchEdges = Literal["endpoints"] | None
_IDS = pa.schema([("id", pa.string())])


def matches_endpoints(entity: NodeType | EdgeType, match_edges: MatchEdges) -> bool:
    """Whether a pair of nodes names an edge of this type: the schema says so, or the caller does."""
    if not isinstance(entity, EdgeType):
        return False
    return match_edges == "endpoints" or any(set(group) == {"src", "dst"} for group in entity.unique)


def match_endpoints(entity: EdgeType, decoded: Decoded, view: CommittedView, spool: Spool) -> tuple[Decoded, Mask]:
    """The rows with ids found by their endpoints, and which rows meet several committed edges and so mean none.

    A committed edge is found first, then one that the input names by id, then the first record of the same pair.
    """
    rows, generated = decoded.rows, decoded.generated
    several = np.zeros(len(generated), np.bool_)
    if not generated.any():
        return decoded, several
    named = rows["id"].filter(pa.array(~generated))
    owners = np.arange(rows.num_rows, dtype=np.int64)
    met, is_new = list[tuple[Rows, pa.Array]](), generated.copy()
    for places in _parts(rows["src"]):
        pairs = _Pairs.of(entity, rows, places, generated[places], view, named)
        chosen = pairs.owners()
        own = chosen < len(places)
        owners[places[own]] = places[chosen[own]]
        met.append((places[~own], pairs.committed["id"].combine_chunks().take(pa.array(chosen[~own] - len(places)))))
        several[places] = pairs.several()
        is_new[places] = pairs.generated & own & pairs.generated[np.minimum(chosen, len(places) - 1)]
    ids = spool.rows(_IDS, _found_ids(rows["id"], owners, met, spool))["id"]
    matched = rows.set_column(0, rows.schema.field("id"), ids)
    return replace(decoded, rows=matched, generated=is_new), several


def _parts(sources: pa.ChunkedArray) -> Iterator[Rows]:
    """The rows in parts: those of one source are together."""
    count = part_count([sources])
    if count == 1:
        yield np.arange(len(sources), dtype=np.int64)
        return
    numbers = part_numbers([sources], count)
    for part in range(count):
        rows = np.flatnonzero(numbers == part)
        if len(rows):
            yield rows


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Rows of a part and the committed edges that leave the same sources, by their pairs of ends."""

    generated: Mask
    own: Codes
    theirs: Codes
    committed: pa.Table

    @classmethod
    def of(
        cls,
        entity: EdgeType,
        rows: pa.Table,
        places: Rows,
        generated: Mask,
        view: CommittedView,
        named: pa.ChunkedArray,
    ) -> _Pairs:
        ends = rows.select(["src", "dst"]) if len(places) == rows.num_rows else _taken(rows, places)
        committed = view.edges_at(entity.table_key, "src", ends["src"].filter(pa.array(generated)))
        committed = committed.filter(pa.array(~members(committed["id"], named)))
        codes = tuple_codes([_stacked(ends, committed, "src"), _stacked(ends, committed, "dst")])
        return cls(generated, codes[: len(places)], codes[len(places) :], committed)

    def owners(self) -> Codes:
        """Per row who has its id: a row of the part, or beyond them a committed edge."""
        count = len(self.generated)
        owner = np.full(int(max(self.own.max(initial=0), self.theirs.max(initial=0))) + 1, -1, np.int64)
        fresh, stated = np.flatnonzero(self.generated), np.flatnonzero(~self.generated)
        owner[self.own[fresh][::-1]] = fresh[::-1]
        owner[self.own[stated][::-1]] = stated[::-1]
        owner[self.theirs] = count + np.arange(len(self.theirs))
        return np.where(self.generated, owner[self.own], np.arange(count))

    def several(self) -> Mask:
        return np.isin(self.own, self.theirs[repeats(self.theirs)[0]]) & self.generated


def _taken(rows: pa.Table, places: Rows) -> pa.Table:
    return pa.table({name: take_rows(rows[name], places) for name in ("src", "dst")})


def _found_ids(
    ids: pa.ChunkedArray, owners: Rows, met: Sequence[tuple[Rows, pa.Array]], spool: Spool
) -> Iterator[pa.RecordBatch]:
    """The ids of all rows: those of the rows that own them, or of the committed edges that were met."""
    places = np.concatenate([rows for rows, _ in met])
    texts = spool.rows(_IDS, (pa.RecordBatch.from_arrays([found], schema=_IDS) for _, found in met))["id"]
    order = np.argsort(places)
    places = places[order]
    for start in range(0, len(owners), SLICE_ROWS):
        own = take_rows(ids, owners[start : start + SLICE_ROWS])
        first, last = np.searchsorted(places, [start, start + len(own)])
        source = np.arange(len(own))
        source[places[first:last] - start] = len(own) + np.arange(last - first)
        theirs = take_rows(texts, order[first:last])
        yield pa.RecordBatch.from_arrays([pa.concat_arrays([own, theirs]).take(pa.array(source))], schema=_IDS)


def _stacked(rows: pa.Table, committed: pa.Table, name: str) -> pa.ChunkedArray:
    return pa.chunked_array([*rows[name].chunks, *committed[name].chunks], pa.string())
