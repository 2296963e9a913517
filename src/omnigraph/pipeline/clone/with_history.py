"""A clone with history: main file by file, and every branch made again at its fork, its commits replayed in order.

The files of a branch name the root that they were written in, so they cannot be copied; what they say can be said
again, with the same ids, times and actors.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.history import Reference, Snapshot, create_branch_from, keep_commit, schema_of, snapshot_at
from omnigraph.model.errors import Conflict, Corrupt, HistoricalVersionReclaimed
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.pipeline.clone.progress import Meter
from omnigraph.pipeline.clone.replay import Replay, Step
from omnigraph.storage import MANIFEST, AcceptedSchema, GraphStorage
from omnigraph.storage.copying import (
    AUDIT,
    SMALL_FOLDERS,
    DatasetFiles,
    copy_files,
    dataset_files,
    newest_version,
    sync_copied,
)
from omnigraph.storage.manifest import BranchRef, CommitIdentity, GraphCommit, LoadedManifest


@dataclass(frozen=True, slots=True)
class BranchHistory:
    """A branch to make again."""

    ref: BranchRef
    loaded: LoadedManifest

    @property
    def own(self) -> list[GraphCommit]:
        """Its commits, oldest first."""
        commits = self.loaded.state.commits.values()
        return sorted((each for each in commits if each.branch == self.ref.name), key=lambda each: each.order)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a clone with history does."""

    main: LoadedManifest
    datasets: tuple[DatasetFiles, ...]
    """Tables first, `__manifest` last."""
    branches: tuple[BranchHistory, ...]
    """Those that others were cut from first."""

    @property
    def reclaimed_versions(self) -> int:
        """How many versions of main's tables history names and are not there any more."""
        there = {each.location: each.versions for each in self.datasets}
        state = self.main.state
        rows = state.published.values()
        return sum(row.table_version not in there.get(state.locations[row.table_key], ()) for row in rows)


def plan_history(source: GraphStorage, only: str | None) -> Plan:
    """Captures what is to be copied; `only` is a branch, with which main and what it stands on come along."""
    branches = _branches(source, only)
    main = source.manifest.load(MAIN)
    _refuse_borrowed(main)
    locations = sorted(set(main.state.locations.values()))
    newest = {key: row.table_version for key, row in main.state.newest.items()}
    by_location = {main.state.locations[key]: version for key, version in newest.items()}
    found = [
        dataset_files(source, location, by_location[location]) for location in locations if location in by_location
    ]
    audit = newest_version(source, AUDIT)
    if audit is not None:
        found.append(dataset_files(source, AUDIT, audit))
    found.append(dataset_files(source, MANIFEST, main.version))
    return Plan(main, tuple(found), branches)


def _refuse_borrowed(main: LoadedManifest) -> None:
    """Another implementation may let main read the lineage of a branch, whose files cannot be copied."""
    borrowed = next((row for row in main.state.published.values() if row.table_branch is not None), None)
    if borrowed is not None:
        raise Conflict(
            f"main reads version {borrowed.table_version} of '{borrowed.table_key}' from branch "
            f"'{borrowed.table_branch}', whose files name their own root",
            "clone it without history",
        )


def _branches(source: GraphStorage, only: str | None) -> tuple[BranchHistory, ...]:
    refs = {ref.name: ref for ref in source.manifest.branch_refs() if ref.name in source.manifest.branches()}
    wanted = set(refs) if only is None else set()
    name = only
    while name is not None and name != MAIN:
        wanted.add(name)
        name = refs[name].parent
    ordered: list[str] = []
    while len(ordered) < len(wanted):
        ready = [each for each in sorted(wanted) if each not in ordered and refs[each].parent in (None, MAIN, *ordered)]
        if not ready:
            raise Corrupt(MANIFEST, f"branches were cut from each other: {', '.join(sorted(wanted - set(ordered)))}")
        ordered += ready
    return tuple(BranchHistory(refs[each], source.manifest.load(each)) for each in ordered)


# --- main -------------------------------------------------------------------------------------------------


def copy_main(source: GraphStorage, target: GraphStorage, plan: Plan, meter: Meter) -> None:
    """Main, its tables and the small objects. The versions of a dataset follow its other files, the newest last."""
    for folder in SMALL_FOLDERS:
        for name in source.objects.list_names(folder):
            found = source.objects.read(f"{folder}/{name}")
            if found is not None:
                target.objects.write_if_absent(f"{folder}/{name}", found.data)
    for dataset in plan.datasets:
        versions = [each for each in dataset.files if each[0].startswith("_versions/")]
        others = dataset.files[: len(dataset.files) - len(versions)]
        for part in (others, versions[:-1], versions[-1:]):
            copy_files(source, target, dataset.location, part, lambda size: meter.add(tasks=1, copied=size))
        sync_copied(target, dataset.location, dataset.files)


# --- branches ---------------------------------------------------------------------------------------------


def replay_branches(
    source: GraphStorage, target: GraphStorage, plan: Plan, live: AcceptedSchema, meter: Meter
) -> list[str]:
    """Every branch with its commits. Says which commits could not be made again: their rows were reclaimed."""
    replay, lost = Replay(source, target, shares_main=True, counted=lambda rows: meter.add(rows=rows)), []
    for branch in plan.branches:
        own = branch.own
        begin = _fork(source, branch, own)
        create_branch_from(target, branch.ref.name, Reference("commit", begin.commit_id, _in_target(target, begin)))
        before = snapshot_at(source, begin)
        for commit in own:
            try:
                after = _readable(source, commit)
            except HistoricalVersionReclaimed:
                keep_commit(target, commit)  # merges may name it
                lost.append(commit.commit_id)
            else:
                replay.run(_step(source, branch.ref.name, before, after, commit, live))
                before = after
            meter.add(tasks=1)
    return lost


def _fork(source: GraphStorage, branch: BranchHistory, own: Sequence[GraphCommit]) -> GraphCommit:
    """The commit that the branch was cut at: the newest that it has and did not make."""
    inherited = [each for each in branch.loaded.state.commits.values() if each.branch != branch.ref.name]
    found = max(inherited, key=lambda each: each.order, default=None)
    if own and own[0].parent_id is not None:
        found = branch.loaded.state.commits.get(own[0].parent_id, found)
    if found is None:
        raise Corrupt(MANIFEST, f"branch '{branch.ref.name}' was cut from nothing")
    return found


def _in_target(target: GraphStorage, commit: GraphCommit) -> GraphCommit:
    """The same commit in the target: on a branch it may have another version there."""
    found = target.manifest.load(commit.branch or MAIN).state.commits.get(commit.commit_id)
    if found is None:
        raise HistoricalVersionReclaimed(f"commit {commit.commit_id}", commit.version)
    return found


def _readable(source: GraphStorage, commit: GraphCommit) -> Snapshot:
    found = snapshot_at(source, commit)
    for pin in found.tables:
        source.tables.require_there(pin)
    return found


def _step(
    source: GraphStorage, branch: str, before: Snapshot, after: Snapshot, commit: GraphCommit, live: AcceptedSchema
) -> Step:
    identity = CommitIdentity(
        commit_id=commit.commit_id,
        created_at=commit.created_at,
        actor_id=commit.actor_id,
        merged_parent_id=commit.merged_parent_id,
        py=dict(commit.py),
    )
    return Step(branch, before, after, schema_of(source, after, live).catalog, identity)
