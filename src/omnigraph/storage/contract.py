"""The accepted schema on disk: three files that must agree, and a copy of every schema that was ever accepted.

The stored IR is the authority. `_schema.pg` must compile to the same hash; when our stricter rules of today refuse a
text that was accepted before, it is read with the rules of its time and a warning is kept.
"""

from __future__ import annotations

import json

from omnigraph.language import CompileError
from omnigraph.language.schema import (
    Catalog,
    CompiledSchema,
    SchemaIR,
    catalog_from_ir,
    compile_schema,
    schema_ir_from_json,
    schema_ir_hash,
    schema_ir_to_json,
)
from omnigraph.model.errors import BadRequest, SchemaContractDrift, SchemaContractMissing, sentence_of
from omnigraph.model.format_version import SCHEMA_IDENTITY_VERSION, SCHEMA_STATE_FORMAT_VERSION
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import layout
from omnigraph.storage.objects import ObjectStore

READS_MAX = 8
"""How often the three files are read again when they were being replaced."""


@dataclass(frozen=True, slots=True)
class AcceptedSchema:
    """The schema that a graph was created with or last migrated to."""

    source: str
    ir: SchemaIR
    ir_hash: str
    catalog: Catalog
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContractFiles:
    """The raw bytes of the three files; None for one that is missing."""

    source: bytes | None
    ir: bytes | None
    state: bytes | None


def read_files(objects: ObjectStore) -> ContractFiles:
    source, ir, state = (objects.read(name) for name in layout.SCHEMA_FILES)
    return ContractFiles(*(found.data if found is not None else None for found in (source, ir, state)))


def files_stamp(objects: ObjectStore) -> tuple[tuple[int, ...], ...] | None:
    """What changes whenever one of the three files does; None where only reading them can tell."""
    stamps = [objects.stamp(name) for name in layout.SCHEMA_FILES]
    return None if None in stamps else tuple(stamp for stamp in stamps if stamp is not None)


def accept(files: ContractFiles) -> AcceptedSchema:
    """The accepted schema, if the three files agree. Pure: the same bytes give the same answer."""
    if files.source is None:
        raise SchemaContractMissing(f"the graph has no {layout.SCHEMA_SOURCE}")
    if files.ir is None or files.state is None:
        missing = layout.SCHEMA_IR if files.ir is None else layout.SCHEMA_STATE
        raise SchemaContractDrift(f"the graph has no {missing}")
    recorded = _recorded_hash(files.state)
    try:
        ir = schema_ir_from_json(files.ir.decode())
    except (BadRequest, UnicodeDecodeError) as error:
        raise SchemaContractDrift(f"{layout.SCHEMA_IR} cannot be read: {sentence_of(error)}") from error
    if schema_ir_hash(ir) != recorded:
        raise SchemaContractDrift(f"{layout.SCHEMA_IR} hashes to {schema_ir_hash(ir)}, accepted was {recorded}")
    source = files.source.decode(errors="replace")
    warnings = _check_source(source, recorded)
    return AcceptedSchema(source, ir, recorded, catalog_from_ir(ir), warnings)


def accept_now(objects: ObjectStore, files: ContractFiles) -> AcceptedSchema:
    """The same while another process may be moving a new schema into place, file by file.

    A file that waits to be moved counts as moved: together with those that are, it makes the new schema whole.
    """
    for _ in range(READS_MAX):
        try:
            return accept(files)
        except (SchemaContractDrift, SchemaContractMissing):
            waiting = staged_files(objects)
            if waiting != ContractFiles(None, None, None):
                chosen = zip(_three(waiting), _three(files), strict=True)
                try:
                    return accept(ContractFiles(*(new if new is not None else old for new, old in chosen)))
                except (SchemaContractDrift, SchemaContractMissing):
                    pass  # not all of them are written yet, or one was moved between two looks
            again = read_files(objects)
            if again == files and waiting == ContractFiles(None, None, None):
                raise
            files = again
    return accept(files)


def staged_name(name: str) -> str:
    """A schema file that waits to be moved into its place."""
    return f"{name}.staging"


def staged_files(objects: ObjectStore) -> ContractFiles:
    """What waits to be moved; None for a file that does not."""
    found = (objects.read(staged_name(name)) for name in layout.SCHEMA_FILES)
    return ContractFiles(*(None if each is None else each.data for each in found))


def _three(files: ContractFiles) -> tuple[bytes | None, ...]:
    return files.source, files.ir, files.state


def _recorded_hash(data: bytes) -> str:
    try:
        state = json.loads(data)
        version, recorded = state["format_version"], state["schema_ir_hash"]
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaContractDrift(f"{layout.SCHEMA_STATE} cannot be read: {error}") from error
    if version != SCHEMA_STATE_FORMAT_VERSION:
        raise SchemaContractDrift(f"{layout.SCHEMA_STATE} has format version {version}, expected 1")
    return str(recorded)


def _check_source(source: str, recorded: str) -> tuple[str, ...]:
    try:
        if compile_schema(source).ir_hash == recorded:
            return ()
        reason = "it compiles to another schema under the rules of today"
    except CompileError as error:
        reason = error.sentence()
    try:
        tolerant = compile_schema(source, strict=False)
    except CompileError as error:
        raise SchemaContractDrift(f"{layout.SCHEMA_SOURCE} does not compile: {error.sentence()}") from error
    if tolerant.ir_hash != recorded:
        raise SchemaContractDrift(
            f"{layout.SCHEMA_SOURCE} was edited: it compiles to {tolerant.ir_hash}, accepted was {recorded}"
        )
    return (f"the accepted schema would be refused today: {reason}",)


# --- writing ----------------------------------------------------------------------------------------------


def contract_of(schema: CompiledSchema) -> dict[str, bytes]:
    """The three files of a newly accepted schema, in the order in which they are written."""
    state = {
        "format_version": SCHEMA_STATE_FORMAT_VERSION,
        "schema_ir_hash": schema.ir_hash,
        "schema_identity_version": SCHEMA_IDENTITY_VERSION,
    }
    return {
        layout.SCHEMA_SOURCE: schema.source.encode(),
        layout.SCHEMA_IR: schema_ir_to_json(schema.ir, pretty=True).encode(),
        layout.SCHEMA_STATE: json.dumps(state, indent=2).encode(),
    }


def archive(objects: ObjectStore, schema: CompiledSchema | AcceptedSchema) -> None:
    """Keeps a copy by hash, so that a historical read can use the schema of its commit."""
    stem = f"{layout.SCHEMAS}/{schema.ir_hash.removeprefix('sha256:')}"
    objects.write_if_absent(f"{stem}.pg", schema.source.encode())
    objects.write_if_absent(f"{stem}.ir.json", schema_ir_to_json(schema.ir, pretty=True).encode())


def archived(objects: ObjectStore, ir_hash: str) -> AcceptedSchema | None:
    """A schema that was accepted once, by its hash; None when no copy was kept. The text may be a later one."""
    stem = f"{layout.SCHEMAS}/{ir_hash.removeprefix('sha256:')}"
    stored = objects.read(f"{stem}.ir.json")
    if stored is None:
        return None
    try:
        ir = schema_ir_from_json(stored.data.decode())
    except (BadRequest, UnicodeDecodeError) as error:
        raise SchemaContractDrift(f"{stem}.ir.json cannot be read: {sentence_of(error)}") from error
    if schema_ir_hash(ir) != ir_hash:
        raise SchemaContractDrift(f"{stem}.ir.json hashes to {schema_ir_hash(ir)}")
    source = objects.read(f"{stem}.pg")
    text = "" if source is None else source.data.decode(errors="replace")
    return AcceptedSchema(text, ir, ir_hash, catalog_from_ir(ir))
