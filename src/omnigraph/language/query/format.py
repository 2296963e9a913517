"""The formatter: one canonical layout for query text. Formatting twice changes nothing; comments stay in place.

The tree is printed as lines that remember where they came from. Each comment is then woven in: behind the line that it
followed on its source line, or on a line of its own above the first line that comes after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from omnigraph.language.query.parse import (
    AggregateCall,
    Binding,
    Block,
    Bm25Call,
    Clause,
    Comment,
    Comparison,
    Constant,
    Delete,
    DistanceCall,
    Extent,
    Field,
    Insert,
    Item,
    Maybe,
    Membership,
    NearestCall,
    Not,
    Now,
    NullCheck,
    Or,
    Pair,
    ParamDeclaration,
    Parsed,
    QueryDeclaration,
    Reading,
    RrfCall,
    Sort,
    Star,
    Statement,
    Test,
    TextCall,
    TextClause,
    Traversal,
    Update,
    Value,
    Var,
    Word,
    Writing,
    literal_text,
    parse,
    quote,
)

WIDTH = 100
_INDENT = "    "


def format_query(text: str, file: str | None = None) -> str:
    """The canonical form of a text; CompileError when it does not parse."""
    parsed = parse(text, file)
    return _weave(_Printer(parsed).lines(), parsed)


# --- values and clauses as text ---------------------------------------------------------------------------


def value_text(value: Value) -> str:
    match value:
        case Now():
            return "now()"
        case Constant(value=literal):
            return literal_text(literal)
        case Var(name=name):
            return f"${name}"
        case Field(variable=variable, name=name):
            return f"${variable}.{name}"
        case Star(variable=variable):
            return f"${variable}.*"
        case Word(name=name):
            return name
        case AggregateCall(function=function, argument=argument, distinct=distinct):
            return f"{function}({'distinct ' if distinct else ''}{value_text(argument)})"
        case TextCall(function=function, target=target, query=query, edits=edits):
            return _call(function, target, query, edits)
        case NearestCall(target=field_, query=query):
            return _call("nearest", field_, query)
        case Bm25Call(target=target, query=query):
            return _call("bm25", target, query)
        case RrfCall(primary=primary, secondary=secondary, k=k):
            return _call("rrf", primary, secondary, k)
        case DistanceCall(path=path):
            return f"distance({_traversal_text(path)})"


def _call(name: str, *arguments: Value | None) -> str:
    return f"{name}({', '.join(value_text(a) for a in arguments if a is not None)})"


def _traversal_text(traversal: Traversal) -> str:
    word = f"<{traversal.word}>" if traversal.undirected else traversal.word
    if traversal.hops is not None:
        upper = "" if traversal.hops.maximum is None else str(traversal.hops.maximum)
        word += f"{{{traversal.hops.minimum},{upper}}}"
    edge = f"${traversal.edge.name}:" if traversal.edge is not None else ""
    return f"${traversal.left.name} {edge}{word} ${traversal.right.name}"


def _pair_text(pair: Pair) -> str:
    return f"{pair.name}: {value_text(pair.value)}"


def _simple_clause(
    clause: Binding | Traversal | Comparison | NullCheck | Membership | TextClause,
) -> str:
    match clause:
        case Binding(variable=variable, type_name=type_name, pairs=pairs):
            tests = f" {{ {', '.join(_pair_text(pair) for pair in pairs)} }}" if pairs else ""
            return f"${variable}: {type_name}{tests}"
        case Traversal():
            return _traversal_text(clause)
        case Comparison(left=left, sign=sign, right=right):
            return f"{value_text(left)} {sign} {value_text(right)}"
        case NullCheck(value=value, negated=negated):
            return f"{value_text(value)} is {'not ' if negated else ''}null"
        case Membership(value=value, members=members):
            return f"{value_text(value)} in {value_text(members)}"
        case TextClause(call=call):
            return value_text(call)


def _item_text(item: Item) -> str:
    return value_text(item.value) + (f" as {item.alias}" if item.alias else "")


def _sort_text(sort: Sort) -> str:
    return value_text(sort.value) + (f" {sort.direction}" if sort.direction else "")


def _test_text(test: Test) -> str:
    return f"{test.property} {test.sign}" + ("" if test.value is None else f" {value_text(test.value)}")


def _param_text(param: ParamDeclaration) -> str:
    kind = param.type.word
    if param.type.dimension is not None:
        kind += f"({param.type.dimension})"
    if param.type.is_list:
        kind = f"[{kind}]"
    return f"${param.name}: {kind}{'?' if param.type.nullable else ''}"


# --- lines ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Line:
    """One line of output and the piece of source that it stands for."""

    text: str
    depth: int
    start: int
    end: int
    above: list[str] = field(default_factory=list)
    behind: str | None = None
    gap: bool = False
    """A blank line comes first."""


class _Printer:
    """Prints the tree of one text, line by line."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self.out: list[_Line] = []

    def lines(self) -> list[_Line]:
        for index, declaration in enumerate(self.parsed.declarations):
            first = len(self.out)
            self._query(declaration)
            self.out[first].gap = index > 0
        return self.out

    def _line(self, text: str, depth: int, start: int, end: int) -> None:
        self.out.append(_Line(text, depth, start, end))

    def _close(self, depth: int, at: Extent) -> None:
        self._line("}", depth, at.end - 1, at.end)

    def _commented(self, at: Extent) -> bool:
        return any(at.start < comment.start < at.end for comment in self.parsed.comments)

    def _query(self, query: QueryDeclaration) -> None:
        params = ", ".join(_param_text(param) for param in query.params)
        head = f"query {query.name}({params})"
        head_end = query.params[-1].at.end if query.params else query.name_at.end
        if query.notes:
            self._line(head, 0, query.at.start, head_end)
            for note in query.notes:
                self._line(f"@{note.name}({quote(note.text)})", 1, note.at.start, note.at.end)
            self._line("{", 0, query.body_at.start, query.body_at.start + 1)
        else:
            self._line(f"{head} {{", 0, query.at.start, head_end)
        if isinstance(query.body, Reading):
            self._reading(query.body)
        else:
            self._writing(query.body)
        self._close(0, query.at)

    def _reading(self, reading: Reading) -> None:
        start = reading.at.start
        self._block("match", reading.match, 1, start)
        self._listed(
            "return distinct" if reading.distinct else "return",
            [(_item_text(item), item.at) for item in reading.items],
            1,
            reading.return_at,
        )
        if reading.order:
            keys = ", ".join(_sort_text(sort) for sort in reading.order)
            self._line(f"order {{ {keys} }}", 1, reading.order_at.start, reading.order_at.end)
        counts = [("limit", reading.limit), ("offset", reading.offset)]
        for word, count in counts:
            if count is not None:
                self._line(f"{word} {value_text(count)}", 1, count.at.start, count.at.end)

    def _block(self, word: str, block: Block, depth: int, start: int) -> None:
        head = f"{word} {{" if word else "{"
        self._line(head, depth, start, start + len(word))
        for clause in block.clauses:
            self._clause(clause, depth + 1)
        self._close(depth, block.at)

    def _clause(self, clause: Clause, depth: int) -> None:
        match clause:
            case Not(block=block, at=at):
                self._block("not", block, depth, at.start)
            case Maybe(block=block, at=at):
                self._block("maybe", block, depth, at.start)
            case Or(alternatives=alternatives, at=at):
                self._line("or {", depth, at.start, at.start + 2)
                for block in alternatives:
                    if len(block.clauses) == 1:
                        self._clause(block.clauses[0], depth + 1)
                    else:
                        self._block("", block, depth + 1, block.at.start)
                self._close(depth, at)
            case _:
                self._line(_simple_clause(clause), depth, clause.at.start, clause.at.end)

    def _listed(self, word: str, parts: list[tuple[str, Extent]], depth: int, at: Extent, tail: str = "") -> None:
        """`word { a, b }` on one line if it fits and holds no comment, else one part per line."""
        flat = f"{word} {{ {', '.join(text for text, _ in parts)} }}{tail}"
        if len(flat) + depth * len(_INDENT) <= WIDTH and not self._commented(at):
            self._line(flat, depth, at.start, at.end)
            return
        self._line(f"{word} {{", depth, at.start, at.start)
        for text, part_at in parts:
            self._line(f"{text},", depth + 1, part_at.start, part_at.end)
        self._line(f"}}{tail}", depth, parts[-1][1].end, at.end)

    def _writing(self, writing: Writing) -> None:
        for statement in writing.statements:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        at, name = statement.at, statement.type_name
        match statement:
            case Insert(assignments=assignments):
                self._listed(f"insert {name}", [(_pair_text(p), p.at) for p in assignments], 1, at)
            case Update(assignments=assignments, test=test):
                parts = [(_pair_text(p), p.at) for p in assignments]
                self._listed(f"update {name} set", parts, 1, at, f" where {_test_text(test)}")
            case Delete(test=test):
                self._line(f"delete {name} where {_test_text(test)}", 1, at.start, at.end)


# --- comments ---------------------------------------------------------------------------------------------

_BLANK_LINE_BEHIND = re.compile(r"[ \t\r]*\n[ \t\r]*\n")


def _weave(lines: list[_Line], parsed: Parsed) -> str:
    """The lines as text, with every comment in its place."""
    source = parsed.source.text
    last: list[str] = []
    for comment in parsed.comments:
        before = [line for line in lines if line.start <= comment.start]
        owner = before[-1] if before else None
        after = lines[len(before)] if len(before) < len(lines) else None
        if owner is not None and owner.behind is None and _follows(owner, comment, source):
            owner.behind = _comment_text(comment)
            continue
        inside = owner is not None and comment.start < owner.end
        target = owner if inside and owner is not None else after
        place = last if target is None else target.above
        place.append(_comment_text(comment))
        if (target is None or target.depth == 0) and _BLANK_LINE_BEHIND.match(source, comment.end):
            place.append("")
    return _render(lines, last)


def _follows(line: _Line, comment: Comment, source: str) -> bool:
    """Whether the comment stands on the source line on which this line's piece of source ends."""
    return comment.start >= line.end and "\n" not in source[line.end : comment.start]


def _comment_text(comment: Comment) -> str:
    return comment.text.rstrip()


def _render(lines: list[_Line], last: list[str]) -> str:
    out: list[str] = []
    for line in lines:
        if line.gap:
            out.append("")
        # A closing line holds comments that stood at the end of its block, so they keep the block's depth.
        inner = line.depth + 1 if line.text.startswith("}") else line.depth
        out += [f"{_INDENT * inner}{text}" if text else "" for text in line.above]
        out.append(f"{_INDENT * line.depth}{line.text}" + (f"  {line.behind}" if line.behind else ""))
    if last:
        out += ["", *last] if out else last
    while out and not out[-1]:
        out.pop()
    return "\n".join(out) + "\n" if out else ""
