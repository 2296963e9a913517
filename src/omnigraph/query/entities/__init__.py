"""Entities: the rows of a table under dense row numbers, with the columns that a query asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.entities.entity_rows import PROBE_CHUNK_IDS as PROBE_CHUNK_IDS
    from omnigraph.query.entities.entity_rows import Entities as Entities
    from omnigraph.query.entities.entity_rows import InternedEntities as InternedEntities
    from omnigraph.query.entities.entity_rows import RowIds as RowIds
    from omnigraph.query.entities.held_bytes import HeldBytes as HeldBytes
    from omnigraph.query.entities.held_bytes import Parts as Parts
    from omnigraph.query.entities.resident_table import ResidentEntities as ResidentEntities
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "entity_rows": (
                "Entities",
                "InternedEntities",
                "PROBE_CHUNK_IDS",
                "RowIds",
            ),
            "held_bytes": (
                "HeldBytes",
                "Parts",
            ),
            "resident_table": ("ResidentEntities",),
        },
    )
