"""What a write asks for, what it was prepared against, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from omnigraph.history import schema_of, snapshot_of
from omnigraph.model.errors import Json
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.manifest import Change, GraphCommit, HeadIs, LoadedManifest, TablePin, head_of
from omnigraph.write.changes import ChangeSet


@dataclass(frozen=True, slots=True)
class WriteBase:
    """What a write was prepared against. Any commit on the branch makes it stale."""

    branch: str
    loaded: LoadedManifest
    schema: AcceptedSchema

    @property
    def head(self) -> HeadIs:
        return head_of(self.loaded)

    def pins(self) -> dict[TableKey, TablePin]:
        return {pin.table_key: pin for pin in self.loaded.state.pins()}


def write_base(storage: GraphStorage, branch: str, live: Callable[[], AcceptedSchema]) -> WriteBase:
    """The newest commit of a branch, with the schema that its rows follow; `live` gives the accepted one."""
    loaded = storage.manifest.load(branch)
    return WriteBase(branch, loaded, schema_of(storage, snapshot_of(loaded), live(), is_head=True))


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a write will do: its changes, and what it counts for the caller."""

    changes: ChangeSet
    counts: Mapping[str, Json] = field(default_factory=dict)
    """Kept with an idempotency key, so that a repeat is told the same."""
    schema: AcceptedSchema | None = None
    """What the rows follow afterwards, if that is another schema than before."""
    adopted: tuple[Change, ...] = ()
    """Rows of the manifest besides those of the tables that move. A write with such rows is never finished by another:
    until it is published, a death takes it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """One write, of whatever surface."""

    branch: str
    kind: str  # mutation, load, …: what `py.kind` of the commit says
    writer_kind: str  # the sidecar's name for it
    prepare: Callable[[WriteBase], Prepared]
    """Reads the base and says what to change. Called again for each attempt; changes nothing itself."""
    actor_id: str | None = None
    message: str | None = None
    if_commit: str | None = None
    idempotency_key: str | None = None
    request_digest: str | None = None
    merged_parent_id: str | None = None
    prepares_again: bool = False
    brief: bool = False  # small enough to be prepared while others wait for the branch
    recheck: Callable[[WriteBase, ChangeSet], None] | None = None
    """For work that only adds: refuses changes that do not stand against another commit than they were made for."""
    publishes_empty: bool = False
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write returns: the commit that it published, or None when it changed nothing and had no key to keep."""

    commit: GraphCommit | None
    counts: Mapping[str, Json] = field(default_factory=dict)
    """Of this write, or of the one that a repeat stands for."""
    replayed: bool = False
    """True when an earlier write with the same idempotency key had already done it."""
