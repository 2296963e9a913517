"""Evolution: how the schema of a graph that lives becomes another one. `apply` reads like the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.evolution.apply import SchemaChange as SchemaChange
    from omnigraph.write.evolution.apply import apply_schema as apply_schema
    from omnigraph.write.evolution.catching_up import catch_up as catch_up
    from omnigraph.write.evolution.facts import BlockingBranch as BlockingBranch
    from omnigraph.write.evolution.facts import TableFacts as TableFacts
    from omnigraph.write.evolution.lock import LockOwner as LockOwner
    from omnigraph.write.evolution.lock import Unlocked as Unlocked
    from omnigraph.write.evolution.lock import unlock_schema as unlock_schema
    from omnigraph.write.evolution.plan import Consent as Consent
    from omnigraph.write.evolution.plan import SchemaPlan as SchemaPlan
    from omnigraph.write.evolution.plan import plan_change as plan_change
    from omnigraph.write.evolution.receipt import SchemaReceipt as SchemaReceipt
    from omnigraph.write.evolution.refusals import SchemaBlockedByBranches as SchemaBlockedByBranches
    from omnigraph.write.evolution.refusals import SchemaBlockedByTags as SchemaBlockedByTags
    from omnigraph.write.evolution.refusals import SchemaChangeUnsupported as SchemaChangeUnsupported
    from omnigraph.write.evolution.refusals import SchemaRowsRefused as SchemaRowsRefused
    from omnigraph.write.evolution.restore import restore_schema as restore_schema
    from omnigraph.write.evolution.row_tasks import RowWork as RowWork
    from omnigraph.write.evolution.row_tasks import RunTasks as RunTasks
    from omnigraph.write.evolution.row_tasks import run_here as run_here
    from omnigraph.write.evolution.row_tasks import write_piece as write_piece
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "apply": ("SchemaChange", "apply_schema"),
            "catching_up": ("catch_up",),
            "facts": ("BlockingBranch", "TableFacts"),
            "lock": ("LockOwner", "Unlocked", "unlock_schema"),
            "plan": ("Consent", "SchemaPlan", "plan_change"),
            "receipt": ("SchemaReceipt",),
            "refusals": (
                "SchemaBlockedByBranches",
                "SchemaBlockedByTags",
                "SchemaChangeUnsupported",
                "SchemaRowsRefused",
            ),
            "restore": ("restore_schema",),
            "row_tasks": ("RowWork", "RunTasks", "run_here", "write_piece"),
        },
    )
