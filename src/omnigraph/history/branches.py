"""Branches of the graph: create, list, delete. A branch is a Lance branch of `__manifest`; no table is touched.

Both operations hold the lease of the graph and of the branch that comes or goes. The ref object is the authority: a
branch exists from the moment its ref does, and is gone from the moment it is not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from omnigraph.history.commits import require_kept, snapshot_at
from omnigraph.history.kept_commits import keep_commits
from omnigraph.history.names import check_new_branch
from omnigraph.history.references import Reference
from omnigraph.history.tags import TagExists, find_tag, tag_list
from omnigraph.model.errors import (
    BadRequest,
    BranchExists,
    BranchHasDependants,
    BranchNotFound,
    Conflict,
    Json,
    LeaseLost,
    OmniGraphError,
    OutcomeUnknown,
    SchemaApplyInProgress,
    sentence_of,
)
from omnigraph.model.identifiers import MAIN, SCHEMA_APPLY_LOCK, normalize_branch, overlapping
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import MANIFEST, GraphStorage, Point, reach
from omnigraph.storage.leases import HeldLeases
from omnigraph.storage.manifest import BranchIdentifier, GraphCommit, HeadIs, LoadedManifest

_log = logging.getLogger("omnigraph.history")


def branch_list(storage: GraphStorage) -> list[str]:
    """Every branch, main included, sorted. One listing: no ref is read."""
    return sorted([MAIN, *(name for name in storage.lineages.names(MANIFEST) if name != SCHEMA_APPLY_LOCK)])


@dataclass(eq=False)
class BranchIsTagged(Conflict):
    """A branch whose commits have tags. They would be gone with it."""

    branch: str
    tags: tuple[str, ...]

    def sentence(self) -> str:
        word = "tag" if len(self.tags) == 1 else "tags"
        return f"branch '{self.branch}' has commits with {word} {', '.join(self.tags)}"

    @property
    def hint(self) -> str | None:
        return "delete the tags first, or move them to commits of another branch"

    def details(self) -> dict[str, Json]:
        return {"branch": self.branch, "tags": list(self.tags)}


def create_branch(storage: GraphStorage, name: str, *, source: str = MAIN) -> HeadIs:
    """Makes a branch at the head of `source`; says which one it is. Costs the same whatever the size of the graph."""
    source = normalize_branch(source)
    return _create(storage, name, source, lambda: storage.manifest.load(source))


def create_branch_from(storage: GraphStorage, name: str, reference: Reference) -> HeadIs:
    """Makes a branch at the head of a branch, or at an earlier commit, whatever the reference names."""
    if reference.kind == "branch":
        return create_branch(storage, name, source=reference.name)
    source = reference.commit.branch or MAIN

    def at_commit() -> LoadedManifest:
        return storage.manifest.load_at(source, snapshot_at(storage, reference.commit).version)

    return _create(storage, name, source, at_commit, is_past=True)


def _create(
    storage: GraphStorage, name: str, source: str, read_base: Callable[[], LoadedManifest], *, is_past: bool = False
) -> HeadIs:
    """Cuts a branch from a version of its source. That may be written meanwhile; it cannot be deleted.

    What an earlier commit showed may be about to be removed: that is looked at once the branch has its name.
    """
    storage.require_writable()
    name = check_new_branch(name)
    with storage.leases.hold(name, graph=True) as held:
        _refuse_taken(storage, name)
        base = read_base()
        storage.manifest.forget(name)
        held.check()
        if is_past:
            require_kept(storage, base.state.pins())
        try:
            lineage = None if source == MAIN else source
            storage.lineages.create(MANIFEST, name, lineage, base.version, held.check, base)
            reach(Point.BRANCH_CREATED)
            if is_past:
                require_kept(storage, base.state.pins())
            identifier = storage.manifest.identifier(name)
        except (BranchExists, LeaseLost):
            raise  # it is not ours
        except OmniGraphError as error:
            _take_back(storage, name, held, error)
            raise
        own = base.state.heads.get(name)
        return HeadIs(identifier, own.head_commit_id if own is not None else None)


def _take_back(storage: GraphStorage, name: str, held: HeldLeases, error: OmniGraphError) -> None:
    """A branch whose making failed is not there. If it cannot be removed either, its maker hears that it may be."""
    try:
        held.check()
        storage.lineages.delete(MANIFEST, name)
    except OmniGraphError as failed:
        reason = f"{sentence_of(error)}; {sentence_of(failed)}"
        raise OutcomeUnknown(f"the creation of branch '{name}'", reason) from error


def delete_branch(
    storage: GraphStorage, name: str, *, only_if: Callable[[LoadedManifest], None] = lambda _: None
) -> None:
    """Removes a branch and the forks that only it used. Its own commits are kept for later merges.

    `only_if` is shown the branch while nobody else can write it, and raises when it is to stay.
    """
    storage.require_writable()
    name = normalize_branch(name)
    if name == MAIN:
        raise BadRequest("cannot delete branch 'main'", "main is the base lineage of the graph")
    with storage.leases.hold(name, graph=True) as held:
        _refuse_schema_apply(storage.lineages.names(MANIFEST))
        if storage.lineages.remove_husk(MANIFEST, name):
            storage.manifest.forget(name)
            return
        loaded = storage.manifest.load(name)
        only_if(loaded)
        _refuse_tagged(storage, loaded)
        locations = set(loaded.state.locations.values())
        forked = sorted(location for location in locations if storage.lineages.exists(location, name))
        _refuse_dependants(storage, loaded, forked=bool(forked))
        held.check()
        keep_commits(storage, loaded)  # a merge elsewhere may name one of them
        if not storage.lineages.delete(MANIFEST, name):
            raise BranchNotFound(name)
        storage.manifest.forget(name)
        reach(Point.BRANCH_DELETED)
        for location in forked:
            _delete_fork(storage, location, name, held)


def _refuse_taken(storage: GraphStorage, name: str) -> None:
    """A new name is apart from the paths of all branches, and is not that of a tag."""
    live = storage.lineages.names(MANIFEST)
    _refuse_schema_apply(live)
    if name in live and storage.lineages.remove_husk(MANIFEST, name):
        live.remove(name)
    other = overlapping(name, live)
    if other is not None:
        raise BranchExists(name, other)
    tag = find_tag(storage, name)
    if tag is not None:
        raise TagExists(name, tag.commit_id, "choose another name for the branch")


def _refuse_tagged(storage: GraphStorage, loaded: LoadedManifest) -> None:
    own = {commit_id for commit_id, commit in loaded.state.commits.items() if commit.branch == loaded.branch}
    tagged = tuple(tag.name for tag in tag_list(storage) if tag.commit_id in own) if own else ()
    if tagged:
        raise BranchIsTagged(loaded.branch, tagged)


def _refuse_schema_apply(live: list[str]) -> None:
    if SCHEMA_APPLY_LOCK in live:
        raise SchemaApplyInProgress("branch control is unavailable while schema apply is in progress")


def _refuse_dependants(storage: GraphStorage, loaded: LoadedManifest, *, forked: bool) -> None:
    """A branch lives as long as another one descends from it: that one reads its commits, and may read its forks."""
    name, own = loaded.branch, loaded.identifier
    refs = storage.manifest.branch_refs()
    dependants = {ref.name for ref in refs if ref.parent == name or _descends(ref.identifier, own)}
    if forked and any(not commit.py for commit in (*loaded.state.commits.values(), *_commits_of_main(storage))):
        # Another implementation wrote here: it is not known to us by what ways its branches come to read a fork.
        for other in storage.manifest.branches():
            pins = storage.manifest.load(other).state.pins() if other != name else ()
            if any(pin.lineage == name for pin in pins):
                dependants.add(other)
    if dependants:
        raise BranchHasDependants(name, tuple(sorted(dependants)))


def _descends(identifier: BranchIdentifier, from_one: BranchIdentifier) -> bool:
    return len(identifier) > len(from_one) and identifier[: len(from_one)] == from_one


def _commits_of_main(storage: GraphStorage) -> Iterable[GraphCommit]:
    return storage.manifest.load(MAIN).state.commits.values()


def _delete_fork(storage: GraphStorage, location: str, name: str, held: HeldLeases) -> None:
    """Best effort: the branch is already gone, and a fork that nobody names is an orphan that the next one of its name
    removes. Whoever lost the lease stops here: the name may belong to another branch by now."""
    try:
        reach(Point.BRANCH_FORKS_DELETING)
        held.check()
        storage.lineages.delete(location, name)
    except OmniGraphError as error:
        _log.warning("fork '%s' of %s stays behind: %s", name, location, error)
