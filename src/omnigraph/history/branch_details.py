"""Details of branches: head, ages, and how far each is ahead of main and behind it.

The names alone (`branch_list`) come from the refs. Details load every branch, which costs a few milliseconds each.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.history.branches import branch_list
from omnigraph.history.known_commits import KnownCommits
from omnigraph.model.errors import BranchNotFound, Json
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import format_datetime
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit, LoadedManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDetails:
    """A branch and where it stands."""

    name: str
    head: GraphCommit | None
    created_at: int
    """Microseconds since the epoch: when the branch was made. Refs count seconds."""
    updated_at: int
    """When it was last written; when it was made, if nobody wrote it yet."""
    source: str | None
    """The branch that it was made from; None for main."""
    ahead: int
    """How many commits it has that main lacks."""
    behind: int
    """How many commits main has that it lacks."""

    @property
    def commit_id(self) -> str | None:
        return self.head.commit_id if self.head is not None else None

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "head": self.commit_id,
            "created_at": format_datetime(self.created_at // 1000),
            "updated_at": format_datetime(self.updated_at // 1000),
            "source": self.source,
            "ahead": self.ahead,
            "behind": self.behind,
        }


def details_of_branches(storage: GraphStorage, names: Sequence[str] | None = None) -> list[BranchDetails]:
    """The details of these branches, or of all, sorted by name. One that is deleted meanwhile is left out."""
    wanted = branch_list(storage) if names is None else sorted(names)
    loaded = [each for each in (_load(storage, name, required=names is not None) for name in wanted) if each]
    main = next((each for each in loaded if each.branch == MAIN), None) or storage.manifest.load(MAIN)
    known = KnownCommits(storage, [main, *loaded])
    found = (_details(storage, known, main, each) for each in loaded)
    return [each for each in found if each is not None]


def _load(storage: GraphStorage, name: str, *, required: bool) -> LoadedManifest | None:
    try:
        return storage.manifest.load(name)
    except BranchNotFound:
        if required:
            raise
        return None


def _details(
    storage: GraphStorage, known: KnownCommits, main: LoadedManifest, loaded: LoadedManifest
) -> BranchDetails | None:
    head = loaded.state.head
    origin = _origin(storage, main, loaded)
    if origin is None:
        return None
    created_at, source = origin
    ahead, behind = 0, 0
    if head is not None and main.state.head is not None:
        apart = known.graph.ahead_behind(head.commit_id, main.state.head.commit_id)
        ahead, behind = apart.ahead, apart.behind
    is_own = head is not None and (head.branch or MAIN) == loaded.branch
    return BranchDetails(
        name=loaded.branch,
        head=head,
        created_at=created_at,
        updated_at=head.created_at if head is not None and is_own else created_at,
        source=source,
        ahead=ahead,
        behind=behind,
    )


def _origin(storage: GraphStorage, main: LoadedManifest, loaded: LoadedManifest) -> tuple[int, str | None] | None:
    """When a branch was made, and from which one. The graph's first commit made main."""
    if loaded.branch == MAIN:
        genesis = main.state.commits.get(storage.manifest.genesis)
        return (0 if genesis is None else genesis.created_at), None
    try:
        ref = storage.manifest.ref(loaded.branch)
    except BranchNotFound:
        return None
    return ref.created_at * 1_000_000, ref.parent or MAIN
