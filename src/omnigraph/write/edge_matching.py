"""Edge matching: records without an id that mean the edge between two nodes, wherever there is one already."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.language.schema.catalog import EdgeType, NodeType
from omnigraph.write.canonical import repeats, tuple_codes
from omnigraph.write.committed_view import CommittedView
from omnigraph.write.decode import Decoded, Mask

MatchEdges = Literal["endpoints"] | None


def matches_endpoints(entity: NodeType | EdgeType, match_edges: MatchEdges) -> bool:
    """Whether a pair of nodes names an edge of this type: the schema says so, or the caller does."""
    if not isinstance(entity, EdgeType):
        return False
    return match_edges == "endpoints" or any(set(group) == {"src", "dst"} for group in entity.unique)


def match_endpoints(entity: EdgeType, decoded: Decoded, view: CommittedView) -> tuple[Decoded, Mask]:
    """The rows with ids found by their endpoints, and which rows meet several committed edges and so mean none.

    A committed edge is found first, then one that the input names by id, then the first record of the same pair.
    """
    rows, generated = decoded.rows, decoded.generated
    nothing = np.zeros(len(generated), np.bool_)
    if not generated.any():
        return decoded, nothing
    committed = view.edges_at(entity.table_key, "src", rows["src"].filter(pa.array(generated)))
    named = rows["id"].filter(pa.array(~generated)).combine_chunks()
    committed = committed.filter(pc.invert(pc.is_in(committed["id"], value_set=named)))
    count = rows.num_rows
    codes = tuple_codes([_stacked(rows, committed, "src"), _stacked(rows, committed, "dst")])
    own, theirs = codes[:count], codes[count:]
    owner = np.full(int(codes.max(initial=0)) + 1, -1, np.int64)
    fresh, stated = np.flatnonzero(generated), np.flatnonzero(~generated)
    owner[own[fresh][::-1]] = fresh[::-1]
    owner[own[stated][::-1]] = stated[::-1]
    owner[theirs] = count + np.arange(len(theirs))
    several = np.isin(own, theirs[repeats(theirs)[0]]) & generated
    chosen = np.where(generated, owner[own], np.arange(count))
    ids = pa.chunked_array([*rows["id"].chunks, *committed["id"].chunks], pa.string()).take(pa.array(chosen))
    matched = rows.set_column(0, rows.schema.field("id"), ids)
    is_new = generated & (chosen < count) & generated[np.minimum(chosen, count - 1)]
    return replace(decoded, rows=matched, generated=is_new), several


def _stacked(rows: pa.Table, committed: pa.Table, name: str) -> pa.ChunkedArray:
    return pa.chunked_array([*rows[name].chunks, *committed[name].chunks], pa.string())
