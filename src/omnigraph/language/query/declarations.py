"""Declarations: what a query says about itself before its body: name, parameters, notes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal as OneOf

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.check import RefusalError
from omnigraph.language.query.ir import NOW, Param
from omnigraph.language.query.parse import ParamDeclaration, ParamType, QueryDeclaration, Reading
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import VECTOR_DIMENSION_MAX, PropType, Scalar

QueryKind = OneOf["read", "mutation"]


@dataclass(frozen=True, slots=True)
class Declaration:
    """One query of a source text."""

    name: str
    kind: QueryKind
    params: tuple[Param, ...]
    description: str | None = None
    instruction: str | None = None


@dataclass(frozen=True)
class QuerySource:
    """The declarations of one text, in order."""

    declarations: tuple[Declaration, ...]
    file: str | None = None

    @cached_property
    def by_name(self) -> Mapping[str, Declaration]:
        return {declaration.name: declaration for declaration in reversed(self.declarations)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(declaration.name for declaration in self.declarations)


def declare(declaration: QueryDeclaration) -> Declaration:
    notes = {note.name: note.text for note in declaration.notes}
    return Declaration(
        declaration.name,
        kind_of(declaration),
        resolve_params(declaration),
        notes.get("description"),
        notes.get("instruction"),
    )


def kind_of(declaration: QueryDeclaration) -> QueryKind:
    return "read" if isinstance(declaration.body, Reading) else "mutation"


def resolve_params(declaration: QueryDeclaration) -> tuple[Param, ...]:
    """The parameters with their types; refuses reserved and repeated names and types that do not exist."""
    params: dict[str, Param] = {}
    for written in declaration.params:
        if written.name == NOW or written.name.startswith("__"):
            raise RefusalError(None, f"reserved parameter name ${written.name}", written.at, "choose another name")
        if written.name == "_":
            raise RefusalError(None, "a parameter cannot be called $_", written.at, "choose another name")
        if written.name in params:
            raise RefusalError(None, f"parameter ${written.name} is declared twice", written.at)
        params[written.name] = Param(written.name, _resolve_type(written))
    return tuple(params.values())


def _resolve_type(param: ParamDeclaration) -> PropType:
    written: ParamType = param.type
    known = {scalar.value: scalar for scalar in Scalar}
    scalar = known.get(written.word)
    if scalar is None:
        hint = did_you_mean(written.word, known) or f"one of: {', '.join(known)}"
        raise RefusalError(None, f"unknown parameter type '{written.word}' for ${param.name}", written.at, hint)
    if scalar is Scalar.VECTOR and not 1 <= (written.dimension or 0) <= VECTOR_DIMENSION_MAX:
        raise RefusalError(
            None,
            f"unknown parameter type 'Vector({written.dimension})' for ${param.name}",
            written.at,
            f"the dimension is between 1 and {VECTOR_DIMENSION_MAX}",
        )
    return PropType(scalar, written.nullable, written.is_list, written.dimension)
