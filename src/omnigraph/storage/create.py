"""Birth: creating a graph exclusively. Nothing is a graph until the one commit that creates `__manifest`.

Order: claim → schema files → empty tables → `__manifest` with every row and the version stamp → claim removed. Two
initialisers cannot interleave, and a crash at any point leaves either a whole graph or none.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterable, Iterator

import pyarrow as pa

from omnigraph.language.schema import CompiledSchema
from omnigraph.model.errors import (
    AlreadyInitialized,
    Conflict,
    GraphNotFound,
    InitializationClaimed,
    InitializationIndeterminate,
    OmniGraphError,
    SyncFailed,
)
from omnigraph.model.format_version import DATA_STORAGE_VERSION
from omnigraph.model.identifiers import MAIN, new_ulid
from omnigraph.storage import contract, layout
from omnigraph.storage.failpoints import InjectedFault, Point, reach
from omnigraph.storage.files import sync_folder
from omnigraph.storage.graph_storage import GraphStorage
from omnigraph.storage.lance import (
    Dataset,
    Fault,
    LanceDataset,
    classify,
    require_whole,
    sync_version,
    translate,
    translated,
    write_fragments,
)
from omnigraph.storage.manifest import GraphCommit, GraphHead, ManifestRow, TableRegistration, TableVersion, encode
from omnigraph.storage.objects import storage_error
from omnigraph.storage.tables import object_path, table_schema

_log = logging.getLogger("omnigraph.storage")


def create_graph(storage: GraphStorage, schema: CompiledSchema, *, force: bool = False) -> GraphCommit:
    """Creates the graph and returns its genesis commit. `force` replaces orphan schema files of an unfinished init."""
    _refuse_used_root(storage, force)
    _make_root(storage)
    storage.objects.require_conditional_puts()
    claim = _claimed(storage, force)
    written = [layout.INIT_CLAIM]
    try:
        reach(Point.INIT_CLAIMED)
        _refuse_used_root(storage, force)
        _write_contract(storage, schema, force, written, claim)
        _require_claim(storage, claim)
    except (OmniGraphError, InjectedFault):
        if _has_claim(storage, claim):
            _remove(storage, reversed(written))  # only what this attempt wrote: the rest may be of a graph that lives
        raise
    genesis = _create_datasets(storage, schema)
    _remove(storage, [layout.INIT_CLAIM], lasting=False)  # if it comes back, it hides nothing of a whole graph
    return genesis


def _remove(storage: GraphStorage, names: Iterable[str], *, lasting: bool = True) -> None:
    """Removes what is not needed any more. A file that stays changes neither a success nor the reason of a failure."""
    for name in names:
        try:
            storage.objects.delete(name, lasting=lasting)
        except OmniGraphError as error:
            _log.warning("%s stays behind: %s", storage.root.join(name), error)


def _refuse_used_root(storage: GraphStorage, force: bool) -> None:
    uri = storage.root.uri
    if has_version(storage, layout.MANIFEST):
        raise AlreadyInitialized(uri)
    if not force and any(storage.objects.exists(name) for name in layout.SCHEMA_FILES):
        raise AlreadyInitialized(uri)


def has_version(storage: GraphStorage, location: str) -> bool:
    """True when a dataset exists. Files without a version are what an init left that died while it made one."""
    return any(name.endswith(".manifest") for name in storage.objects.list_names(f"{location}/_versions"))


def _make_root(storage: GraphStorage) -> None:
    if storage.root.is_local:
        there = storage.root.uri
        while not os.path.exists(there):
            there = os.path.dirname(there)
        try:
            os.makedirs(storage.root.uri, exist_ok=True)
        except OSError as error:
            raise storage_error(error, storage.root.uri) from error
        if storage.durability == "full":
            sync_folder(storage.root.uri, there)


def _claimed(storage: GraphStorage, force: bool) -> bytes:
    """The claim of this attempt, as it is stored: `force` takes over that of another."""
    claim = json.dumps({"version": 1, "attempt_id": new_ulid()}).encode()
    if not _put_new(storage, layout.INIT_CLAIM, claim):
        held = storage.objects.read(layout.INIT_CLAIM)
        took_over = force and held is not None and storage.objects.write_if_match(layout.INIT_CLAIM, claim, held.etag)
        if not took_over:
            raise InitializationClaimed(storage.root.uri, _attempt_of(held.data if held else b"{}"))
    return claim


def _require_claim(storage: GraphStorage, claim: bytes) -> None:
    """Raises InitializationClaimed when somebody took the claim over, and may be making the graph now."""
    held = storage.objects.read(layout.INIT_CLAIM)
    if held is None or held.data != claim:
        raise InitializationClaimed(storage.root.uri, _attempt_of(held.data if held else b"{}"))


def _has_claim(storage: GraphStorage, claim: bytes) -> bool:
    """False too when it cannot be told: then nothing is removed."""
    try:
        _require_claim(storage, claim)
    except OmniGraphError:
        return False
    return True


def _put_new(storage: GraphStorage, name: str, data: bytes) -> bool:
    """False when something else is there. A put that the client had to repeat finds what it put itself."""
    if storage.objects.write_if_absent(name, data) is not None:
        return True
    found = storage.objects.read(name)
    return found is not None and found.data == data


def _attempt_of(data: bytes) -> str:
    try:
        return str(json.loads(data)["attempt_id"])
    except (ValueError, KeyError, TypeError):
        return "unknown"


def _write_contract(
    storage: GraphStorage, schema: CompiledSchema, force: bool, written: list[str], claim: bytes
) -> None:
    for name, data in contract.contract_of(schema).items():
        if force:
            _require_claim(storage, claim)
            storage.objects.write(name, data)
        elif not _put_new(storage, name, data):
            raise AlreadyInitialized(storage.root.uri)
        else:
            _require_claim(storage, claim)  # the same schema makes the same bytes: what was found may be another's
        written.append(name)
        if name == layout.SCHEMA_SOURCE:
            reach(Point.INIT_SOURCE_WRITTEN)
    contract.archive(storage.objects, schema)
    reach(Point.INIT_CONTRACT_WRITTEN)


# --- datasets ---------------------------------------------------------------------------------------------


def _create_datasets(storage: GraphStorage, schema: CompiledSchema) -> GraphCommit:
    genesis = _genesis(schema)
    try:
        rows = list(_table_rows(storage, schema))
        reach(Point.INIT_TABLES_CREATED)
        head = GraphHead(branch=MAIN, head_commit_id=genesis.commit_id, parent_commit_id=None)
        create_exclusive(storage, layout.MANIFEST, encode([*rows, genesis, head]))
        reach(Point.INIT_ACK_LOST)
    except (Conflict, InjectedFault):
        if _was_born(storage, genesis):
            return genesis
        raise
    except SyncFailed as error:  # what is there is not durable, so nobody may rely on it
        if _was_born(storage, genesis):
            raise InitializationIndeterminate(storage.root.uri, error.sentence()) from error
        raise
    except OmniGraphError as error:
        if _was_born(storage, genesis):
            return genesis
        raise InitializationIndeterminate(storage.root.uri, error.sentence()) from error
    return genesis


def _was_born(storage: GraphStorage, genesis: GraphCommit) -> bool:
    """True when the manifest holds exactly our genesis commit: the acknowledgement was lost, not the graph."""
    try:
        return genesis.commit_id in storage.manifest.load(MAIN).state.commits
    except GraphNotFound:
        return False


def _genesis(schema: CompiledSchema) -> GraphCommit:
    return GraphCommit(
        commit_id=new_ulid(),
        branch=None,
        version=1,
        parent_id=None,
        merged_parent_id=None,
        actor_id=None,
        created_at=time.time_ns() // 1000,
        py={"kind": "init", "schema_ir_hash": schema.ir_hash},
    )


def _table_rows(storage: GraphStorage, schema: CompiledSchema) -> Iterator[ManifestRow]:
    for entity in schema.catalog.entities:
        key = entity.table_key
        _create_empty_table(storage, key.location, table_schema(entity))
        yield TableRegistration(table_key=str(key), location=key.location)
        yield TableVersion(
            table_key=str(key),
            table_version=1,
            table_branch=None,
            row_count=0,
            manifest_path=object_path(storage.root, layout.manifest_file(key.location, 1)),
        )


def _create_empty_table(storage: GraphStorage, location: str, schema: pa.Schema) -> None:
    """A table at version 1 with no rows; one that an unfinished init left in exactly that state is taken over."""
    if has_version(storage, location):
        with translated(storage.root.join(location)):
            leftover = storage.handles.open_for_change(location)
        if leftover.version != 1 or leftover.count_rows() != 0 or not leftover.schema.equals(schema):
            raise Conflict(
                f"'{storage.root.join(location)}' holds a table that this schema did not create",
                "choose another root, or remove the leftovers by hand",
            )
        return
    create_exclusive(storage, location, schema.empty_table())


def create_exclusive(storage: GraphStorage, location: str, rows: pa.Table) -> Dataset:
    """Creates a dataset; of several creators one wins. `write_dataset(mode="create")` would let several win."""
    uri, options = storage.root.join(location), storage.root.lance_options
    if storage.objects.has_any(location) and not has_version(storage, location):
        storage.objects.delete_tree(location)
    try:
        transaction = write_fragments(
            rows,
            uri,
            mode="create",
            return_transaction=True,
            data_storage_version=DATA_STORAGE_VERSION,
            storage_options=options,
        )
        if storage.root.is_local:
            require_whole(uri, transaction.operation)
        dataset = LanceDataset.commit(
            uri, transaction, max_retries=0, enable_stable_row_ids=True, storage_options=options
        )
    except (OSError, ValueError, RuntimeError) as error:
        if classify(error) in (Fault.CONFLICT, Fault.EXISTS):
            raise AlreadyInitialized(storage.root.uri) from error
        raise translate(error, uri) from error
    if storage.root.is_local and storage.durability == "full":
        with translated(uri):
            sync_version(None, dataset)
            sync_folder(uri, os.path.dirname(storage.root.uri))
    return dataset
