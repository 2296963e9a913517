"""Postings: the rows of one part that have a token, by row and by what they are worth.

What a token adds to a row's score depends on two numbers alone: how often the row has it, and how long the row is. Rows
that agree in both are of one *class*. There are few classes, so a score is worked out per class, and the rows that a
token tells most about come first without looking at the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]

DENSE_SHARE = 12
"""A token that more than one in so many rows has is also kept as a byte per row: that is no more than its postings."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The rows that have one token, those included that a newer version of the table has lost."""

    rows: Numbers
    """Ascending, each once."""
    counts: Numbers
    """How often each of them has the token."""
    by_class: Numbers
    """The same rows, class after class, ascending within each."""
    starts: Places
    """Where each class begins in `by_class`, and where the last ends."""
    frequencies: Numbers
    lengths: Numbers
    """What the rows of a class agree in: occurrences of the token, and tokens in all."""
    by_row: npt.NDArray[np.uint8] | None
    """Occurrences in every row of the part, for a token that many of them have."""

    @property
    def nbytes(self) -> int:
        classes = self.starts.nbytes + self.frequencies.nbytes + self.lengths.nbytes
        rows = self.rows.nbytes + self.counts.nbytes + self.by_class.nbytes
        return int(rows + classes + (0 if self.by_row is None else self.by_row.nbytes))

    def counts_in(self, rows: Numbers) -> Numbers:
        """How often each of these rows (ascending) has the token; 0 where it does not."""
        if self.by_row is not None:
            return self.by_row[rows].astype(np.int32)
        if not len(self.rows):
            return np.zeros(len(rows), np.int32)
        places = np.searchsorted(self.rows, rows)
        np.minimum(places, len(self.rows) - 1, out=places)
        return np.where(self.rows[places] == rows, self.counts[places], np.int32(0))


def postings_of(rows: Numbers, counts: Numbers, lengths: Numbers) -> Postings:
    """From rows in ascending order, how often each has the token, and the lengths of all rows of the part."""
    own = lengths[rows]
    width = int(own.max(initial=0)) + 1
    keys = counts.astype(np.int64) * width + own
    if int(keys.max(initial=0)) < 2**16:
        keys = keys.astype(np.uint16)  # sorted digit by digit: many times faster
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
    starts = np.append(first, len(keys)).astype(np.int64)
    leading = order[first]
    by_row = None
    if len(rows) * DENSE_SHARE > len(lengths) and int(counts.max(initial=0)) < 2**8:
        by_row = np.zeros(len(lengths), np.uint8)
        by_row[rows] = counts
    return Postings(rows, counts, rows[order], starts, counts[leading], own[leading], by_row)
