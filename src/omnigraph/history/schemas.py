"""The schema of a commit: what its rows were written under. A branch has the schema of its head.

A commit of ours carries the hash of its schema, and every accepted schema is kept by its hash. A commit of another
program carries none: then it is the first of the schemas that are known whose columns the commit's tables have, or
today's without what those tables do not have.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

from omnigraph.history.snapshots import Snapshot, current_snapshot
from omnigraph.language.schema import Catalog, EdgeType, NodeType, stored_renames
from omnigraph.model.errors import BranchNotFound
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage, archived
from omnigraph.storage.manifest import GraphCommit, ManifestState, TablePin
from omnigraph.storage.tables import table_schema

HASH, BEFORE = "schema_ir_hash", "schema_before"
"""Members of a commit's `py`: the schema of its rows, and for a schema change the one before it."""
KEPT_MAX = 64

K = TypeVar("K")
T = TypeVar("T", NodeType, EdgeType)
_lock = threading.Lock()
_by_hash: OrderedDict[tuple[str, str], AcceptedSchema] = OrderedDict()
_cut: OrderedDict[tuple[str, str | None, str], AcceptedSchema] = OrderedDict()


def schema_of(
    storage: GraphStorage, snapshot: Snapshot, live: AcceptedSchema, *, is_head: bool = False
) -> AcceptedSchema:
    """The schema that the rows of a snapshot follow. `live` is the accepted one, which the head of main has if it does
    not say otherwise; `is_head` says that the snapshot is the newest of its branch."""
    commit = snapshot.commit
    recorded = None if commit is None else commit.py.get(HASH)
    if recorded == live.ir_hash or (recorded is None and is_head and snapshot.branch == MAIN):
        return live
    if isinstance(recorded, str):
        known = _known(storage, recorded)
        if known is not None:
            return known
    return _by_columns(storage, snapshot, live)


def schema_on(storage: GraphStorage, branch: str, live: AcceptedSchema) -> AcceptedSchema:
    """The schema of a branch; today's for main, and for a branch that is not there yet."""
    if branch == MAIN:
        return live
    try:
        return schema_of(storage, current_snapshot(storage, branch), live, is_head=True)
    except BranchNotFound:
        return live


def schema_by_hash(storage: GraphStorage, ir_hash: str, live: AcceptedSchema) -> AcceptedSchema | None:
    """A schema that was accepted once; None when no copy was kept."""
    return live if ir_hash == live.ir_hash else _known(storage, ir_hash)


def schema_changes(state: ManifestState) -> list[GraphCommit]:
    """The commits of main that a branch can see and that have another schema than the one before, oldest first."""
    ours = sorted((each for each in state.commits.values() if each.branch is None), key=lambda each: each.order)
    changed: list[GraphCommit] = []
    for commit in ours:
        recorded = commit.py.get(HASH)
        if isinstance(recorded, str) and (not changed or changed[-1].py.get(HASH) != recorded):
            changed.append(commit)
    return changed


@dataclass(frozen=True, slots=True)
class Continued:
    """What became of the declarations of an earlier schema in a later one, over every schema in between."""

    types: Mapping[TableKey, TableKey]
    """By type of the later schema the one that it continues."""
    properties: Mapping[tuple[TableKey, str], str]
    """By type and property of the later schema the property that it continues."""


def continued(storage: GraphStorage, earlier: AcceptedSchema, later: AcceptedSchema) -> Continued:
    """Along the rename hints that accepted schemas keep."""
    path = [earlier, *_between(storage, earlier, later), later]
    types = {entity.table_key: entity.table_key for entity in earlier.catalog.entities}
    properties = {
        (entity.table_key, prop.name): prop.name for entity in earlier.catalog.entities for prop in entity.properties
    }
    for before, after in pairwise(path):
        found = stored_renames(before.ir, after.ir)
        own = {e.table_key: TableKey(e.kind, found.types.get((e.kind, e.name), "")) for e in after.catalog.entities}
        moved = {
            (key, new): properties[own[key], old]
            for (kind, name, new), old in found.properties.items()
            if kind != "interface" and (key := TableKey(kind, name)) in own and (own[key], old) in properties
        }
        types = {key: types[was] for key, was in own.items() if was in types}
        properties = moved
    return Continued(types, properties)


def earlier_names(storage: GraphStorage, schema: AcceptedSchema, key: TableKey) -> list[TableKey]:
    """The names that a type of this schema had before, latest first."""
    order = [str(commit.py.get(HASH)) for commit in schema_changes(storage.manifest.load(MAIN).state)]
    known = [each for each in (_known(storage, ir_hash) for ir_hash in order) if each is not None]
    names: list[TableKey] = []
    for before, after in reversed(list(pairwise([*known, schema]))):
        old = stored_renames(before.ir, after.ir).types.get((key.kind, key.type_name))
        if old is None:
            break
        if old != key.type_name:
            key = TableKey(key.kind, old)
            names.append(key)
    return names


def is_later(storage: GraphStorage, one: AcceptedSchema, other: AcceptedSchema) -> bool:
    """Whether main had the first schema after the second. Schemas change on main alone, so two are always ordered."""
    order = [commit.py.get(HASH) for commit in schema_changes(storage.manifest.load(MAIN).state)]
    places = {ir_hash: place for place, ir_hash in enumerate(order)}  # one that came again counts as its last time
    return places.get(one.ir_hash, -1) > places.get(other.ir_hash, -1)


def _between(storage: GraphStorage, earlier: AcceptedSchema, later: AcceptedSchema) -> list[AcceptedSchema]:
    order = [str(commit.py.get(HASH)) for commit in schema_changes(storage.manifest.load(MAIN).state)]
    places = {ir_hash: place for place, ir_hash in enumerate(order)}
    if earlier.ir_hash not in places or later.ir_hash not in places:
        return []
    known = (_known(storage, each) for each in order[places[earlier.ir_hash] + 1 : places[later.ir_hash]])
    return [each for each in known if each is not None]


def _known(storage: GraphStorage, ir_hash: str) -> AcceptedSchema | None:
    """Kept: what has this hash never changes, and queries are compiled once for each catalog."""
    key = (storage.root.uri, ir_hash)
    with _lock:
        known = _by_hash.get(key)
        if known is not None:
            _by_hash.move_to_end(key)
            return known
    found = archived(storage.objects, ir_hash)
    if found is not None:
        _keep(_by_hash, key, found)
    return found


def _keep(kept: OrderedDict[K, AcceptedSchema], key: K, schema: AcceptedSchema) -> None:
    with _lock:
        kept[key] = schema
        if len(kept) > KEPT_MAX:
            kept.popitem(last=False)


# --- commits that do not say -------------------------------------------------------------------------------


def _by_columns(storage: GraphStorage, snapshot: Snapshot, live: AcceptedSchema) -> AcceptedSchema:
    key = (storage.root.uri, snapshot.commit_id, live.ir_hash)
    with _lock:
        known = _cut.get(key)
    if known is None:
        known = next((each for each in _candidates(storage, live) if _fits(storage, snapshot, each)), None)
        if known is None:
            known = replace(live, catalog=_without_absent(storage, snapshot, live.catalog))
        _keep(_cut, key, known)
    return known


def _candidates(storage: GraphStorage, live: AcceptedSchema) -> Iterator[AcceptedSchema]:
    yield live
    for commit in reversed(schema_changes(storage.manifest.load(MAIN).state)):
        for member in (HASH, BEFORE):
            recorded = commit.py.get(member)
            found = _known(storage, recorded) if isinstance(recorded, str) else None
            if found is not None:
                yield found


def _fits(storage: GraphStorage, snapshot: Snapshot, schema: AcceptedSchema) -> bool:
    """Whether the tables of a snapshot are those that a schema declares, column by column."""
    pins = {pin.table_key: pin for pin in snapshot.tables}
    entities = {entity.table_key: entity for entity in schema.catalog.entities}
    return pins.keys() == entities.keys() and all(
        _columns(storage, pins[key]) == table_schema(entity).names for key, entity in entities.items()
    )


def _columns(storage: GraphStorage, pin: TablePin) -> list[str]:
    return list(storage.tables.open(pin).schema.names)


def _without_absent(storage: GraphStorage, snapshot: Snapshot, catalog: Catalog) -> Catalog:
    """The types that have a table, with the properties that it has."""
    pins = {pin.table_key: pin for pin in snapshot.tables}
    nodes = [_cut_type(storage, node, pins[node.table_key]) for node in catalog.nodes if node.table_key in pins]
    names = {node.name for node in nodes}
    edges = [
        _cut_type(storage, edge, pins[edge.table_key])
        for edge in catalog.edges
        if edge.table_key in pins and {edge.from_type, edge.to_type} <= names
    ]
    return Catalog(nodes=tuple(nodes), edges=tuple(edges), interfaces=catalog.interfaces)


def _cut_type(storage: GraphStorage, entity: T, pin: TablePin) -> T:
    columns = set(_columns(storage, pin))
    kept = tuple(prop for prop in entity.properties if prop.name in columns)
    if len(kept) == len(entity.properties):
        return entity
    whole: dict[str, Any] = {
        "properties": kept,
        "unique": tuple(group for group in entity.unique if columns.issuperset(group)),
        "indices": tuple(group for group in entity.indices if columns.issuperset(group)),
    }
    if isinstance(entity, NodeType):
        whole["ranges"] = tuple(rule for rule in entity.ranges if rule.property in columns)
        whole["checks"] = tuple(rule for rule in entity.checks if rule.property in columns)
    return replace(entity, **whole)
