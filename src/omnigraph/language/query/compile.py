"""The compiler: text and catalog in, checked queries with their IR out. The one door for every face."""

from __future__ import annotations

from typing import Literal as OneOf

from omnigraph.language.diagnostics import CompileError, Diagnostic, SourceText, did_you_mean
from omnigraph.language.query.check import (
    RefusalError,
    Report,
    Scope,
    Session,
    bound_variables,
    check_block,
    check_count,
    check_items,
    check_mutation,
    check_order,
)
from omnigraph.language.query.declarations import Declaration, QueryKind, QuerySource, declare, kind_of, resolve_params
from omnigraph.language.query.describe import Column, Operation, type_refs
from omnigraph.language.query.ir import DeleteOp, InsertOp, MutationIR, Param, QueryIR
from omnigraph.language.query.lower import lower_block
from omnigraph.language.query.parse import Parsed, QueryDeclaration, Reading, Writing, parse
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import BadRequest
from omnigraph.model.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query that is ready to run against any snapshot whose catalog it was compiled for."""

    name: str
    kind: QueryKind
    params: tuple[Param, ...]
    ir: QueryIR | MutationIR
    operation: Operation
    columns: tuple[Column, ...]
    """Exactly the columns of the result; empty for a mutation."""
    warnings: tuple[Diagnostic, ...] = ()

    def expect(self, kind: QueryKind) -> CompiledQuery:
        """Itself, or WrongQueryKind: reads and mutations have separate entry points."""
        if self.kind != kind:
            raise WrongQueryKind(self.name, self.kind)
        return self


@dataclass(eq=False)
class WrongQueryKind(BadRequest):
    """A mutation given to the read entry point, or a read given to the write entry point."""

    query: str
    kind: OneOf["read", "mutation"]

    def sentence(self) -> str:
        return f"query '{self.query}' is a {self.kind}"

    @property
    def hint(self) -> str | None:
        return "run it with `mutate`" if self.kind == "mutation" else "run it with `query`"


@dataclass(eq=False)
class UnknownQuery(BadRequest):
    """The text declares no query of this name."""

    query: str
    declared: tuple[str, ...]

    def sentence(self) -> str:
        return f"query '{self.query}' not found"

    @property
    def hint(self) -> str | None:
        if not self.declared:
            return "the text declares no query"
        return did_you_mean(self.query, self.declared) or f"the text declares: {', '.join(self.declared)}"


@dataclass(eq=False)
class QueryNameRequired(BadRequest):
    """No name was given, and the text does not declare exactly one query."""

    declared: tuple[str, ...]

    def sentence(self) -> str:
        if not self.declared:
            return "the text declares no query"
        return f"the text declares multiple queries ({', '.join(self.declared)}); name one"


def parse_queries(text: str, *, file: str | None = None) -> QuerySource:
    """The declarations of a text, without a catalog. CompileError when it does not parse."""
    parsed = parse(text, file)
    report = Report(parsed.source)
    declarations: list[Declaration] = []
    for declaration in parsed.declarations:
        try:
            declarations.append(declare(declaration))
        except RefusalError as refusal:
            report.refuse(refusal)
    report.raise_errors()
    return QuerySource(tuple(declarations), file)


def compile_query(text: str, catalog: Catalog, *, name: str | None = None, file: str | None = None) -> CompiledQuery:
    """Parse a text, pick one query, check it and lower it. `name` may be omitted when there is exactly one."""
    parsed = parse(text, file)
    _require_unique_names(parsed)
    return check_declaration(_pick(parsed, name), catalog, parsed.source)


def compile_queries(text: str, catalog: Catalog, *, file: str | None = None) -> tuple[CompiledQuery, ...]:
    """Every query of a text; one CompileError with the errors of all of them."""
    parsed = parse(text, file)
    _require_unique_names(parsed)
    compiled: list[CompiledQuery] = []
    diagnostics: list[Diagnostic] = []
    for declaration in parsed.declarations:
        try:
            compiled.append(check_declaration(declaration, catalog, parsed.source))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
    if diagnostics:
        raise CompileError(tuple(diagnostics))
    return tuple(compiled)


def _pick(parsed: Parsed, name: str | None) -> QueryDeclaration:
    names = tuple(declaration.name for declaration in parsed.declarations)
    if name is None:
        if len(names) != 1:
            raise QueryNameRequired(names)
        return parsed.declarations[0]
    for declaration in parsed.declarations:
        if declaration.name == name:
            return declaration
    raise UnknownQuery(name, names)


def _require_unique_names(parsed: Parsed) -> None:
    report = Report(parsed.source)
    for refusal in duplicate_names(parsed).values():
        report.refuse(refusal)
    report.raise_errors()


def duplicate_names(parsed: Parsed) -> dict[int, RefusalError]:
    """The declarations, by position, whose name an earlier one has."""
    first: dict[str, QueryDeclaration] = {}
    refusals: dict[int, RefusalError] = {}
    for index, declaration in enumerate(parsed.declarations):
        earlier = first.setdefault(declaration.name, declaration)
        if earlier is not declaration:
            line = parsed.source.position(earlier.name_at.start).line
            message = f"query '{declaration.name}' is declared twice"
            refusals[index] = RefusalError(None, message, declaration.name_at, f"the first one is on line {line}")
    return refusals


def check_declaration(declaration: QueryDeclaration, catalog: Catalog, source: SourceText) -> CompiledQuery:
    """Check and lower one parsed declaration."""
    report = Report(source)
    try:
        params = resolve_params(declaration)
    except RefusalError as refusal:
        report.refuse(refusal)
        params = ()
    report.raise_errors()
    session = Session(catalog, {param.name: param for param in params}, report)
    if isinstance(declaration.body, Reading):
        return _compile_reading(declaration, declaration.body, params, session)
    return _compile_writing(declaration, declaration.body, params, session)


def _compile_reading(
    declaration: QueryDeclaration, reading: Reading, params: tuple[Param, ...], session: Session
) -> CompiledQuery:
    scope = Scope(session, bound_variables(reading.match.clauses))
    checked = check_block(scope, reading.match)
    outputs = check_items(scope, reading.items)
    order = check_order(scope, reading, outputs)
    limit = check_count(scope, reading.limit, "limit")
    offset = check_count(scope, reading.offset, "offset")
    session.report.raise_errors()
    columns = tuple(output.column for output in outputs)
    ir = QueryIR(
        name=declaration.name,
        params=params,
        pipeline=lower_block(checked, frozenset(), session.hidden_name),
        return_exprs=tuple(output.item for output in outputs),
        order_by=order,
        limit=limit,
        offset=offset,
        distinct=reading.distinct,
        bindings=tuple(sorted(scope.own.values(), key=lambda bound: bound.name)),
    )
    operation = Operation(columns, type_refs(session.node_reads, session.edge_reads), ())
    warnings = tuple(session.report.warnings)
    return CompiledQuery(declaration.name, kind_of(declaration), params, ir, operation, columns, warnings)


def _compile_writing(
    declaration: QueryDeclaration, writing: Writing, params: tuple[Param, ...], session: Session
) -> CompiledQuery:
    ops = check_mutation(Scope(session, frozenset()), declaration, writing)
    session.report.raise_errors()
    ir = MutationIR(declaration.name, params, ops)
    operation = _mutation_footprint(ir, session.catalog)
    warnings = tuple(session.report.warnings)
    return CompiledQuery(declaration.name, kind_of(declaration), params, ir, operation, (), warnings)


def _mutation_footprint(ir: MutationIR, catalog: Catalog) -> Operation:
    """Targets are read and written; edge inserts read their ends; node deletes take the incident edges along."""
    node_reads: set[str] = set()
    nodes: set[str] = set()
    edges: set[str] = set()
    for op in ir.ops:
        if isinstance(op, InsertOp | DeleteOp) and op.entity == "edge":
            edges.add(op.type_name)
            edge = catalog.edge(op.type_name)
            if isinstance(op, InsertOp) and edge is not None:
                node_reads |= {edge.from_type, edge.to_type}
            continue
        nodes.add(op.type_name)
        if isinstance(op, DeleteOp):
            edges |= {edge.name for edge in catalog.edges_touching(op.type_name)}
    reads = type_refs(node_reads | nodes, edges)
    return Operation((), reads, type_refs(nodes, edges))
