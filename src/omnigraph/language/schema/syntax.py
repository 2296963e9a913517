"""Syntax tree of a `.pg` text: what was written, with the place of every part. Nothing is checked or expanded here."""

from __future__ import annotations

from typing import Literal

from omnigraph.language.schema.catalog import Annotation
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import PropType

TypeKind = Literal["interface", "node", "edge"]


@dataclass(frozen=True, slots=True)
class Place:
    """A range of character offsets in the source text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier where it was written."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Comment:
    """A line or block comment, kept for the formatter."""

    text: str
    place: Place


ArgumentForm = Literal["string", "integer", "float", "bool", "name"]


@dataclass(frozen=True, slots=True)
class Argument:
    """A literal or a bare word between parentheses. `text` is the decoded value, which is what gets stored."""

    form: ArgumentForm
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class RangeArgument:
    """`lo..hi` with either side open."""

    minimum: int | float | None
    maximum: int | float | None
    place: Place


@dataclass(frozen=True, slots=True)
class AnnotationSyntax:
    """`@name(value, key="text")` after a type header or a property type."""

    name: Name
    argument: Argument | None
    keywords: tuple[tuple[Name, Argument], ...]
    place: Place

    def stored(self) -> Annotation:
        """As the IR keeps it: text arguments, keywords sorted, the last of a repeated keyword."""
        kwargs = {key.text: value.text for key, value in self.keywords}
        value = self.argument.text if self.argument else None
        return Annotation(self.name.text, value, tuple(sorted(kwargs.items())))


ConstraintName = Literal["key", "unique", "index", "range", "check"]


@dataclass(frozen=True, slots=True)
class ConstraintSyntax:
    """`@key(a, b)`, `@range(n, 0..9)`, … in a body."""

    name: ConstraintName
    arguments: tuple[Argument | RangeArgument, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class TypeSyntax:
    type: PropType
    place: Place
    written_values: tuple[str, ...] = ()
    """The values of an enum in the order of the text, which has no meaning but is the author's."""


@dataclass(frozen=True, slots=True)
class PropertyDecl:
    name: Name
    type: TypeSyntax
    annotations: tuple[AnnotationSyntax, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class CardinalitySyntax:
    minimum: int
    maximum: int | None
    place: Place


@dataclass(frozen=True, slots=True)
class InterfaceDecl:
    name: Name
    properties: tuple[PropertyDecl, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class NodeDecl:
    name: Name
    annotations: tuple[AnnotationSyntax, ...]
    implements: tuple[Name, ...]
    properties: tuple[PropertyDecl, ...]
    constraints: tuple[ConstraintSyntax, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class EdgeDecl:
    name: Name
    from_type: Name
    to_type: Name
    cardinality: CardinalitySyntax | None
    annotations: tuple[AnnotationSyntax, ...]
    properties: tuple[PropertyDecl, ...]
    constraints: tuple[ConstraintSyntax, ...]
    has_body: bool
    place: Place


Declaration = InterfaceDecl | NodeDecl | EdgeDecl


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A whole text: its declarations in written order, and its comments."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = ()

    @property
    def interfaces(self) -> tuple[InterfaceDecl, ...]:
        return tuple(d for d in self.declarations if isinstance(d, InterfaceDecl))

    @property
    def nodes(self) -> tuple[NodeDecl, ...]:
        return tuple(d for d in self.declarations if isinstance(d, NodeDecl))

    @property
    def edges(self) -> tuple[EdgeDecl, ...]:
        return tuple(d for d in self.declarations if isinstance(d, EdgeDecl))
