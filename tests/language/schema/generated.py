"""Generated schemas: valid texts in many layouts, from the grammar rather than from examples."""

from __future__ import annotations

from hypothesis import strategies as st

_SCALARS = ("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime")
_GAPS = st.sampled_from((" ", "  ", "\n", " // note\n", " /* note */ ", "\n\n\n", "\t/* a\n b */\n"))
_ENUM_VALUES = st.lists(st.sampled_from(("low", "high", "2fa", "-")), min_size=1, unique=True)
_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).filter(lambda t: bool(t.strip()))


def quoted(text: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


@st.composite
def _annotations(draw: st.DrawFn) -> list[str]:
    found: list[str] = []
    if draw(st.booleans()):
        found.append(f"@description({quoted(draw(_TEXTS))})")
    if draw(st.booleans()):
        found.append(f'@team("x", owner={quoted(draw(_TEXTS))}, size={draw(st.integers(0, 99))})')
    return found


@st.composite
def _property(draw: st.DrawFn, name: str) -> tuple[list[str], bool]:
    """Tokens of a property, and whether it is a plain required scalar."""
    form = draw(st.sampled_from(("scalar", "scalar", "list", "enum", "vector", "Blob")))
    scalar = draw(st.sampled_from(_SCALARS))
    type_ = {
        "scalar": scalar,
        "list": f"[{scalar}]",
        "enum": f"enum({', '.join(draw(_ENUM_VALUES))})",
        "vector": f"Vector({draw(st.integers(1, 9))})",
        "Blob": "Blob",
    }[form]
    nullable = draw(st.booleans())
    tokens = [name, ":", type_ + ("?" if nullable else ""), *draw(_annotations())]
    if form == "scalar" and draw(st.booleans()):
        tokens.append(draw(st.sampled_from(("@index", "@unique"))))
    return tokens, form == "scalar" and not nullable


@st.composite
def _body(draw: st.DrawFn, *, keyed: bool) -> list[str]:
    names = draw(st.lists(st.sampled_from(("a", "b", "node", "enum", "true_x", "_z")), unique=True, max_size=4))
    members: list[list[str]] = []
    keyable: list[str] = []
    for name in names:
        tokens, plain = draw(_property(name))
        members.append(tokens)
        keyable += [name] if plain else []
    if keyed and keyable and draw(st.booleans()):
        members.append([f"@key({', '.join(draw(st.permutations(keyable)))})"])
    members = draw(st.permutations(members))
    return ["{", *(token for member in members for token in member), "}"]


@st.composite
def schemas(draw: st.DrawFn) -> str:
    """A text that compiles, with gaps and comments between any two tokens."""
    tokens: list[str] = []
    nodes = draw(st.lists(st.sampled_from(("A", "B", "Node")), unique=True, min_size=1))
    for name in nodes:
        tokens += ["node", name, *draw(_annotations()), *draw(_body(keyed=True))]
    for name in draw(st.lists(st.sampled_from(("Knows", "Likes")), unique=True)):
        tokens += ["edge", name, ":", draw(st.sampled_from(nodes)), "->", draw(st.sampled_from(nodes))]
        tokens += ["@card(", "0", "..", draw(st.sampled_from(("", "3"))), ")"] if draw(st.booleans()) else []
        tokens += draw(_annotations())
        tokens += draw(_body(keyed=False)) if draw(st.booleans()) else []
    return "".join(f"{token}{draw(_GAPS)}" for token in tokens)
