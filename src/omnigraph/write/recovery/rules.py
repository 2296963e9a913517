"""The rules of recovery: what a pin's versions mean, and what follows for the whole write. Pure.

`classify` looks at one table, `decide` at all of them. A pin that carries its planned transaction is judged by proof,
any other by version arithmetic alone, as every implementation of storage format 4 does.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import LineageVersion
from omnigraph.write.recovery.sidecars import SidecarPin


class PinState(StrEnum):
    """What became of one table."""

    NO_MOVEMENT = "NoMovement"  # the newest version is the published one
    ROLLED_PAST_EXPECTED = "RolledPastExpected"  # the writer's work is there, complete, on top
    UNEXPECTED_AT_P1 = "UnexpectedAtP1"
    UNEXPECTED_MULTISTEP = "UnexpectedMultistep"
    INCOMPLETE_PHASE_B = "IncompletePhaseB"  # a merge that did not come to confirm its versions
    INVARIANT_VIOLATION = "InvariantViolation"  # the graph shows a version that the table does not have
    FOREIGN_COMMIT = "ForeignCommit"  # a version that is provably not the writer's


class Decision(StrEnum):
    """What to do with the whole write; all tables or none."""

    ABORT = "abort"  # nobody may guess here: keep the file and say so
    FINISH = "finish"  # the work is visible: record it, remove the file
    DROP = "drop"  # no effect: remove the file
    ROLL_BACK = "roll back"
    ROLL_FORWARD = "roll forward"


@dataclass(frozen=True, slots=True)
class Observed:
    """One table as recovery found it."""

    pin: SidecarPin
    location: str
    head: int  # the newest version of the pin's lineage
    manifest: int  # the version that the branch shows, 0 when it shows none
    above: tuple[LineageVersion, ...] = ()  # the versions after `manifest`, up to `head`
    abandoned: frozenset[int] = frozenset()
    """Those of `above` that were made for a graph commit that the branch does not have. Whoever made them holds no
    lease, since the caller does: a writer that was paused, lost its lease, and landed one version too many."""

    @property
    def moved(self) -> bool:
        return self.head > self.manifest

    @property
    def is_restored(self) -> bool:
        """True when an earlier pass already put the published content back on top."""
        return bool(self.above) and self.above[-1].restores == self.manifest


def classify(seen: Observed, kind: str, file_version: int) -> PinState:
    """What became of one table of a write of this kind."""
    if seen.head < seen.manifest:
        return PinState.INVARIANT_VIOLATION
    if seen.head == seen.manifest:
        return PinState.NO_MOVEMENT
    if seen.pin.transaction_id is not None:
        return _by_proof(seen, kind)
    if kind == "BranchMerge" and file_version >= 2:
        return _confirmed(seen)
    if kind in ("Mutation", "Load"):
        return _strict(seen)
    if seen.pin.expected_version == seen.manifest and not seen.is_restored:
        return PinState.ROLLED_PAST_EXPECTED
    return _unexpected(seen)


def _by_proof(seen: Observed, kind: str) -> PinState:
    """Only the planned transaction right above the expected version is the writer's; what follows must be harmless."""
    first, *rest = seen.above
    own = seen.pin.transaction_id
    if any(version.transaction_id != own and not _is_harmless(version, seen) for version in seen.above):
        return PinState.FOREIGN_COMMIT
    if seen.manifest != seen.pin.expected_version or first.transaction_id != own:
        return PinState.UNEXPECTED_MULTISTEP  # ours landed on another version than it was made for
    if any(version.operation != "CreateIndex" for version in rest):
        return PinState.UNEXPECTED_MULTISTEP  # an earlier pass began to roll back, or a late one landed on top
    if kind == "BranchMerge":
        return _confirmed(seen)
    return PinState.ROLLED_PAST_EXPECTED


def _is_harmless(version: LineageVersion, seen: Observed) -> bool:
    """An index, the restore of an earlier recovery, or what a writer left that is none any more."""
    return version.operation == "CreateIndex" or version.restores == seen.manifest or version.version in seen.abandoned


def _confirmed(seen: Observed) -> PinState:
    if seen.pin.confirmed_version is None:
        return PinState.INCOMPLETE_PHASE_B
    if seen.head == seen.pin.confirmed_version and seen.pin.expected_version == seen.manifest:
        return PinState.ROLLED_PAST_EXPECTED
    return PinState.UNEXPECTED_MULTISTEP


def _strict(seen: Observed) -> PinState:
    planned = seen.pin.expected_version == seen.manifest and seen.pin.post_commit_pin == seen.manifest + 1
    data, *rest = seen.above or (LineageVersion(seen.head, ""),)
    only_indexes = data.operation != "CreateIndex" and all(version.operation == "CreateIndex" for version in rest)
    if planned and (seen.head == seen.manifest + 1 or (len(seen.above) > 1 and only_indexes)):
        return PinState.ROLLED_PAST_EXPECTED
    return _unexpected(seen)


def _unexpected(seen: Observed) -> PinState:
    return PinState.UNEXPECTED_AT_P1 if seen.head == seen.manifest + 1 else PinState.UNEXPECTED_MULTISTEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What is known besides the tables."""

    visible: bool = False  # the write's own commit, or all that a schema apply wanted, is published
    names_commit: bool = False  # the sidecar says which commit it is for: only that one makes it visible
    head_holds: bool = True  # the head is still the one that the commit was made for
    schema_ready: bool = True  # the new schema of an apply is complete; true for every other write


def decide(states: Sequence[PinState], seen: Sequence[Observed], verdicts: Verdicts) -> Decision:
    """The fate of a write whose branch exists. The first matching line holds."""
    if verdicts.visible:
        return Decision.FINISH
    if any(state in (PinState.INVARIANT_VIOLATION, PinState.FOREIGN_COMMIT) for state in states):
        return Decision.ABORT
    if states and all(state is PinState.NO_MOVEMENT for state in states):
        past = any(one.manifest > one.pin.expected_version for one in seen)
        return Decision.FINISH if past and not verdicts.names_commit else Decision.DROP
    if any(state is not PinState.ROLLED_PAST_EXPECTED for state in states):
        return Decision.ROLL_BACK
    if not verdicts.schema_ready or not verdicts.head_holds:
        return Decision.ROLL_BACK
    return Decision.ROLL_FORWARD
