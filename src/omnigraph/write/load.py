"""Preparing a load in this process: lines to a change set, with everything that stands against it.

Lines are decoded in chunks and kept as Arrow alone. Nothing is on disk when this is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from omnigraph.language.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.model.errors import KeyConflict
from omnigraph.model.identifiers import TableKey
from omnigraph.write.changes import ChangeMode, ChangeSet, Provenance, TableChange
from omnigraph.write.committed_view import CommittedView
from omnigraph.write.decode import CHUNK_RECORDS, Decoded, DecodePlan, decode, decode_plan, joined
from omnigraph.write.edge_matching import MatchEdges, match_endpoints, matches_endpoints
from omnigraph.write.findings import Findings, Offence, offence
from omnigraph.write.generated_ids import IdSource
from omnigraph.write.input_checks import KEY_CONFLICT, check_new_ids, check_repeats, coalesce
from omnigraph.write.kept_lines import KeptLines
from omnigraph.write.patch import check_filled, fill_absent
from omnigraph.write.records import Record, RecordReader
from omnigraph.write.validation import offences
from omnigraph.write.value_rules import check_values
from omnigraph.write.violations import MAX_ERRORS_DEFAULT, ValidationFailed, Violation

LoadMode = Literal["append", "merge", "overwrite"]
OnError = Literal["fail", "skip"]

SKIP_ROUNDS_MAX = 16
"""So often may rejected records make others invalid (a node its edges, these a minimum …) before a load is refused."""

_CHANGE_MODES: Mapping[LoadMode, ChangeMode] = {"append": "insert", "merge": "upsert", "overwrite": "overwrite"}


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that was left out: where it stands, how it reads, and why."""

    line: int
    text: bytes
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class PreparedLoad:
    """What a load would change, and what stands against it."""

    changes: ChangeSet
    nodes: Mapping[str, int]
    """Records per node type that were accepted, before an id that occurs twice is made one."""
    edges: Mapping[str, int]
    rejected: tuple[Reject, ...]
    """In order of their lines. A run that fails lists those that could not be read; one that skips lists them all."""
    violations: tuple[Violation, ...]
    violations_total: int
    refused: bool
    """The changes must not be written: records may not be skipped, or skipping them mends nothing."""

    def refuse(self) -> None:
        """Raises when the load must not be written: a KeyConflict when that is what comes first."""
        if not self.refused:
            return
        first = self.violations[0] if self.violations else None
        if first is not None and first.rule == KEY_CONFLICT:
            raise KeyConflict(f"{first.entity_kind}:{first.type_name}", first.entity_id)
        raise ValidationFailed(self.violations, self.violations_total)


def prepare_load(
    lines: Iterable[bytes],
    *,
    file: str | None,
    catalog: Catalog,
    mode: LoadMode,
    view: CommittedView,
    load_id: str,
    started_ms: int,
    patch: bool = False,
    match_edges: MatchEdges = None,
    max_errors: int = MAX_ERRORS_DEFAULT,
    on_error: OnError = "fail",
) -> PreparedLoad:
    """Reads the lines and says what they change. `patch` and `match_edges` matter to a merge alone."""
    load = _Load(
        catalog=catalog,
        file=file,
        mode=mode,
        view=view,
        ids=IdSource(load_id, file, started_ms),
        patch=patch and mode == "merge",
        match_edges=match_edges,
        skips=on_error == "skip",
        findings=Findings(max_errors),
    )
    load.read(lines)
    load.assemble()
    load.check()
    return load.result()


@dataclass(slots=True)
class _Type:
    """The records of one type: waiting, decoded, and at last as one change."""

    plan: DecodePlan
    waiting: list[Record] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    parts: list[Decoded] = field(default_factory=list)
    decoded: Decoded | None = None
    count: int = 0


@dataclass(slots=True, kw_only=True)
class _Load:
    catalog: Catalog
    file: str | None
    mode: LoadMode
    view: CommittedView
    ids: IdSource
    patch: bool
    match_edges: MatchEdges
    skips: bool
    findings: Findings
    types: dict[TableKey, _Type] = field(default_factory=dict)
    by_name: dict[tuple[str, str], _Type] = field(default_factory=dict)
    """The same by plain names, which hash faster than keys do: asked once per record."""
    kept: KeptLines = field(default_factory=KeptLines)
    rejects: dict[int, Reject] = field(default_factory=dict)
    refused: bool = False

    # --- reading ------------------------------------------------------------------------------------------

    def read(self, lines: Iterable[bytes]) -> None:
        reader, offset = RecordReader(self.catalog, self.file), 0
        for number, raw in enumerate(lines, 1):
            parsed = reader.parse_bytes(raw, number, offset)
            offset += len(raw)
            if isinstance(parsed, Violation):
                self._reject(number, raw, [parsed])
            elif parsed is not None:
                self._keep(parsed, raw)
        for each in self.types.values():
            self._decode(each)

    def _keep(self, record: Record, raw: bytes) -> None:
        each = self.by_name.get((record.kind, record.type_name))
        if each is None:
            key = TableKey(record.kind, record.type_name)
            each = self.types[key] = _Type(decode_plan(self._entity(key)))
            self.by_name[record.kind, record.type_name] = each
        each.waiting.append(record)
        each.texts.append(raw)
        if len(each.waiting) >= CHUNK_RECORDS:
            self._decode(each)

    def _entity(self, key: TableKey) -> NodeType | EdgeType:
        entity = self.catalog.table(key)
        assert entity is not None  # the reader resolved the name
        return entity

    def _decode(self, each: _Type) -> None:
        if not each.waiting:
            return
        decoded = decode(each.waiting, each.plan, self.ids, patch=self.patch)
        if decoded.violations:
            texts = {record.line: raw for record, raw in zip(each.waiting, each.texts, strict=True)}
            by_line: dict[int, list[Violation]] = {}
            for violation in decoded.violations:
                by_line.setdefault(violation.line or 0, []).append(violation)
            for line, violations in by_line.items():
                self._reject(line, texts[line], violations)
        if self.skips:
            self.kept.add([record.line for record in each.waiting], each.texts)
        each.parts.append(decoded)
        each.count += decoded.rows.num_rows
        each.waiting, each.texts = [], []

    def _reject(self, line: int, text: bytes, violations: list[Violation]) -> None:
        self.findings.add(violations)
        self.refused = self.refused or not self.skips
        earlier = self.rejects.get(line)
        if earlier is not None:
            violations = [*earlier.violations, *violations]
        self.rejects[line] = Reject(line, text, tuple(violations))

    # --- from records to rows -----------------------------------------------------------------------------

    def assemble(self) -> None:
        """Per type: ids by endpoints, nothing twice, one row per id, absent properties filled."""
        for key in sorted(self.types):
            each = self.types[key]
            each.decoded = joined(each.parts)
            each.parts = []
            entity = each.plan.entity
            if self.mode == "merge" and isinstance(entity, EdgeType) and matches_endpoints(entity, self.match_edges):
                self._match(entity, each)
            self._drop(check_repeats(entity, self._change(each)))
            if self.mode == "merge":
                each.decoded = coalesce(each.decoded)
            if self.patch:
                stored = partial(self.view.stored_rows, key, schema=each.plan.schema)
                each.decoded = fill_absent(each.decoded, each.plan, stored)
                self._drop(check_filled(each.plan, self._change(each)))

    def _match(self, entity: EdgeType, each: _Type) -> None:
        assert each.decoded is not None
        each.decoded, several = match_endpoints(entity, each.decoded, self.view)
        change = self._change(each)
        assert change.rows is not None
        found = []
        for row in np.flatnonzero(several).tolist():
            src, dst = (change.rows[name][row].as_py() for name in ("src", "dst"))
            message = f"several {entity.name} edges lead from '{src}' to '{dst}'; name the one that is meant by its id"
            found.append(offence(entity, change, (row,), rule="match_edges", message=message))
        self._drop(found)

    # --- checking -----------------------------------------------------------------------------------------

    def check(self) -> None:
        """The rules of the schema on the whole change. Beside records that could not be read, only what each row
        breaks by itself: whether an edge has its nodes is not known then."""
        if self.refused:
            for each in self.types.values():
                self._drop(check_values(each.plan.entity, self._change(each)))
            return
        for _ in range(SKIP_ROUNDS_MAX if self.skips else 1):
            if not self._drop(self._standing()) or self.refused:
                return
        self.refused = True

    def _standing(self) -> Iterator[Offence]:
        """Everything that stands against the change as it is now."""
        changes = self._changes()
        for key, change in changes.tables.items():
            each = self.types[key]
            assert each.decoded is not None
            yield from check_new_ids(each.plan.entity, change, each.decoded.generated, self.view)
        yield from offences(changes, self.view, self.catalog)

    def _drop(self, found: Iterable[Offence]) -> bool:
        """Takes the offending rows out when they may be skipped; True when anything was found."""
        blamed: dict[TableKey, dict[int, list[Violation]]] = {}
        anything = False
        for each in found:
            anything = True
            if not self.skips or not each.rows:
                self.refused = True
                self.findings.add([each.violation])
                continue
            for row in each.rows:
                blamed.setdefault(each.key, {}).setdefault(row, []).append(each.violation)
        for key, rows in blamed.items():
            self._drop_rows(self.types[key], rows)
        return anything

    def _drop_rows(self, each: _Type, rows: Mapping[int, list[Violation]]) -> None:
        assert each.decoded is not None
        texts = self.kept.texts([int(each.decoded.lines[row]) for row in rows])
        for row, violations in rows.items():
            line = int(each.decoded.lines[row])
            self._reject(line, texts[line], violations)
        keep = np.ones(len(each.decoded.lines), np.bool_)
        keep[list(rows)] = False
        each.decoded = each.decoded.where(keep)
        each.count -= len(rows)

    # --- the result ---------------------------------------------------------------------------------------

    def _change(self, each: _Type) -> TableChange:
        assert each.decoded is not None
        provenance = Provenance(self.file, tuple(each.decoded.lines.tolist()))
        return TableChange(each.plan.entity.table_key, _CHANGE_MODES[self.mode], each.decoded.rows, (), provenance)

    def _changes(self) -> ChangeSet:
        """A type of which nothing was accepted is left alone: an overwrite must not empty a table over bad input."""
        return ChangeSet({key: self._change(each) for key, each in sorted(self.types.items()) if each.count})

    def result(self) -> PreparedLoad:
        counts = {key: each.count for key, each in sorted(self.types.items()) if each.count}
        return PreparedLoad(
            changes=self._changes(),
            nodes={key.type_name: count for key, count in counts.items() if key.kind == "node"},
            edges={key.type_name: count for key, count in counts.items() if key.kind == "edge"},
            rejected=tuple(self.rejects[line] for line in sorted(self.rejects)),
            violations=tuple(self.findings.violations),
            violations_total=self.findings.total,
            refused=self.refused,
        )
