"""Sidecars: what a write means to do to its tables, written down before it does it, so that any death can be resolved.

One JSON object `__recovery/<operation id>.json` per write that has effects. The plain members are those of storage
format 4, which every implementation reads. The object `py` adds what makes recovery exact: the planned transaction of
each table, the commit as it was minted, and the head that it may be published on. Unknown members are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from omnigraph.model.errors import Json, RecoveryRequired
from omnigraph.model.identifiers import MAIN
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import RECOVERY, Point, reach
from omnigraph.storage.manifest import CommitIdentity, HeadIs
from omnigraph.storage.objects import ObjectStore

SIDECAR_VERSION = 2
"""The newest form that we read, and the one that we write."""
WRITER_KINDS = ("Mutation", "Load", "BranchMerge", "SchemaApply", "EnsureIndices", "Optimize")


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarPin:
    """One table that the write will move: from which version, on which lineage, to what."""

    table_key: str
    table_path: str  # the absolute address of the base dataset
    expected_version: int  # published when the writer started
    post_commit_pin: int  # where it will be; exact for writers of one commit per table, else a lower bound
    confirmed_version: int | None = None  # where it really came to be, once all tables of a merge are done
    table_branch: str | None = None  # the lineage; None is the base lineage
    transaction_id: str | None = None  # the planned transaction: proof that a commit is the writer's own
    extra: Mapping[str, Json] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarRegistration:
    """A table that a schema apply adds."""

    table_key: str
    table_path: str  # relative to the root
    table_branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarTombstone:
    """A table that a schema apply hides."""

    table_key: str
    tombstone_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """The intent of one write."""

    operation_id: str
    started_at: int  # microseconds since the epoch
    branch: str | None  # the graph branch that will be published; None is main
    actor_id: str | None
    writer_kind: str
    tables: tuple[SidecarPin, ...] = ()
    merge_source_commit_id: str | None = None
    registrations: tuple[SidecarRegistration, ...] = ()
    tombstones: tuple[SidecarTombstone, ...] = ()
    identity: CommitIdentity | None = None
    head: HeadIs | None = None
    schema_version: int = SIDECAR_VERSION
    extra: Mapping[str, Json] = field(default_factory=dict, hash=False)

    @property
    def branch_name(self) -> str:
        return MAIN if self.branch is None else self.branch

    @property
    def is_schema_apply(self) -> bool:
        return self.writer_kind == "SchemaApply"


@dataclass(eq=False)
class SidecarUnreadable(RecoveryRequired):
    """A sidecar that this release cannot read. It stays where it is: only its reader knows what it protects."""

    def sentence(self) -> str:
        return f"recovery file '{sidecar_path(self.operation_id)}' cannot be used: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "open the graph with the release that wrote the file, or read-only; do not delete it"


def sidecar_path(operation_id: str) -> str:
    return f"{RECOVERY}/{operation_id}.json"


# --- the store --------------------------------------------------------------------------------------------


def write_sidecar(objects: ObjectStore, sidecar: Sidecar) -> None:
    """Makes the intent durable; a second write of the same operation replaces the first."""
    reach(Point.SIDECAR_WRITE)
    objects.write(sidecar_path(sidecar.operation_id), encode(sidecar))


def delete_sidecar(objects: ObjectStore, operation_id: str, *, lasting: bool = True) -> None:
    """The write is resolved. Deleting a file that is gone succeeds.

    The sidecar of a write that is visible need not be gone for good: if it comes back, it is recognised as done.
    """
    reach(Point.SIDECAR_DELETE)
    objects.delete(sidecar_path(operation_id), lasting=lasting)


def read_sidecar(objects: ObjectStore, operation_id: str) -> Sidecar | None:
    """The sidecar as it is now; None when its writer, or another recovery, has finished it."""
    found = objects.read(sidecar_path(operation_id))
    return None if found is None else decode(operation_id, found.data)


def list_sidecars(objects: ObjectStore) -> list[Sidecar]:
    """Every pending intent, oldest first: operation ids are ULIDs, so the order of names is the order of time."""
    reach(Point.SIDECAR_LIST)
    stems = [name.removesuffix(".json") for name in objects.list_names(RECOVERY) if name.endswith(".json")]
    read = (read_sidecar(objects, stem) for stem in sorted(stems))
    return [sidecar for sidecar in read if sidecar is not None]  # None: finished between the list and the read


# --- encoding ---------------------------------------------------------------------------------------------


def encode(sidecar: Sidecar) -> bytes:
    """Pretty JSON in the members' customary order; optional members are left out when there is nothing to say."""
    members: dict[str, Json] = {
        "schema_version": sidecar.schema_version,
        "operation_id": sidecar.operation_id,
        "started_at": str(sidecar.started_at),
        "branch": sidecar.branch,
        "actor_id": sidecar.actor_id,
        "writer_kind": sidecar.writer_kind,
        "tables": [_pin_members(pin) for pin in sidecar.tables],
    }
    optional: dict[str, Json] = {
        "merge_source_commit_id": sidecar.merge_source_commit_id,
        "additional_registrations": [
            _present(table_key=one.table_key, table_path=one.table_path, table_branch=one.table_branch)
            for one in sidecar.registrations
        ],
        "tombstones": [
            {"table_key": one.table_key, "tombstone_version": one.tombstone_version} for one in sidecar.tombstones
        ],
        "py": _own_members(sidecar.extra) | _exact_members(sidecar),
    }
    members |= {name: value for name, value in optional.items() if value}
    members |= {name: value for name, value in sidecar.extra.items() if name != "py"}
    return json.dumps(members, indent=2, ensure_ascii=False).encode()


def _pin_members(pin: SidecarPin) -> dict[str, Json]:
    members = _present(
        table_key=pin.table_key,
        table_path=pin.table_path,
        expected_version=pin.expected_version,
        post_commit_pin=pin.post_commit_pin,
        confirmed_version=pin.confirmed_version,
        table_branch=pin.table_branch,
    )
    own = _own_members(pin.extra) | _present(transaction_id=pin.transaction_id)
    members |= {"py": own} if own else {}
    return members | {name: value for name, value in pin.extra.items() if name != "py"}


def _exact_members(sidecar: Sidecar) -> dict[str, Json]:
    members: dict[str, Json] = {}
    if sidecar.identity is not None:
        born = sidecar.identity
        members["lineage"] = _present(
            graph_commit_id=born.commit_id,
            created_at=born.created_at,
            actor_id=born.actor_id,
            merged_parent_commit_id=born.merged_parent_id,
            py=dict(born.py) or None,
        )
    if sidecar.head is not None:
        identifier: Json = [[version, uuid] for version, uuid in sidecar.head.identifier]
        members["head"] = {"branch_identifier": identifier, "head_commit_id": sidecar.head.head_commit_id}
    return members


def _own_members(extra: Mapping[str, Json]) -> dict[str, Json]:
    """Members of `py` that this release does not know."""
    kept = extra.get("py")
    return dict(kept) if isinstance(kept, dict) else {}


def _present(**members: Json) -> dict[str, Json]:
    return {name: value for name, value in members.items() if value is not None}


# --- decoding ---------------------------------------------------------------------------------------------

_ENVELOPE = {
    *("schema_version", "operation_id", "started_at", "branch", "actor_id", "writer_kind", "tables"),
    *("merge_source_commit_id", "additional_registrations", "tombstones"),
}
_PIN = {"table_key", "table_path", "expected_version", "post_commit_pin", "confirmed_version", "table_branch"}


def decode(operation_id: str, data: bytes) -> Sidecar:
    """The sidecar in these bytes, or a SidecarUnreadable that says why not."""
    try:
        members = json.loads(data)
    except ValueError as error:
        raise SidecarUnreadable(operation_id, f"it is not JSON ({error})") from error
    if not isinstance(members, dict) or not isinstance(members.get("schema_version"), int):
        raise SidecarUnreadable(operation_id, "it has no schema_version")
    if members["schema_version"] > SIDECAR_VERSION:
        reason = f"it has schema_version {members['schema_version']}, this release reads up to {SIDECAR_VERSION}"
        raise SidecarUnreadable(operation_id, reason)
    try:
        sidecar = _sidecar_of(members)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SidecarUnreadable(operation_id, f"a member is missing or wrong: {error}") from error
    if sidecar.operation_id != operation_id:
        raise SidecarUnreadable(operation_id, f"it is the intent of operation {sidecar.operation_id!r}")
    if sidecar.writer_kind not in WRITER_KINDS:
        raise SidecarUnreadable(operation_id, f"its writer kind {sidecar.writer_kind!r} is unknown")
    return sidecar


def _sidecar_of(members: dict[str, Any]) -> Sidecar:
    own: dict[str, Any] = dict(members.get("py") or {})
    identity, head = own.pop("lineage", None), own.pop("head", None)
    branch = members["branch"]
    return Sidecar(
        schema_version=int(members["schema_version"]),
        operation_id=str(members["operation_id"]),
        started_at=int(members["started_at"]),
        branch=None if branch in (None, MAIN) else str(branch),
        actor_id=_text(members["actor_id"]),
        writer_kind=str(members["writer_kind"]),
        tables=tuple(_pin_of(pin) for pin in members["tables"]),
        merge_source_commit_id=_text(members.get("merge_source_commit_id")),
        registrations=tuple(_registration_of(one) for one in members.get("additional_registrations", ())),
        tombstones=tuple(
            SidecarTombstone(table_key=str(one["table_key"]), tombstone_version=int(one["tombstone_version"]))
            for one in members.get("tombstones", ())
        ),
        identity=None if identity is None else _identity_of(identity),
        head=None if head is None else _head_of(head),
        extra=_unknown(members, _ENVELOPE, own),
    )


def _pin_of(members: dict[str, Any]) -> SidecarPin:
    own: dict[str, Any] = dict(members.get("py") or {})
    confirmed = members.get("confirmed_version")
    return SidecarPin(
        table_key=str(members["table_key"]),
        table_path=str(members["table_path"]),
        expected_version=int(members["expected_version"]),
        post_commit_pin=int(members["post_commit_pin"]),
        confirmed_version=None if confirmed is None else int(confirmed),
        table_branch=_text(members.get("table_branch")),
        transaction_id=_text(own.pop("transaction_id", None)),
        extra=_unknown(members, _PIN, own),
    )


def _registration_of(members: dict[str, Any]) -> SidecarRegistration:
    return SidecarRegistration(
        table_key=str(members["table_key"]),
        table_path=str(members["table_path"]),
        table_branch=_text(members.get("table_branch")),
    )


def _identity_of(members: dict[str, Any]) -> CommitIdentity:
    return CommitIdentity(
        commit_id=str(members["graph_commit_id"]),
        created_at=int(members["created_at"]),
        actor_id=_text(members.get("actor_id")),
        merged_parent_id=_text(members.get("merged_parent_commit_id")),
        py=dict(members.get("py") or {}),
    )


def _head_of(members: dict[str, Any]) -> HeadIs:
    identifier = tuple((int(version), str(uuid)) for version, uuid in members["branch_identifier"])
    return HeadIs(identifier, _text(members["head_commit_id"]))


def _unknown(members: dict[str, Any], known: set[str], own: dict[str, Any]) -> dict[str, Json]:
    rest = {name: value for name, value in members.items() if name not in known and name != "py"}
    return rest | ({"py": own} if own else {})


def _text(value: object) -> str | None:
    return None if value is None else str(value)
