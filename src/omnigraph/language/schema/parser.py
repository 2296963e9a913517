"""Parser of `.pg` texts: recursive descent, one function per production, several syntax errors per run."""

from __future__ import annotations

import math

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.scanner import PgSyntaxError, Scanner
from omnigraph.language.schema.syntax import (
    AnnotationSyntax,
    Argument,
    CardinalitySyntax,
    ConstraintName,
    ConstraintSyntax,
    Declaration,
    EdgeDecl,
    InterfaceDecl,
    Name,
    NodeDecl,
    Place,
    PropertyDecl,
    RangeArgument,
    SchemaFile,
    TypeSyntax,
)
from omnigraph.model.types import VECTOR_DIMENSION_MAX, PropType, Scalar

# Longer names first: without word boundaries `DateTime` must not be read as `Date`.
_SCALARS = ("String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date")
_DECLARATIONS = ("interface", "node", "edge")
_CONSTRAINTS: dict[str, ConstraintName] = {
    "key": "key",
    "unique": "unique",
    "index": "index",
    "range": "range",
    "check": "check",
}
_FOREIGN_TYPES = {
    "int": "I64",
    "integer": "I64",
    "int32": "I32",
    "int64": "I64",
    "long": "I64",
    "float": "F64",
    "double": "F64",
    "number": "F64",
    "string": "String",
    "str": "String",
    "text": "String",
    "boolean": "Bool",
    "bool": "Bool",
    "timestamp": "DateTime",
    "bytes": "Blob",
    "binary": "Blob",
}
_U32_MAX = 2**32 - 1
_BROKEN_DECLARATIONS_MAX = 100
"""After this many the text is not a schema with mistakes but something else."""


def parse_schema(report: Report, *, strict: bool = True) -> SchemaFile:
    """Every declaration that can be read. Mistakes go into the report; a broken declaration is left out."""
    parser = _Parser(report, strict=strict)
    return parser.file()


class _Parser:
    def __init__(self, report: Report, *, strict: bool) -> None:
        self.report = report
        self.strict = strict
        self.scan = Scanner(report.source.text, strict=strict)

    # --- declarations ---------------------------------------------------------------------------------

    def file(self) -> SchemaFile:
        declarations: list[Declaration] = []
        broken = 0
        try:
            self.scan.skip_trivia()
        except PgSyntaxError as problem:
            self._record(problem)
        while not self.scan.at_end:
            try:
                declarations.append(self.declaration())
            except PgSyntaxError as problem:
                self._record(problem)
                broken += 1
                if broken >= _BROKEN_DECLARATIONS_MAX:
                    break
                self._recover()
        return SchemaFile(tuple(declarations), tuple(self.scan.comments))

    def _recover(self) -> None:
        try:
            self.scan.resynchronise()
        except PgSyntaxError as problem:
            self._record(problem)

    def _record(self, problem: PgSyntaxError) -> None:
        self.report.error(problem.stage, problem.message, problem.place, problem.hint)

    def declaration(self) -> Declaration:
        keyword = self.scan.accept_keyword(*_DECLARATIONS)
        if keyword is None:
            word = self.scan.peek_word()
            hint = did_you_mean(word, _DECLARATIONS) if word else None
            if word is not None and word.startswith(_DECLARATIONS):
                hint = "put a space after the keyword"
            if self.scan.sees("#"):
                hint = "comments start with //"
            raise self.scan.unexpected("'interface', 'node' or 'edge'", hint)
        if keyword.text == "interface":
            return self.interface(keyword)
        return self.node(keyword) if keyword.text == "node" else self.edge(keyword)

    def interface(self, keyword: Name) -> InterfaceDecl:
        name = self.scan.type_name("the name of the interface")
        self.scan.expect("{", "an interface has a name and properties, nothing else")
        properties: list[PropertyDecl] = []
        while not self.scan.sees("}"):
            if self.scan.sees("@"):
                raise self.scan.unexpected("a property or '}'", "interfaces have no constraints; put them on the nodes")
            properties.append(self.property())
        self.scan.expect("}")
        return InterfaceDecl(name, tuple(properties), self._since(keyword))

    def node(self, keyword: Name) -> NodeDecl:
        name = self.scan.type_name("the name of the node type")
        annotations = self.annotations()
        implements: list[Name] = []
        if self.scan.accept_keyword("implements"):
            implements.append(self.scan.type_name("the name of an interface"))
            while self.scan.accept(","):
                implements.append(self.scan.type_name("the name of an interface"))
            if self.scan.sees("@"):
                raise self.scan.unexpected("'{'", "annotations of a node come before 'implements'")
        properties, constraints = self.body()
        return NodeDecl(name, annotations, tuple(implements), properties, constraints, self._since(keyword))

    def edge(self, keyword: Name) -> EdgeDecl:
        name = self.scan.type_name("the name of the edge type")
        self.scan.expect(":", f"an edge names its endpoints: edge {name.text}: From -> To")
        from_type = self.scan.type_name("the node type where the edge starts")
        self.scan.expect("->")
        to_type = self.scan.type_name("the node type where the edge ends")
        cardinality = self.cardinality() if self.scan.sees_cardinality() else None
        annotations = self.annotations()
        if self.scan.sees_constraint():
            raise self.scan.unexpected(
                "'{' or the next declaration", "put the constraints of an edge in its body { … }"
            )
        properties: tuple[PropertyDecl, ...] = ()
        constraints: tuple[ConstraintSyntax, ...] = ()
        has_body = self.scan.sees("{")
        if has_body:
            properties, constraints = self.body()
        place = self._since(keyword)
        return EdgeDecl(name, from_type, to_type, cardinality, annotations, properties, constraints, has_body, place)

    def cardinality(self) -> CardinalitySyntax:
        opening = self.scan.expect("@")
        self.scan.accept_keyword("card")
        self.scan.expect("(")
        minimum, first = self.scan.integer("the smallest number of edges")
        if self.scan.sees(")"):
            hint = f"write @card({minimum}..{minimum}) for exactly {minimum}"
            raise PgSyntaxError("@card needs a range", first, hint, stage="parse")
        self.scan.expect("..")
        maximum: int | None = None
        if not self.scan.sees(")"):
            maximum, _ = self.scan.integer("the largest number of edges, or ')' for no limit")
        place = Place(opening.start, self.scan.expect(")").end)
        if max(minimum, maximum or 0) > _U32_MAX:
            self.report.error("parse", f"@card bounds must not exceed {_U32_MAX}", place)
        elif maximum is not None and minimum > maximum:
            self.report.error("parse", f"@card minimum {minimum} is above its maximum {maximum}", place)
        return CardinalitySyntax(minimum, maximum, place)

    def body(self) -> tuple[tuple[PropertyDecl, ...], tuple[ConstraintSyntax, ...]]:
        self.scan.expect("{")
        properties: list[PropertyDecl] = []
        constraints: list[ConstraintSyntax] = []
        while not self.scan.sees("}"):
            if self.scan.sees("@"):
                constraints.append(self.constraint())
            else:
                properties.append(self.property())
        self.scan.expect("}")
        return tuple(properties), tuple(constraints)

    # --- properties and types -------------------------------------------------------------------------

    def property(self) -> PropertyDecl:
        if self.scan.sees(","):
            raise self.scan.unexpected("a property or '}'", "properties are not separated by commas")
        if self.scan.sees_declaration():
            raise self.scan.unexpected("'}'", "the body before this declaration is not closed")
        name = self.scan.property_name("a property, a constraint or '}'")
        self.scan.expect(":", f"a property has a type: {name.text}: String")
        type_ = self.type()
        annotations = self.annotations()
        return PropertyDecl(name, type_, annotations, Place(name.place.start, self.scan.end))

    def type(self) -> TypeSyntax:
        start = self.scan.at
        written: tuple[str, ...] = ()
        if self.scan.accept("["):
            scalar = self.scalar("the element type", of_list=True)
            closing = "lists hold plain scalars; the list itself may be nullable: [T]?" if self.scan.sees("?") else None
            self.scan.expect("]", closing)
            base = PropType(scalar, is_list=True)
        elif self._call_ahead("enum"):
            base, written = self.enum()
        elif self._call_ahead("Vector"):
            base = self.vector()
        else:
            base = PropType(self.scalar("a type"))
        place = Place(start, self.scan.end)
        if base.is_list and base.is_blob:
            self.report.error(
                "parse", "a list of Blob is not possible", place, "use a node type with one Blob property"
            )
        if self.scan.accept("?"):
            base = PropType(base.scalar, True, base.is_list, base.dimension, base.enum_values)
            place = Place(start, self.scan.end)
        return TypeSyntax(base, place, written)

    def _call_ahead(self, word: str) -> bool:
        return self.scan.peek_word() == word and self.scan.accept_keyword(word) is not None

    def scalar(self, what: str, *, of_list: bool = False) -> Scalar:
        keyword = self.scan.accept_keyword(*_SCALARS)
        if keyword is not None:
            return Scalar(keyword.text)
        word = self.scan.peek_word()
        hint = None
        if of_list and (word in ("Vector", "enum") or self.scan.sees("[")):
            hint = "lists hold plain scalars: no vectors, enums or lists"
        elif word is not None:
            foreign = _FOREIGN_TYPES.get(word.lower())
            hint = f"did you mean '{foreign}'?" if foreign else did_you_mean(word, (*_SCALARS, "Vector", "enum"))
        if word is not None and not of_list:
            found, place = self.scan.found()
            hint = hint or f"types are {', '.join(_SCALARS)}, Vector(n), enum(…) and [T]"
            raise PgSyntaxError(f"unknown type {found}", place, hint)
        raise self.scan.unexpected(what, hint)

    def enum(self) -> tuple[PropType, tuple[str, ...]]:
        self.scan.expect("(", "an enum lists its values: enum(open, closed)")
        seen: dict[str, Name] = {}
        while True:
            value = self.scan.enum_value()
            if value.text in seen:
                self.report.error("parse", f"enum value '{value.text}' is listed twice", value.place)
            seen[value.text] = value
            if not self.scan.accept(","):
                break
        self.scan.expect(")")
        return PropType(Scalar.STRING, enum_values=tuple(sorted(seen))), tuple(seen)

    def vector(self) -> PropType:
        self.scan.expect("(", "a vector has a dimension: Vector(384)")
        dimension, place = self.scan.integer("the number of dimensions")
        self.scan.expect(")")
        if not 1 <= dimension <= VECTOR_DIMENSION_MAX:
            self.report.error("parse", f"a vector has 1 to {VECTOR_DIMENSION_MAX} dimensions", place)
        return PropType(Scalar.VECTOR, dimension=dimension)

    # --- annotations and constraints ------------------------------------------------------------------

    def annotations(self) -> tuple[AnnotationSyntax, ...]:
        found: list[AnnotationSyntax] = []
        while self.scan.sees("@") and not self.scan.sees_constraint():
            if self.scan.sees_cardinality():
                raise self.scan.unexpected(
                    "another annotation or '{'", "@card comes first, right after the endpoints of an edge"
                )
            found.append(self.annotation())
        return tuple(found)

    def annotation(self) -> AnnotationSyntax:
        opening = self.scan.expect("@")
        name = self.scan.property_name("the name of an annotation")
        argument: Argument | None = None
        keywords: list[tuple[Name, Argument]] = []
        if self.scan.accept("("):
            argument = self.argument("a value or a name")
            if self.scan.sees("="):
                hint = f"a plain argument comes first: @{name.text}(value, {argument.text}=…)"
                raise self.scan.unexpected("',' or ')'", hint)
            while self.scan.accept(","):
                key = self.scan.property_name("the name of a keyword argument")
                self.scan.expect("=")
                keywords.append((key, self.argument("a value", names=False)))
            self.scan.expect(")")
        return AnnotationSyntax(name, argument, tuple(keywords), Place(opening.start, self.scan.end))

    def argument(self, what: str, *, names: bool = True) -> Argument:
        if self.scan.sees('"'):
            return self.string()
        if self.scan.sees("-"):
            raise self.scan.unexpected(what, "quote negative numbers")
        if self.scan.sees_number():
            _, number = self.scan.signed_number()
            return number
        word = self.scan.peek_word()
        if word in ("true", "false"):
            return Argument("bool", word, self.scan.property_name(what).place)
        if not names or word is None or word[:1].isupper():
            raise self.scan.unexpected(what, f'quote it: "{word}"' if word else None)
        name = self.scan.property_name(what)
        return Argument("name", name.text, name.place)

    def string(self) -> Argument:
        argument, bad_escape = self.scan.string()
        if bad_escape is not None:
            text = self.report.source.text[bad_escape.start : bad_escape.end]
            self.report.error("parse", f"unknown escape {text}", bad_escape, r"escapes are \" \\ \n \r \t")
        return argument

    def constraint(self) -> ConstraintSyntax:
        if not self.scan.sees_constraint():
            hint = "annotations follow a property; the constraints of a body are @key @unique @index @range @check (…)"
            raise self.scan.unexpected("a property, a constraint or '}'", hint)
        opening = self.scan.expect("@")
        name = _CONSTRAINTS[self.scan.property_name("the name of a constraint").text]
        self.scan.expect("(")
        arguments = [self.constraint_argument(name)]
        while self.scan.accept(","):
            arguments.append(self.constraint_argument(name))
        self.scan.expect(")")
        return ConstraintSyntax(name, tuple(arguments), Place(opening.start, self.scan.end))

    def constraint_argument(self, constraint: ConstraintName) -> Argument | RangeArgument:
        start = self.scan.at
        if self.scan.accept(".."):
            bound, _ = self.scan.signed_number()
            place = Place(start, self.scan.end)
            # The other implementation stores an open minimum as the minimum; texts it accepted keep that reading.
            return self._range(None, bound, place) if self.strict else self._range(bound, None, place)
        if not self.scan.sees_number():
            what = (
                "the name of a property"
                if constraint in ("key", "unique", "index")
                else "a property, a range or a value"
            )
            return self.argument(what)
        minimum, number = self.scan.signed_number()
        if not self.scan.accept(".."):
            return number
        maximum = self.scan.signed_number()[0] if self.scan.sees_number() else None
        return self._range(minimum, maximum, Place(start, self.scan.end))

    def _range(self, minimum: int | float | None, maximum: int | float | None, place: Place) -> RangeArgument:
        if any(isinstance(bound, float) and math.isinf(bound) for bound in (minimum, maximum)):
            self.report.error("parse", "this bound is beyond the largest F64", place)
        return RangeArgument(minimum, maximum, place)

    def _since(self, keyword: Name) -> Place:
        return Place(keyword.place.start, self.scan.end)
