"""Recovery: an interrupted write is finished or taken back. `rules` decide, `actions` act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.recovery.actions import Outcome as Outcome
    from omnigraph.write.recovery.actions import Resolution as Resolution
    from omnigraph.write.recovery.actions import finish_schema_apply as finish_schema_apply
    from omnigraph.write.recovery.collecting import Collected as Collected
    from omnigraph.write.recovery.collecting import collected_members as collected_members
    from omnigraph.write.recovery.recover import NO_HEAD as NO_HEAD
    from omnigraph.write.recovery.recover import RecoveryRecord as RecoveryRecord
    from omnigraph.write.recovery.recover import is_late as is_late
    from omnigraph.write.recovery.recover import pending as pending
    from omnigraph.write.recovery.recover import recover_branch as recover_branch
    from omnigraph.write.recovery.recover import recover_graph as recover_graph
    from omnigraph.write.recovery.recover import recover_one as recover_one
    from omnigraph.write.recovery.recover import recoveries as recoveries
    from omnigraph.write.recovery.recover import release_dead_lock as release_dead_lock
    from omnigraph.write.recovery.recover import resolve as resolve
    from omnigraph.write.recovery.recover import take_back_late as take_back_late
    from omnigraph.write.recovery.schema_apply import LOCK_NOTE as LOCK_NOTE
    from omnigraph.write.recovery.schema_apply import log_kept_lock as log_kept_lock
    from omnigraph.write.recovery.schema_apply import release_lock as release_lock
    from omnigraph.write.recovery.sidecars import Sidecar as Sidecar
    from omnigraph.write.recovery.sidecars import SidecarPin as SidecarPin
    from omnigraph.write.recovery.sidecars import SidecarRegistration as SidecarRegistration
    from omnigraph.write.recovery.sidecars import SidecarTombstone as SidecarTombstone
    from omnigraph.write.recovery.sidecars import SidecarUnreadable as SidecarUnreadable
    from omnigraph.write.recovery.sidecars import delete_sidecar as delete_sidecar
    from omnigraph.write.recovery.sidecars import list_sidecars as list_sidecars
    from omnigraph.write.recovery.sidecars import read_sidecar as read_sidecar
    from omnigraph.write.recovery.sidecars import sidecar_path as sidecar_path
    from omnigraph.write.recovery.sidecars import write_sidecar as write_sidecar
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "actions": (
                "Outcome",
                "Resolution",
                "finish_schema_apply",
            ),
            "collecting": (
                "Collected",
                "collected_members",
            ),
            "recover": (
                "NO_HEAD",
                "RecoveryRecord",
                "is_late",
                "pending",
                "recover_branch",
                "recover_graph",
                "recover_one",
                "recoveries",
                "resolve",
                "release_dead_lock",
                "take_back_late",
            ),
            "schema_apply": (
                "LOCK_NOTE",
                "log_kept_lock",
                "release_lock",
            ),
            "sidecars": (
                "Sidecar",
                "SidecarPin",
                "SidecarRegistration",
                "SidecarTombstone",
                "SidecarUnreadable",
                "delete_sidecar",
                "list_sidecars",
                "read_sidecar",
                "sidecar_path",
                "write_sidecar",
            ),
        },
    )
