"""Row versions: when the rows of a fragment were made and last written, as runs of rows that share a version.

Lance keeps both lists in every version file of a table. Of a table that is written row by row each row is a run of its
own, so the file gets some 24 bytes longer with each commit, and every commit writes it whole. Versions that are gone
need not be told apart: nothing can be compared with them any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnigraph.storage.lance import member, whole_number
from omnigraph.storage.tables.fragment_messages import NotAManifest, message_fields, message_in
from omnigraph.storage.tables.row_id_lists import segment_length

Versions = npt.NDArray[np.int64]
"""One for each row of a fragment, in order."""
_RUN = _SPAN = 1 << 3 | 2
_VERSION = 2 << 3


def read_row_versions(message: bytes) -> Versions | None:
    """What a fragment lists; None for a form that is not known here."""
    lengths, versions = [], []
    try:
        for tag, run in message_fields(message):
            if tag != _RUN:
                return None
            fields: dict[int, Any] = dict(message_fields(message_in(run)))
            lengths.append(segment_length(message_in(fields.pop(_SPAN))))
            versions.append(int(fields.pop(_VERSION, 0)))
            if fields:
                return None
    except (NotAManifest, KeyError, ValueError):
        return None
    return np.repeat(np.array(versions, np.int64), np.array(lengths, np.int64))


def written_row_versions(versions: Versions) -> bytes:
    """The same as Lance lists it, with as few runs as there can be."""
    starts = _starts(versions)
    lengths = np.diff([*starts, len(versions)])
    return b"".join(
        member(1, member(1, member(1, whole_number(2, length))) + whole_number(2, version))
        for length, version in zip(lengths.tolist(), versions[starts].tolist(), strict=True)
    )


def run_count(versions: Versions) -> int:
    """How many runs they are listed as."""
    return len(_starts(versions))


def told_apart_from(oldest: int, made: Versions, written: Versions) -> tuple[Versions, Versions]:
    """The same with all that is older than a version put together.

    A row that was written again after it was made still differs in the two: indexes are judged by it.
    """
    now_written = np.maximum(written, oldest)
    was_moved = (made != written) & (written <= oldest)
    now_made = np.where(made >= oldest, made, np.where(was_moved, oldest - 1, oldest))
    return now_made, now_written


def _starts(versions: Versions) -> Versions:
    """Where each run begins."""
    if not len(versions):
        return np.empty(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(versions[1:] != versions[:-1]) + 1])
