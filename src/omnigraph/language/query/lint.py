"""Lint: everything that is wrong or doubtful about a query file, without running anything."""

from __future__ import annotations

from typing import Literal as OneOf

from omnigraph.language.diagnostics import CompileError, Diagnostic, Severity
from omnigraph.language.query.check import Report
from omnigraph.language.query.compile import CompiledQuery, check_declaration, duplicate_names
from omnigraph.language.query.declarations import QueryKind, kind_of
from omnigraph.language.query.describe import Operation
from omnigraph.language.query.ir import MutationIR, UpdateOp
from omnigraph.language.query.parse import QueryDeclaration, parse
from omnigraph.language.schema import Catalog, NodeType
from omnigraph.model.errors import Json
from omnigraph.model.late_dataclass import dataclass

Status = OneOf["ok", "error"]
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What lint says about one query."""

    name: str
    kind: QueryKind
    warnings: tuple[str, ...] = ()
    error: str | None = None
    operation: Operation | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    """The errors and warnings with their places."""

    @property
    def status(self) -> Status:
        return "error" if self.error is not None else "ok"

    def to_json(self) -> dict[str, Json]:
        out: dict[str, Json] = {"name": self.name, "kind": self.kind, "status": self.status}
        if self.warnings:
            out["warnings"] = list(self.warnings)
        if self.error is not None:
            out["error"] = self.error
        if self.operation is not None:
            out["operation"] = self.operation.to_json()
        return out


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the file as a whole."""

    severity: Severity
    code: str
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        out: dict[str, Json] = {"severity": self.severity, "code": self.code, "message": self.message}
        if self.type_name is not None:
            out["type_name"] = self.type_name
        if self.property is not None:
            out["property"] = self.property
        if self.query_names:
            out["query_names"] = list(self.query_names)
        return out


@dataclass(frozen=True, slots=True)
class LintReport:
    results: tuple[QueryResult, ...]
    findings: tuple[Finding, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    """Every syntax error, when the text does not parse."""

    @property
    def status(self) -> Status:
        return "error" if self.errors else "ok"

    @property
    def errors(self) -> int:
        return self._findings_of("error") + sum(result.status == "error" for result in self.results)

    @property
    def warnings(self) -> int:
        return self._findings_of("warning") + sum(len(result.warnings) for result in self.results)

    @property
    def infos(self) -> int:
        return self._findings_of("info")

    def _findings_of(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)

    def to_json(self, *, schema_source: dict[str, Json], query_path: str) -> dict[str, Json]:
        """The published shape; `schema_source` is `{kind: "file" | "graph", path? | uri?}`."""
        return {
            "status": self.status,
            "schema_source": schema_source,
            "query_path": query_path,
            "queries_processed": len(self.results),
            "errors": self.errors,
            "warnings": self.warnings,
            "infos": self.infos,
            "results": [result.to_json() for result in self.results],
            "findings": [finding.to_json() for finding in self.findings],
        }

    def render(self) -> str:
        """For people: one line per query and finding, source lines under the errors, then the counts."""
        lines: list[str] = []
        for result in self.results:
            if result.status == "error":
                lines.append(f"ERROR {result.kind} {result.name}")
                lines += [d.render() for d in result.diagnostics if d.severity == "error"]
            else:
                lines.append(f"OK    {result.kind} {result.name}")
            lines += [f"WARN  {result.name}: {warning}" for warning in result.warnings]
        for finding in self.findings:
            word = {"error": "ERROR", "warning": "WARN ", "info": "INFO "}[finding.severity]
            lines.append(f"{word} {finding.code} {finding.message}")
        lines += [d.render() for d in self.diagnostics]
        lines.append(
            f"{len(self.results)} queries processed: {self.errors} errors, {self.warnings} warnings, {self.infos} infos"
        )
        return "\n".join(lines)


def lint_queries(text: str, catalog: Catalog, *, file: str | None = None) -> LintReport:
    """Check every query of a text against a catalog; never raises for what the text says."""
    try:
        parsed = parse(text, file)
    except CompileError as error:
        finding = Finding("error", "Q000", error.sentence())
        return LintReport((), (finding,), error.diagnostics)
    results: list[QueryResult] = []
    compiled: list[CompiledQuery] = []
    refusals = duplicate_names(parsed)
    for index, declaration in enumerate(parsed.declarations):
        try:
            if index in refusals:
                report = Report(parsed.source)
                report.refuse(refusals[index])
                report.raise_errors()
            query = check_declaration(declaration, catalog, parsed.source)
        except CompileError as error:
            results.append(_refused(declaration, error))
        else:
            compiled.append(query)
            results.append(_accepted(query))
    return LintReport(tuple(results), _findings(compiled, catalog))


def _refused(declaration: QueryDeclaration, error: CompileError) -> QueryResult:
    return QueryResult(declaration.name, kind_of(declaration), error=error.sentence(), diagnostics=error.diagnostics)


def _accepted(query: CompiledQuery) -> QueryResult:
    warnings = [warning.message for warning in query.warnings]
    if query.kind == "mutation" and not query.params:
        warnings.append("mutation declares no parameters; hardcoded values are easy to run twice by mistake")
    return QueryResult(query.name, query.kind, tuple(warnings), operation=query.operation, diagnostics=query.warnings)


# --- findings about the file ------------------------------------------------------------------------------


def _findings(compiled: list[CompiledQuery], catalog: Catalog) -> tuple[Finding, ...]:
    findings = [finding for node in catalog.nodes for finding in _never_updated(node, compiled)]
    return tuple(
        sorted(
            findings,
            key=lambda f: (_SEVERITIES.index(f.severity), f.type_name or "", f.property or "", f.message),
        )
    )


def _never_updated(node: NodeType, compiled: list[CompiledQuery]) -> list[Finding]:
    """L201: the file updates this type, but never these of its properties."""
    assigned: set[str] = set()
    updating: set[str] = set()
    for query in compiled:
        ops = query.ir.ops if isinstance(query.ir, MutationIR) else ()
        for op in ops:
            if isinstance(op, UpdateOp) and op.type_name == node.name:
                updating.add(query.name)
                assigned |= {assignment.property for assignment in op.assignments}
    if not updating:
        return []
    return [
        Finding(
            "warning",
            "L201",
            f"no update query sets {node.name}.{prop.name}",
            node.name,
            prop.name,
            tuple(sorted(updating)),
        )
        for prop in node.properties
        if prop.type.nullable and prop.embed is None and prop.name not in (node.key or ()) and prop.name not in assigned
    ]
