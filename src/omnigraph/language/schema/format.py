"""Formatter: the canonical text of a schema. Order is the author's, layout is ours, comments stay where they speak.

A comment on a line of its own stays above what follows it, a comment at the end of a line stays there, and one inside
a declaration or property moves above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from omnigraph.language.diagnostics import SourceText
from omnigraph.language.schema.parser import parse_schema
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.steps import quote
from omnigraph.language.schema.syntax import (
    AnnotationSyntax,
    Argument,
    Comment,
    ConstraintSyntax,
    Declaration,
    EdgeDecl,
    InterfaceDecl,
    NodeDecl,
    PropertyDecl,
    RangeArgument,
    SchemaFile,
    TypeSyntax,
)

_INDENT = "    "


def format_schema(text: str, file: str | None = None) -> str:
    """The canonical text, or CompileError when the text cannot be read. Formatting twice changes nothing."""
    report = Report(SourceText(text, file))
    report.check_encoding()
    parsed = parse_schema(report)
    report.raise_if_failed()
    return _Layout(text, parsed).text()


class _Layout:
    """Lines so far, comments to come, and the source offset up to which everything is written."""

    def __init__(self, source: str, file: SchemaFile) -> None:
        self.source = source
        self.file = file
        self.waiting = list(reversed(file.comments))
        self.lines: list[str] = []
        self.done = 0

    def text(self) -> str:
        previous: Declaration | None = None
        for declaration in self.file.declarations:
            if previous is not None and not self._stay_together(previous, declaration):
                self.lines.append("")
            self._declaration(declaration)
            previous = declaration
        self._comments_before(len(self.source) + 1, "")
        return "\n".join(self.lines) + "\n" if self.lines else ""

    def _stay_together(self, one: Declaration, two: Declaration) -> bool:
        """Edges without a body may stand in a block."""
        bare = all(isinstance(d, EdgeDecl) and self._is_bare(d) for d in (one, two))
        return bare and not self._blank_before(self._next_start(two.place.start))

    def _is_bare(self, edge: EdgeDecl) -> bool:
        empty = not edge.properties and not edge.constraints
        return empty and not any(_header_end(edge) < c.place.start < edge.place.end for c in self.file.comments)

    # --- declarations ---------------------------------------------------------------------------------

    def _declaration(self, declaration: Declaration) -> None:
        members = _members(declaration)
        header_end = _header_end(declaration)
        self._open(declaration.place.start, header_end, "")
        if isinstance(declaration, EdgeDecl) and self._is_bare(declaration):
            self._write(_header(declaration), declaration.place.end, "")
            return
        self.lines.append(f"{_header(declaration)} {{")
        self.done = header_end
        self._trailing(members[0].place.start if members else declaration.place.end)
        first = len(self.lines)
        for member in members:
            self._open(member.place.start, member.place.end, _INDENT, first)
            text = _property(member) if isinstance(member, PropertyDecl) else _constraint(member)
            self._write(text, member.place.end, _INDENT)
        self._comments_before(declaration.place.end, _INDENT, first)
        if len(self.lines) == first and self.lines[-1].endswith("{"):
            self.lines[-1] += "}"
        else:
            self.lines.append("}")
        self.done = declaration.place.end
        self._trailing(len(self.source))

    def _open(self, start: int, end: int, indent: str, first: int = 0) -> None:
        """Everything above an item: the comments before it, a blank line if there was one, the comments inside it."""
        self._comments_before(start, indent, first)
        self._gap(start, first)
        while self.waiting and self.waiting[-1].place.start < end:
            self.lines.append(indent + self.waiting.pop().text)

    def _write(self, text: str, end: int, indent: str) -> None:
        self.lines.append(indent + text)
        self.done = end
        self._trailing(len(self.source))

    # --- comments and blank lines ---------------------------------------------------------------------

    def _comments_before(self, offset: int, indent: str, first: int = 0) -> None:
        while self.waiting and self.waiting[-1].place.start < offset:
            comment = self.waiting.pop()
            self._gap(comment.place.start, first)
            self.lines.append(indent + comment.text)
            self.done = comment.place.end

    def _trailing(self, limit: int) -> None:
        """Comments on the line where the last item ended."""
        while self.waiting and self._follows_on_line(self.waiting[-1], limit):
            comment = self.waiting.pop()
            self.lines[-1] += f" {comment.text}"
            self.done = comment.place.end

    def _follows_on_line(self, comment: Comment, limit: int) -> bool:
        between = self.source[self.done : comment.place.start]
        return comment.place.start < limit and not between.strip(" \t\r{")

    def _gap(self, start: int, first: int) -> None:
        """Keep one blank line where the text had some, but none at the start of a block."""
        if len(self.lines) > first and self.lines[-1] and self._blank_before(start):
            self.lines.append("")

    def _blank_before(self, start: int) -> bool:
        return self.source[self.done : start].count("\n") >= 2

    def _next_start(self, start: int) -> int:
        return min(start, self.waiting[-1].place.start) if self.waiting else start


# --- the text of one part ---------------------------------------------------------------------------------


def _members(declaration: Declaration) -> Sequence[PropertyDecl | ConstraintSyntax]:
    if isinstance(declaration, InterfaceDecl):
        return declaration.properties
    return sorted((*declaration.properties, *declaration.constraints), key=lambda member: member.place.start)


def _header_end(declaration: Declaration) -> int:
    ends = [declaration.name.place.end]
    if not isinstance(declaration, InterfaceDecl):
        ends += [annotation.place.end for annotation in declaration.annotations]
    if isinstance(declaration, NodeDecl):
        ends += [name.place.end for name in declaration.implements]
    if isinstance(declaration, EdgeDecl):
        ends.append(declaration.to_type.place.end)
        ends += [declaration.cardinality.place.end] if declaration.cardinality else []
    return max(ends)


def _header(declaration: Declaration) -> str:
    name = declaration.name.text
    match declaration:
        case InterfaceDecl():
            return f"interface {name}"
        case NodeDecl(annotations=annotations, implements=implements):
            words = ["node", name, *map(_annotation, annotations)]
            if implements:
                words += ["implements", ", ".join(interface.text for interface in implements)]
            return " ".join(words)
        case EdgeDecl(from_type=from_type, to_type=to_type, cardinality=card, annotations=annotations):
            words = [f"edge {name}: {from_type.text} -> {to_type.text}"]
            if card is not None:
                words.append(f"@card({card.minimum}..{'' if card.maximum is None else card.maximum})")
            return " ".join([*words, *map(_annotation, annotations)])


def _property(prop: PropertyDecl) -> str:
    return " ".join([f"{prop.name.text}: {_type(prop.type)}", *map(_annotation, prop.annotations)])


def _type(type_: TypeSyntax) -> str:
    if not type_.written_values:
        return str(type_.type)
    return f"enum({', '.join(type_.written_values)})" + ("?" if type_.type.nullable else "")


def _annotation(annotation: AnnotationSyntax) -> str:
    if annotation.argument is None:
        return f"@{annotation.name.text}"
    keywords = [f"{key.text}={_argument(value)}" for key, value in annotation.keywords]
    return f"@{annotation.name.text}({', '.join([_argument(annotation.argument), *keywords])})"


def _constraint(constraint: ConstraintSyntax) -> str:
    return f"@{constraint.name}({', '.join(map(_argument, constraint.arguments))})"


def _argument(argument: Argument | RangeArgument) -> str:
    if isinstance(argument, RangeArgument):
        return f"{_bound(argument.minimum)}..{_bound(argument.maximum)}"
    return quote(argument.text) if argument.form == "string" else argument.text


def _bound(bound: int | float | None) -> str:
    """The grammar has no exponents."""
    if bound is None:
        return ""
    text = format(Decimal(repr(bound)), "f")
    return text if isinstance(bound, int) or "." in text else f"{text}.0"
