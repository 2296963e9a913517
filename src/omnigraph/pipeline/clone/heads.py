"""A clone without history: a new first commit with the rows of one snapshot, or a short history that keeps every head.

Branches stay what they are to each other. Where a branch left main, or was last merged with it, lies a commit of the
new main; the branch is cut there and has one commit of its own. So a merge in the clone has the same base as before. A
base whose rows were reclaimed cannot be kept: such a branch begins with no row at all, so that a later merge asks
instead of undoing.
"""

from __future__ import annotations

from omnigraph.history import KnownCommits, Snapshot, create_branch_from, resolve, schema_of, snapshot_at, snapshot_of
from omnigraph.model.errors import HistoricalVersionReclaimed
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.clone.first_state import create_from_snapshot
from omnigraph.pipeline.clone.progress import Meter
from omnigraph.pipeline.clone.replay import Replay, Step
from omnigraph.storage import AcceptedSchema, GraphStorage, archive
from omnigraph.storage.manifest import CommitIdentity, GraphCommit, LoadedManifest


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of a graph, captured together."""

    main: Snapshot
    others: tuple[Snapshot, ...]
    bases: dict[str, Snapshot | None]
    """Per branch where it and main last had the same; None when that was reclaimed."""

    def states(self) -> list[Snapshot | None]:
        """The states that the new main goes through, oldest first and each once."""
        found: dict[str | None, Snapshot | None] = {}
        bases = sorted((base for base in self.bases.values() if base is not None), key=lambda each: each.version)
        for state in (*([None] if None in self.bases.values() else []), *bases, self.main):
            found.setdefault(None if state is None else state.commit_id, state)
        ordered = [state for state in found.values() if state is None or state.commit_id != self.main.commit_id]
        return [*ordered, self.main]


def capture_heads(source: GraphStorage) -> Heads:
    main = source.manifest.load(MAIN)
    loaded = [source.manifest.load(name) for name in source.manifest.branches() if name != MAIN]
    known = KnownCommits(source, [main, *loaded])
    bases = {each.branch: _base(source, known, main, each) for each in loaded}
    return Heads(snapshot_of(main), tuple(map(snapshot_of, loaded)), bases)


def _base(source: GraphStorage, known: KnownCommits, main: LoadedManifest, branch: LoadedManifest) -> Snapshot | None:
    ours, theirs = main.state.head, branch.state.head
    if ours is None or theirs is None:
        return None
    for commit_id in known.graph.merge_bases(theirs.commit_id, ours.commit_id):
        commit = known.commit(commit_id)
        try:
            if commit is not None:
                found = snapshot_at(source, commit)
                for pin in found.tables:
                    source.tables.require_there(pin)
                return found
        except HistoricalVersionReclaimed:
            continue
    return None


def clone_snapshot(
    source: GraphStorage,
    target: GraphStorage,
    snapshot: Snapshot,
    schema: AcceptedSchema,
    actor: str | None,
    meter: Meter,
) -> None:
    """One snapshot as the main of a new graph."""
    create_from_snapshot(source, target, snapshot, schema, actor_id=actor, counted=lambda rows: meter.add(rows=rows))
    archive(target.objects, schema)
    meter.add(tasks=1)


def clone_heads(
    source: GraphStorage, target: GraphStorage, heads: Heads, live: AcceptedSchema, actor: str | None, meter: Meter
) -> list[str]:
    """Every head; says which branches had lost their base."""

    def counted(rows: int) -> None:
        meter.add(rows=rows)

    def of(state: Snapshot) -> AcceptedSchema:
        schema = schema_of(source, state, live)
        archive(target.objects, schema)
        return schema

    first, *later = heads.states()
    made: dict[str | None, GraphCommit] = {}
    schema = of(heads.main if first is None else first)
    key = None if first is None else first.commit_id
    made[key] = create_from_snapshot(source, target, first, schema, actor_id=actor, counted=counted)
    meter.add(tasks=1)
    replay, before = Replay(source, target, shares_main=False, counted=counted), first
    for state in later:
        assert state is not None, "only the first state may have no rows"
        made[state.commit_id] = replay.run(_step(MAIN, before or _nothing(state), state, of(state), actor))
        meter.add(tasks=1)
        before = state
    for head in heads.others:
        base = heads.bases[head.branch]
        cut = made[None if base is None else base.commit_id]
        create_branch_from(target, head.branch, resolve(target, cut.commit_id))
        begin = _nothing(head) if base is None else base
        if begin.tables != head.tables:
            replay.run(_step(head.branch, begin, head, of(head), actor))
        meter.add(tasks=1)
    return [name for name, base in heads.bases.items() if base is None]


def _nothing(like: Snapshot) -> Snapshot:
    return Snapshot(like.branch, 0, None, ())


def _step(branch: str, before: Snapshot, after: Snapshot, schema: AcceptedSchema, actor: str | None) -> Step:
    py = {"kind": "clone", "schema_ir_hash": schema.ir_hash, "cloned": after.commit_id}
    return Step(branch, before, after, schema.catalog, CommitIdentity(actor_id=actor, py=dict(py)))
