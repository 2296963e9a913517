"""`verify`: a read-only check of a whole graph, from the version stamp to the last row. It changes no byte.

It takes one look at each branch's newest manifest; writes that land meanwhile do not disturb it. Memory is bounded by
8 to 16 bytes per row of the largest table (see `verify_checks_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnigraph.history import schema_of, snapshot_of
from omnigraph.language.schema import Catalog, EdgeType
from omnigraph.model.errors import (
    FormatStampUnreadable,
    FormatTooNew,
    FormatTooOld,
    GraphNotFound,
    OmniGraphError,
    Unreachable,
)
from omnigraph.model.identifiers import MAIN, TableKey
from omnigraph.storage import AcceptedSchema, GraphStorage, accept_now, from_disk, read_files
from omnigraph.storage.manifest import LoadedManifest, TablePin
from omnigraph.write.verify import file_checks as files
from omnigraph.write.verify import row_checks as rows
from omnigraph.write.verify.report import Finding, VerifyReport, in_order, with_unreadable

_NOT_A_GRAPH = (GraphNotFound, FormatTooOld, FormatTooNew, FormatStampUnreadable, Unreachable)
"""What makes a check pointless: raised as it is."""


def verify_graph(storage: GraphStorage, *, deep: bool = True) -> VerifyReport:
    """Checks the graph; `deep` reads the rows and tries the indexes too. Needs no accepted schema to run."""
    storage = from_disk(storage)
    findings: list[Finding] = []
    loaded = _load_branches(storage, findings)
    accepted = _load_schema(storage, findings)
    catalogs = {} if accepted is None else _catalogs(storage, loaded, accepted)
    pending = files.pending_recoveries(storage)
    findings += pending.findings
    findings += with_unreadable("unreadable", "the graph root", files.check_leftovers(storage))
    for branch, manifest in loaded.items():
        where = f"branch {branch}"
        findings += with_unreadable("manifest_unreadable", where, files.check_manifest(manifest))
        if branch in catalogs:
            findings += with_unreadable("manifest_unreadable", where, files.check_declared(manifest, catalogs[branch]))
        findings += with_unreadable("drift_unknown", where, files.check_drift(storage, manifest, pending.covered))
        findings += with_unreadable("history_unreadable", where, files.check_history(storage, manifest))
    pins = sorted({pin for manifest in loaded.values() for pin in manifest.state.pins()}, key=_place)
    declared = {
        pin: catalogs[branch]
        for branch, manifest in loaded.items()
        if branch in catalogs
        for pin in manifest.state.pins()
    }
    for pin in pins:
        findings += with_unreadable(
            "pin_unreadable", files.describe(pin), files.check_pin(storage, pin, declared.get(pin))
        )
    findings += with_unreadable("fork_unreadable", "forks", _check_forks(storage, loaded, deep))
    findings += with_unreadable("fork_unreadable", "forks", files.check_unmade_forks(storage, loaded))
    if deep:
        findings += _check_contents(storage, pins, declared)
        findings += _check_edges(storage, loaded, catalogs)
    row_total = sum(pin.row_count for pin in pins)
    return VerifyReport(storage.root.uri, deep, len(loaded), len(pins), row_total, in_order(findings))


def _place(pin: TablePin) -> tuple[str, str, int]:
    return (str(pin.table_key), pin.path, pin.version)


def _load_branches(storage: GraphStorage, findings: list[Finding]) -> dict[str, LoadedManifest]:
    loaded = {}
    for branch in [MAIN, *(name for name in storage.manifest.branches() if name != MAIN)]:
        try:
            loaded[branch] = storage.manifest.load(branch)
            loaded[branch].state.pins()  # refuses versions without a table row
        except OmniGraphError as error:
            if branch == MAIN and isinstance(error, _NOT_A_GRAPH):
                raise
            loaded.pop(branch, None)
            findings.append(Finding("error", "manifest_unreadable", f"branch {branch}", error.sentence()))
    return loaded


def _catalogs(
    storage: GraphStorage, loaded: Mapping[str, LoadedManifest], accepted: AcceptedSchema
) -> dict[str, Catalog]:
    """What each branch declares: the schema of its head, or the accepted one where that cannot be found out."""
    found = {}
    for branch, manifest in loaded.items():
        try:
            found[branch] = schema_of(storage, snapshot_of(manifest), accepted, is_head=True).catalog
        except OmniGraphError:
            found[branch] = accepted.catalog
    return found


def _load_schema(storage: GraphStorage, findings: list[Finding]) -> AcceptedSchema | None:
    try:
        schema = accept_now(storage.objects, read_files(storage.objects))
    except Unreachable:
        raise
    except OmniGraphError as error:
        findings.append(Finding("error", "schema_contract", "the schema files", error.sentence()))
        return None
    findings += [Finding("warning", "schema_rules", "_schema.pg", text) for text in schema.warnings]
    return schema


def _check_forks(storage: GraphStorage, loaded: Mapping[str, LoadedManifest], deep: bool) -> Iterator[Finding]:
    for pin, reused in files.unnamed_forks(storage, loaded):
        yield files.fork_finding(pin, reused=reused)
        if deep:
            table = storage.tables.open(pin)
            yield from with_unreadable("index_unreadable", files.describe(pin), rows.check_indexes(table), "warning")


def _check_contents(
    storage: GraphStorage, pins: list[TablePin], declared: Mapping[TablePin, Catalog]
) -> Iterator[Finding]:
    """Rows and indexes of each table version once; endpoints once per edge table and the node tables beside it."""
    for pin in pins:
        if not files.readable(storage, pin):
            continue
        where = files.describe(pin)
        table = storage.tables.open(pin)
        catalog = declared.get(pin)
        entity = catalog.table(pin.table_key) if catalog is not None else None
        if entity is not None:
            yield from with_unreadable("rows_unreadable", where, rows.check_rows(table, entity))
        yield from with_unreadable("index_unreadable", where, rows.check_indexes(table), "warning")


def _check_edges(
    storage: GraphStorage, loaded: Mapping[str, LoadedManifest], catalogs: Mapping[str, Catalog]
) -> Iterator[Finding]:
    triples: dict[tuple[TablePin, ...], EdgeType] = {}
    for branch, manifest in loaded.items():
        shown = {pin.table_key: pin for pin in manifest.state.pins()}
        for edge in catalogs[branch].edges if branch in catalogs else ():
            keys = (edge.table_key, TableKey("node", edge.from_type), TableKey("node", edge.to_type))
            if all(key in shown for key in keys):
                triples[tuple(shown[key] for key in keys)] = edge
    for triple in sorted(triples, key=lambda triple: [_place(pin) for pin in triple]):
        edge_type = triples[triple]
        if all(files.readable(storage, pin) for pin in triple):
            table, sources, targets = (storage.tables.open(pin) for pin in triple)
            where = files.describe(triple[0])
            yield from with_unreadable(
                "rows_unreadable", where, rows.check_endpoints(table, edge_type, sources, targets)
            )
