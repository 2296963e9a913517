"""Scope: which variables and parameters a clause can see, and where the checker puts its complaints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from omnigraph.language.diagnostics import CompileError, Diagnostic, SourceText, Stage, did_you_mean
from omnigraph.language.query.ir import Bound, Param
from omnigraph.language.query.parse import ANONYMOUS, Extent
from omnigraph.language.schema import Catalog
from omnigraph.model.identifiers import EntityKind


class RefusalError(Exception):
    """One rule refuses one place. A silent one stands for a follow-up of something already reported."""

    def __init__(
        self,
        code: str | None,
        message: str,
        at: Extent,
        hint: str | None = None,
        *,
        stage: Stage = "type",
        silent: bool = False,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.at, self.hint = code, message, at, hint
        self.stage = stage
        self.silent = silent


@dataclass
class Report:
    """Collects refusals and warnings about one query."""

    source: SourceText
    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)

    def refuse(self, refusal: RefusalError) -> None:
        if not refusal.silent:
            start, end = refusal.at
            found = self.source.diagnostic(
                refusal.stage, refusal.message, start, end, code=refusal.code, hint=refusal.hint
            )
            self.errors.append(found)

    def warn(self, message: str, at: Extent, hint: str | None = None) -> None:
        start, end = at
        self.warnings.append(self.source.diagnostic("type", message, start, end, severity="warning", hint=hint))

    def raise_errors(self) -> None:
        if self.errors:
            raise CompileError((*self.errors, *self.warnings))


@dataclass
class Session:
    """What is shared by all scopes of one query."""

    catalog: Catalog
    params: dict[str, Param]
    report: Report
    node_reads: set[str] = field(default_factory=set)
    edge_reads: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    """Variables whose clause was refused: uses of them are not reported again."""
    broken_columns: set[str] = field(default_factory=set)
    """Output columns whose item was refused, for the same reason."""
    hidden: int = 0

    def hidden_name(self, purpose: str) -> str:
        """A fresh name that no user variable can have."""
        self.hidden += 1
        return f"__{purpose}{self.hidden}"


class Scope:
    """The variables of one block of clauses, on top of those outside."""

    def __init__(self, session: Session, declares: frozenset[str], parent: Scope | None = None) -> None:
        self.session = session
        self.declares = declares
        """Every name that this block introduces somewhere; an inner block must not take one of them before."""
        self.parent = parent
        self.own: dict[str, Bound] = {}
        """By the name in the text; `Bound.name` is the name in the IR."""

    def find(self, name: str) -> Bound | None:
        found = self.own.get(name)
        if found is None and self.parent is not None:
            return self.parent.find(name)
        return found

    def names(self) -> set[str]:
        outside = self.parent.names() if self.parent is not None else set()
        return outside | set(self.own)

    def introduce(self, name: str, entity: EntityKind, type_name: str, at: Extent) -> Bound:
        """Bind a fresh variable; `$_` gets a name of its own each time."""
        if name == ANONYMOUS:
            bound = Bound(self.session.hidden_name("anonymous"), entity, type_name)
            self.own[bound.name] = bound
            return bound
        self.require_user_name(name, at)
        internal = name
        if self.parent is not None and self.parent.will_declare(name):
            internal = f"{self.session.hidden_name('inner')}_{name}"
        bound = Bound(internal, entity, type_name)
        self.own[name] = bound
        return bound

    def will_declare(self, name: str) -> bool:
        return name in self.declares or (self.parent is not None and self.parent.will_declare(name))

    def require_user_name(self, name: str, at: Extent) -> None:
        if name.startswith("__"):
            raise RefusalError(None, f"the name ${name} is reserved", at, "names must not begin with two underscores")

    def adopt(self, inner: Scope) -> tuple[Bound, ...]:
        """Take over the variables of a `maybe` block; outside of it they may be NULL."""
        exports: list[Bound] = []
        for name, bound in inner.own.items():
            outside = replace(bound, nullable=True)
            self.own[name] = outside
            exports.append(outside)
        return tuple(exports)

    def required(self, name: str, at: Extent, code: str | None) -> Bound:
        """The variable, or a refusal; silent when its clause was refused before."""
        bound = self.find(name)
        if bound is None:
            if name in self.session.broken:
                raise RefusalError(code, "", at, silent=True)
            if name == ANONYMOUS:
                raise RefusalError(code, "$_ has no name to refer to", at, "give the node a variable of its own")
            message = f"variable ${name} is not bound"
            hint = did_you_mean(name, self.names() | set(self.session.params))
            if code == "T6" and name in self.session.params:
                message, hint = f"parameter ${name} has no properties and no variable ${name} is bound", None
            elif hint is None:
                hint = f"bind it first: ${name}: SomeType" if code != "T14" else None
            raise RefusalError(code, message, at, hint)
        return bound
