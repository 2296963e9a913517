"""Export: a snapshot as JSON lines that `load` reads back. Nodes before edges, types by name, rows by id.

It streams: a table is sorted outside of memory (`ordered_scan`), blobs are read a few megabytes at a time, and a line
leaves as soon as it is made.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from omnigraph.history.export.json_lines import Dates, LineWriter
from omnigraph.history.export.ordered_scan import RUN_BYTES, scan_by_id
from omnigraph.history.snapshots import Snapshot
from omnigraph.language.schema import Catalog, EdgeType, NodeType, Property
from omnigraph.model.errors import Corrupt, TypeNotFound
from omnigraph.model.identifiers import EntityKind
from omnigraph.storage import MANIFEST, GraphStorage
from omnigraph.storage.blobs import split_by_blob_bytes
from omnigraph.storage.manifest import TablePin
from omnigraph.storage.tables import Table


@dataclass(eq=False)
class UnknownType(TypeNotFound):
    """A name that is neither a node type nor an edge type of the schema."""

    code = "type_not_found"

    nearest: str | None = None

    @property
    def hint(self) -> str | None:
        return f"did you mean '{self.nearest}'?" if self.nearest else "see the types with `omnigraph schema show`"


def export_lines(
    storage: GraphStorage,
    snapshot: Snapshot,
    catalog: Catalog,
    *,
    types: Sequence[str] | None = None,
    kinds: Collection[EntityKind] | None = None,
    dates: Dates = "raw",
    run_bytes: int = RUN_BYTES,
) -> Iterator[bytes]:
    """The lines of a snapshot, each with its line end. A wrong type name is refused here, before the first line."""
    tables = exported_tables(snapshot, catalog, types)
    if kinds is not None:
        tables = [(entity, pin) for entity, pin in tables if entity.kind in kinds]
    return _lines(storage, tables, dates, run_bytes, nothing_is_null=has_foreign_commits(storage, snapshot))


def exported_tables(
    snapshot: Snapshot, catalog: Catalog, types: Sequence[str] | None = None
) -> list[tuple[NodeType | EdgeType, TablePin]]:
    """The tables of an export in its order: nodes before edges, by name. A wrong type name is refused."""
    pins = {pin.table_key: pin for pin in snapshot.tables}
    if undeclared := sorted(str(key) for key in pins if catalog.table(key) is None):
        raise Corrupt(MANIFEST, f"tables without a declared type: {', '.join(undeclared)}")
    chosen = _chosen(catalog, types)
    return [(entity, pins[entity.table_key]) for entity in chosen if entity.table_key in pins]


def has_foreign_commits(storage: GraphStorage, snapshot: Snapshot) -> bool:
    """Whether the Rust releases wrote here: every commit of ours says what it did, theirs say nothing of the kind."""
    commits = storage.manifest.load(snapshot.branch).state.commits
    return not all(commit.py for commit in commits.values())


def _chosen(catalog: Catalog, types: Sequence[str] | None) -> list[NodeType | EdgeType]:
    """Nodes, then edges, each by name. A name selects the node type and the edge type that have it."""
    nodes = sorted(catalog.nodes, key=lambda node: node.name.encode())
    edges = sorted(catalog.edges, key=lambda edge: edge.name.encode())
    entities: list[NodeType | EdgeType] = [*nodes, *edges]
    if not types:
        return entities
    known = {entity.name for entity in entities}
    for name in types:
        if name not in known:
            raise UnknownType(name, nearest=_nearest(name, known))
    return [entity for entity in entities if entity.name in types]


def _nearest(name: str, known: set[str]) -> str | None:
    folded = {other.lower(): other for other in sorted(known)}
    close = difflib.get_close_matches(name.lower(), list(folded), n=1)
    return folded[close[0]] if close else None


def _lines(
    storage: GraphStorage,
    tables: list[tuple[NodeType | EdgeType, TablePin]],
    dates: Dates,
    run_bytes: int,
    *,
    nothing_is_null: bool,
) -> Iterator[bytes]:
    for entity, pin in tables:
        table = storage.tables.open(pin)
        properties = present_properties(entity, table)
        writer = LineWriter(entity, properties, dates, table, nothing_is_null)
        blobs = [prop.name for prop in properties if prop.type.is_blob]
        for batch in scan_by_id(table, exported_columns(entity, properties), run_bytes=run_bytes):
            for part in split_by_blob_bytes(batch, blobs):
                yield from writer.lines(part)


def present_properties(entity: NodeType | EdgeType, table: Table) -> tuple[Property, ...]:
    """What an export writes of a table, in byte order of the names.

    An older snapshot may lack a property that was declared since; it is left out, as it was not there.
    """
    present = set(table.schema.names)
    ordered = sorted(entity.properties, key=lambda prop: prop.name.encode())
    return tuple(prop for prop in ordered if prop.name in present)


def exported_columns(entity: NodeType | EdgeType, properties: Sequence[Property]) -> list[str]:
    """The columns to scan; `_rowid` finds the bytes of blobs."""
    fixed = ["id"] if entity.kind == "node" else ["id", "src", "dst"]
    return [*fixed, *(prop.name for prop in properties), "_rowid"]
