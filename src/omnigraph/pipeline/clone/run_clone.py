"""Running a clone: what is asked, the claim on the target, two ways to fill it, the receipt. Start at `clone`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import cast

from omnigraph.history import Snapshot, current_snapshot, schema_of
from omnigraph.language.schema import CompiledSchema
from omnigraph.model.errors import (
    BadRequest,
    BranchNotFound,
    InitializationIndeterminate,
    Json,
    OmniGraphError,
    RecoveryRequired,
)
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.clone.heads import capture_heads, clone_heads, clone_snapshot
from omnigraph.pipeline.clone.progress import Meter
from omnigraph.pipeline.clone.with_history import Plan, copy_main, plan_history, replay_branches
from omnigraph.storage import AcceptedSchema, Address, GraphStorage, contract_of, open_storage
from omnigraph.storage.copying import ClaimedTarget, claimed
from omnigraph.storage.files import Durability
from omnigraph.write.recovery import pending

WRITERS_WAIT_S = 10.0
"""A write that runs is waited for so long; one that died needs somebody who resolves it."""
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A clone as a caller asks for it."""

    target: Address
    branch: str | None = None
    snapshot: Snapshot | None = None
    history: bool = False
    actor_id: str | None = None
    durability: Durability = "full"
    progress: ProgressListener | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneResult:
    """The receipt of a clone.

    >>> copy = graph.clone("copy.omni", history=True)
    >>> copy.history, copy.branches, copy.nodes, copy.edges
    (True, ('main',), {'Person': 2}, {'Knows': 1})
    """

    source: str
    target: str
    history: bool
    source_commit_id: str | None
    """The commit of the source that the target's main shows."""
    branches: tuple[str, ...]
    commits: int
    """That the target has, over all branches."""
    nodes: Mapping[str, int]
    """Per type, on the target's main."""
    edges: Mapping[str, int]
    reclaimed: int = 0
    """Versions of main's tables that history names and the source had reclaimed: those commits cannot be read."""
    left_out: tuple[str, ...] = ()
    """Commits of branches whose rows the source had reclaimed."""
    without_base: tuple[str, ...] = ()
    """Branches that begin with no row, because what they and main had in common was reclaimed."""
    rows: int = 0
    bytes: int = 0
    """Of files that were copied as they are."""
    seconds: float = 0.0

    @property
    def total_entities(self) -> int:
        """Nodes and edges of main together.

        >>> graph.clone("copy.omni").total_entities
        3
        """
        return sum(self.nodes.values()) + sum(self.edges.values())

    def to_json(self) -> dict[str, Json]:
        """The same facts, ready for JSON.

        >>> graph.clone("copy.omni").to_json()["branches"]
        ['main']
        """
        return {
            "source": self.source,
            "target": self.target,
            "history": self.history,
            "source_commit_id": self.source_commit_id,
            "branches": list(self.branches),
            "commits": self.commits,
            "nodes": dict(self.nodes),
            "edges": dict(self.edges),
            "total_entities": self.total_entities,
            "reclaimed": self.reclaimed,
            "left_out": list(self.left_out),
            "without_base": list(self.without_base),
            "rows": self.rows,
            "bytes": self.bytes,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class _Done:
    """What a way of cloning says about its work."""

    shown: Snapshot
    """Of the source: what the target's main shows."""
    schema: AcceptedSchema
    reclaimed: int = 0
    left_out: tuple[str, ...] = ()
    without_base: tuple[str, ...] = ()
    rows: int = 0
    bytes: int = 0


def clone(source: GraphStorage, live: AcceptedSchema, request: Clone) -> CloneResult:
    """Makes the clone, or raises and leaves nothing at the target. The source is read and never changed."""
    begun = time.monotonic()
    target = open_storage(request.target, durability=request.durability)
    _refuse_itself(source, target)
    _refuse_unfinished(source)
    with claimed(target) as claim:
        done = _with_history(source, claim, live, request) if request.history else _anew(source, claim, live, request)
        claim.finish(_contract(source, done.schema, live))
    try:
        return _result(source, target, request, done, time.monotonic() - begun)
    except OmniGraphError as error:  # the clone is made, and what it holds could not be read
        raise InitializationIndeterminate(target.root.uri, error.sentence()) from error


def _refuse_itself(source: GraphStorage, target: GraphStorage) -> None:
    one, other = (
        f"{os.path.realpath(each.root.uri) if each.root.is_local else each.root.uri}/" for each in (source, target)
    )
    if one.startswith(other) or other.startswith(one):
        raise BadRequest("a graph cannot be cloned into itself", "name a target that is neither in it nor above it")


def _refuse_unfinished(source: GraphStorage) -> None:
    """A write that runs is done in a moment. One that stays was interrupted: whether it happened is not decided yet."""
    deadline = time.monotonic() + WRITERS_WAIT_S
    seen = {sidecar.operation_id for sidecar in pending(source)}
    while seen:
        if time.monotonic() > deadline:
            raise RecoveryRequired(min(seen), "an interrupted write is not resolved, and a clone would decide it")
        time.sleep(LOOK_EVERY_S)
        seen &= {sidecar.operation_id for sidecar in pending(source)}


# --- the two ways -----------------------------------------------------------------------------------------


def _anew(source: GraphStorage, claim: ClaimedTarget, live: AcceptedSchema, request: Clone) -> _Done:
    snapshot = request.snapshot
    if snapshot is None and request.branch is not None:
        snapshot = current_snapshot(source, request.branch)
    if snapshot is not None:
        rows = sum(pin.row_count for pin in snapshot.tables)
        meter = Meter("copy", request.progress, 1, rows_total=rows)
        meter.tell()
        schema = schema_of(source, snapshot, live)
        clone_snapshot(source, claim.storage, snapshot, schema, request.actor_id, meter)
        return _Done(snapshot, schema, rows=meter.rows)
    heads = capture_heads(source)
    meter = Meter("copy", request.progress, len(heads.states()) + len(heads.others))
    meter.tell()
    without_base = clone_heads(source, claim.storage, heads, live, request.actor_id, meter)
    schema = schema_of(source, heads.main, live)
    return _Done(heads.main, schema, without_base=tuple(without_base), rows=meter.rows)


def _with_history(source: GraphStorage, claim: ClaimedTarget, live: AcceptedSchema, request: Clone) -> _Done:
    if request.branch is not None and request.branch not in source.manifest.branches():
        raise BranchNotFound(request.branch)
    plan = plan_history(source, request.branch)
    files = sum(len(each.files) for each in plan.datasets)
    copying = Meter("copy", request.progress, files, bytes_total=sum(each.bytes for each in plan.datasets))
    copying.tell()
    copy_main(source, claim.storage, plan, copying)
    replaying = Meter("replay", request.progress, _commits_of(plan))
    replaying.tell()
    left_out = replay_branches(source, claim.storage, plan, live, replaying)
    shown = Snapshot(MAIN, plan.main.version, plan.main.state.head, plan.main.state.pins())
    return _Done(
        shown,
        schema_of(source, shown, live),
        reclaimed=plan.reclaimed_versions,
        left_out=tuple(left_out),
        rows=replaying.rows,
        bytes=copying.bytes,
    )


def _commits_of(plan: Plan) -> int:
    return sum(len(each.own) for each in plan.branches)


def _contract(source: GraphStorage, schema: AcceptedSchema, live: AcceptedSchema) -> dict[str, bytes]:
    """The three schema files; those of today as they are on disk, so that not even a comment is lost."""
    made = contract_of(cast("CompiledSchema", schema))
    if schema.ir_hash != live.ir_hash:
        return made
    found = {name: source.objects.read(name) for name in made}
    return {name: made[name] if each is None else each.data for name, each in found.items()}


def _result(source: GraphStorage, target: GraphStorage, request: Clone, done: _Done, seconds: float) -> CloneResult:
    names = target.manifest.branches()
    commits = {commit for name in names for commit in target.manifest.load(name).state.commits}
    counts = {str(pin.table_key): pin.row_count for pin in done.shown.tables}
    by_kind: dict[str, dict[str, int]] = {"node": {}, "edge": {}}
    for key, count in counts.items():
        kind, _, name = key.partition(":")
        by_kind[kind][name] = count
    return CloneResult(
        source=source.root.uri,
        target=target.root.uri,
        history=request.history,
        source_commit_id=done.shown.commit_id,
        branches=tuple(names),
        commits=len(commits),
        nodes=by_kind["node"],
        edges=by_kind["edge"],
        reclaimed=done.reclaimed,
        left_out=done.left_out,
        without_base=done.without_base,
        rows=done.rows,
        bytes=done.bytes,
        seconds=round(seconds, 3),
    )
