"""The branch of a load: made from its base where it is missing, and taken back with a load that fails.

It is taken back only while it is the very branch that was made, and nobody has committed on it: what others did there
in the meantime is theirs.
"""

from __future__ import annotations

from functools import partial

from omnigraph import history
from omnigraph.model.errors import BranchNotFound, Conflict, OmniGraphError
from omnigraph.model.identifiers import MAIN
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, HeadIs, LoadedManifest
from omnigraph.write.recovery import pending


def exists(storage: GraphStorage, branch: str) -> bool:
    return branch in storage.manifest.branches()


def ensure_branch(storage: GraphStorage, branch: str, base: str | None, *, dry_run: bool) -> HeadIs | None:
    """Makes the branch from its base if it is missing and a base is given; says which one was made, if it was."""
    if branch == MAIN or exists(storage, branch):
        return None
    if base is None:
        raise BranchNotFound(branch, "name a base branch (--from) to create it with the load")
    if dry_run:
        storage.manifest.load(base)
        return None
    return history.create_branch(storage, branch, source=base)


def take_back(storage: GraphStorage, branch: str, made: HeadIs, error: BaseException) -> None:
    """Removes the branch that was made for a load which failed with this error; says so where it has to stay."""
    try:
        history.delete_branch(storage, branch, only_if=partial(_require_unused, storage, made))
    except BranchNotFound:
        return  # somebody else removed it
    except OmniGraphError as reason:
        error.add_note(f"branch '{branch}', which was created for this load, is kept: {reason.sentence()}")


def _require_unused(storage: GraphStorage, made: HeadIs, loaded: LoadedManifest) -> None:
    if any(sidecar.branch_name == loaded.branch for sidecar in pending(storage)):
        raise Conflict("a write to it was interrupted and may still be finished")
    if loaded.identifier != made.identifier:
        raise Conflict("it was deleted and created again meanwhile")
    commit = loaded.state.head
    while commit is not None and (commit.branch or MAIN) == loaded.branch:
        if not _takes_back(commit):
            raise Conflict(f"commit {commit.commit_id} was made on it")
        commit = loaded.state.commits.get(commit.parent_id or "")


def _takes_back(commit: GraphCommit) -> bool:
    """A commit of recovery that undid an interrupted write, for example that of this very load."""
    mark = commit.py.get("recovery")
    return isinstance(mark, dict) and mark.get("kind") == "RolledBack"
