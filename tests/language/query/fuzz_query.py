"""Fuzzing of the query compiler: any text compiles or raises CompileError, and formatting keeps its meaning.

`fuzz_once(data)` is one trial from raw bytes; the suite calls it with drawn bytes, a fuzzer may call it for hours.
"""

from __future__ import annotations

from language.query.library import CATALOG, language_cases, source_of
from omnigraph.language import CompileError
from omnigraph.language.query import compile_queries, format_query, lint_queries
from omnigraph.language.query.parse.parser import parse

LARGE = """query a($x: String?, $n: I64) @description("d") @instruction("i") {
  match { $p: Person { name: $x, age: 1 } $p $w:<knows> $q or { $x is null { $p.age > -1 $p.tags contains "a" } }
          maybe { $p worksAt{1,} $c } not { $p.name in ["a"] } search($p.name, "x") = false }
  return distinct { $p.name as n, count(distinct $q) as c, $p.*, distance($p knows{1,3} $q) as far, $w.weight as w }
  order { n desc, c } limit $n offset 3
}
query b($t: String) @description("b") { insert Note { text: $t rank: 1 }
  update Note set { rank: 2 } where rank is null }
query c($t: [String]) { delete Note where text in $t }"""
PROGRAMS = [*(source_of(row) for row in language_cases()), *[LARGE] * 40]
PIECES = [
    "query", "q", "(", ")", "{", "}", "[", "]", ",", ":", ".", "*", "?", "<", ">", "=", "!=", ">=", "<=", "-", "@",
    "match", "return", "distinct", "order", "limit", "offset", "asc", "desc", "as", "not", "or", "maybe", "is", "in",
    "null", "true", "contains", "starts_with", "insert", "update", "delete", "set", "where", "now", "date", "datetime",
    "count", "sum", "avg", "min", "max", "nearest", "bm25", "rrf", "search", "fuzzy", "match_text", "distance",
    "description", "instruction", "name", "age", "tags", "born", "emb", "title", "payload", "from", "to", "weight",
    "knows", "worksAt", "cites", "ghost", "Person", "Company", "Doc", "Knows", "Ghost", "String", "I32", "Vector",
    "$p", "$q", "$w", "$n", "$_", "$__x", "0", "1", "2", "9223372036854775808", "1.5", '"x"', '"Ann"', '"', "'", "//",
    "/*", "*/", "\n", "é", "$", "\\",
]  # fmt: skip


def text_of(data: bytes) -> str:
    """A text from bytes: plain garbage, a stream of tokens, or a real program with pieces changed."""
    if not data:
        return ""
    mode, rest = data[0] % 3, data[1:]
    if mode == 0:
        return rest.decode("utf-8", errors="replace")
    if mode == 1:
        return " ".join(PIECES[byte % len(PIECES)] for byte in rest)
    return mutated(rest)


def mutated(data: bytes) -> str:
    if len(data) < 2:
        return PROGRAMS[0]
    words = PROGRAMS[int.from_bytes(data[:2], "big") % len(PROGRAMS)].split(" ")
    for place, piece, how in zip(data[2::3], data[3::3], data[4::3], strict=False):
        index = place % (len(words) or 1)
        if how % 3 == 0:
            words[index : index + 1] = []
        elif how % 3 == 1:
            words[index:index] = [PIECES[piece % len(PIECES)]]
        else:
            words[index : index + 1] = [PIECES[piece % len(PIECES)]]
    return " ".join(words)


def fuzz_once(data: bytes) -> None:
    """One trial. Raises AssertionError, or whatever escaped, when a promise is broken."""
    text = text_of(data)
    lint_queries(text, CATALOG)
    try:
        before = parse(text)
    except CompileError as error:
        error.render()
        return
    check_format(text)
    error = compile_error_of(text)
    assert error is None or all(d.position is not None for d in error.diagnostics)
    assert before.declarations == parse(text).declarations


def compile_error_of(text: str) -> CompileError | None:
    try:
        compile_queries(text, CATALOG)
    except CompileError as error:
        error.render()
        return error
    return None


def check_format(text: str) -> str:
    """Formatting keeps the tree and the comments, and does nothing the second time."""
    before = parse(text)
    formatted = format_query(text)
    after = parse(formatted)
    assert after.declarations == before.declarations
    assert sorted(c.text.rstrip() for c in after.comments) == sorted(c.text.rstrip() for c in before.comments)
    assert format_query(formatted) == formatted
    return formatted
