"""Change sets: what a write means to do to the graph, table by table, before anything is on disk.

Every write surface ends here: a mutation, a load, a merge. The one validator reads it, staging turns it into effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.places import Place, Places

ChangeMode = Literal["insert", "upsert", "overwrite", "delete"]
"""insert: ids must be new. upsert: replace or add. overwrite: this is the whole new content. delete: remove ids."""


@dataclass(frozen=True, slots=True, eq=False)
class Provenance:
    """Where each row of a change came from, for messages. Aligned with the rows."""

    file: str | None
    lines: Sequence[int] | npt.NDArray[np.int64]
    places: Places | None = None
    """With them, `lines` are running numbers over several files, and `file` means nothing."""

    def place(self, row: int) -> Place:
        number = int(self.lines[row])
        return (self.file, number) if self.places is None else self.places.place(number)


@dataclass(frozen=True, slots=True)
class TableChange:
    """The change of one table. Each id occurs once: statements and records are already coalesced, the last one wins."""

    key: TableKey
    mode: ChangeMode
    rows: pa.Table | None = None
    """Full rows in exactly the table's columns; None for a delete. A bulk load is checked by its key columns alone."""
    removed: tuple[str, ...] = ()
    """The ids that a delete removes."""
    provenance: Provenance | None = None
    values_proven: bool = False
    """The rules of single values were checked where the rows were read, and the rows may lack the columns for it."""

    @property
    def is_empty(self) -> bool:
        """True when nothing would move. An overwrite with no rows is a change: it empties the table."""
        if self.mode == "overwrite":
            return False
        return not self.removed and (self.rows is None or self.rows.num_rows == 0)


@dataclass(frozen=True, slots=True)
class StagedWork:
    """The change of one table whose rows never pass through this process as one piece: an index, a bulk load.

    `stage` writes its files and says what to commit. It is called once per attempt, with the pin that the branch
    writes: on the first touch of a table by a branch that is the fresh fork, and the branch is held meanwhile.
    """

    key: TableKey
    stage: Callable[[TablePin], StagedEffect | None]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Everything that one graph commit will change. A table is in `tables` or in `works`, not in both."""

    tables: Mapping[TableKey, TableChange] = field(default_factory=dict)
    works: tuple[StagedWork, ...] = ()
    guard: Callable[[], None] | None = None
    """Raises when the staging area of these works is not ours any more: its files may be gone. Asked before commits."""

    @property
    def is_empty(self) -> bool:
        return not self.works and all(change.is_empty for change in self.tables.values())

    def changes(self) -> tuple[TableChange | StagedWork, ...]:
        """The changes that move something, in order of their keys."""
        moving = [change for change in self.tables.values() if not change.is_empty]
        return tuple(sorted([*moving, *self.works], key=lambda change: str(change.key)))
