"""Annotation rules: which annotation may stand where, with which arguments, on which property types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from omnigraph.language.diagnostics import Stage, did_you_mean
from omnigraph.language.schema.report import Report
from omnigraph.language.schema.syntax import AnnotationSyntax, PropertyDecl, TypeKind
from omnigraph.model.errors import InvalidValue
from omnigraph.model.types import PropType, Scalar
from omnigraph.model.values import coerce_text

KNOWN = (
    "card",
    "check",
    "default",
    "description",
    "embed",
    "index",
    "instruction",
    "key",
    "range",
    "rename_from",
    "unique",
)
_ON_PROPERTIES_ONLY = ("key", "unique", "index", "embed", "default")
_NEED_ARGUMENTS = {
    "range": "write it in the body of a node: @range(property, 0..10)",
    "check": 'write it in the body of a node: @check(property, "^[a-z]+$")',
    "card": "write it first after the endpoints of an edge: @card(0..1)",
}
_ONCE = ("key", "unique", "index", "embed", "description", "instruction", "rename_from", "default")


def check_type_annotations(
    kind: TypeKind, name: str, annotations: Sequence[AnnotationSyntax], report: Report, *, strict: bool
) -> None:
    """Annotations in the header of a node or edge type."""
    _check_repeats(f"{kind} '{name}'", annotations, report, strict=strict)
    for annotation in annotations:
        word = annotation.name.text
        if word in _ON_PROPERTIES_ONLY and (strict or word != "default"):
            hint = f"put it after the type of a property: name: String @{word}"
            report.error("parse", f"@{word} belongs to a property, not to {kind} '{name}'", annotation.place, hint)
        else:
            _check_plain(annotation, report, strict=strict)


def check_properties(
    kind: TypeKind,
    owner: str,
    declared: Sequence[PropertyDecl],
    visible: Sequence[PropertyDecl],
    report: Report,
    *,
    strict: bool,
) -> None:
    """The annotations of every declared property; `visible` is where `@embed` looks for its source."""
    for prop in declared:
        what = f"property '{owner}.{prop.name.text}'"
        _check_repeats(what, prop.annotations, report, strict=strict)
        for annotation in prop.annotations:
            _check_on_property(kind, what, prop, annotation, visible, report, strict=strict)


def _check_on_property(
    kind: TypeKind,
    what: str,
    prop: PropertyDecl,
    annotation: AnnotationSyntax,
    siblings: Sequence[PropertyDecl],
    report: Report,
    *,
    strict: bool,
) -> None:
    match annotation.name.text:
        case "key" | "unique" | "index" as word:
            if kind == "edge" and word == "key":
                report.error("parse", "edges have no @key", annotation.place, "use @unique(src, dst) in the body")
            elif reason := unfit(word, prop.type.type):
                report.error("parse", f"@{word} on {what}: {reason}", annotation.place)
        case "embed":
            _check_embed(kind, what, prop, annotation, siblings, report)
        case "instruction":
            report.error("parse", f"@instruction belongs to a node or edge type, not to {what}", annotation.place)
        case "default":
            if strict:
                _check_default(what, prop, annotation, report)
        case _:
            _check_plain(annotation, report, strict=strict)


def unfit(constraint: Literal["key", "unique", "index"], type_: PropType) -> str | None:
    """Why a property of this type cannot carry the constraint, or None when it can."""
    if type_.is_blob:
        return "a Blob cannot be compared"
    if type_.is_list:
        return "a list cannot be compared" if constraint != "index" else "a list cannot be indexed"
    if type_.is_vector and constraint != "index":
        return "a Vector cannot be compared"
    if constraint == "key" and type_.nullable:
        return "a key member cannot be nullable"
    return None


def _check_embed(
    kind: TypeKind,
    what: str,
    prop: PropertyDecl,
    annotation: AnnotationSyntax,
    siblings: Iterable[PropertyDecl],
    report: Report,
) -> None:
    if kind == "edge":
        report.error("parse", "edges have no @embed", annotation.place, "put the vector on a node type")
        return
    for key, _ in annotation.keywords:
        if key.text != "model":
            report.error("parse", f"@embed has no keyword '{key.text}'", key.place, "the only keyword is model")
    if not prop.type.type.is_vector:
        report.error("parse", f"@embed on {what}: only a Vector can be embedded", annotation.place)
    if annotation.argument is None:
        report.error("parse", "@embed needs its source property", annotation.place, '@embed("title")')
        return
    wanted = annotation.argument.text
    known = {sibling.name.text: sibling for sibling in siblings}
    source = known.get(wanted)
    if source is None:
        # An interface is resolved on its own: nodes that implement it may differ in what else they declare.
        stage: Stage = "resolution" if kind == "interface" else "parse"
        suffix = " in the same interface" if kind == "interface" else ""
        message = f"@embed on {what}: no property '{wanted}'{suffix}"
        report.error(stage, message, annotation.argument.place, did_you_mean(wanted, known))
    elif source.type.type.scalar is not Scalar.STRING or source.type.type.is_list:
        message = f"@embed on {what}: source '{wanted}' is {source.type.type}, it must be String"
        report.error("parse", message, annotation.argument.place)


def _check_default(what: str, prop: PropertyDecl, annotation: AnnotationSyntax, report: Report) -> None:
    type_ = prop.type.type
    if annotation.keywords or annotation.argument is None:
        report.error("parse", "@default takes exactly one value", annotation.place, "@default(0)")
    elif type_.is_list or type_.is_vector or type_.is_blob:
        report.error("parse", f"@default on {what}: {type_} has no literal form", annotation.place)
    else:
        try:
            coerce_text(annotation.argument.text, type_, f"@default on {what}")
        except InvalidValue as error:
            report.error("parse", error.sentence(), annotation.argument.place)


def _check_plain(annotation: AnnotationSyntax, report: Report, *, strict: bool) -> None:
    """Annotations that mean the same on types and on properties, and unknown ones, which are kept as they are."""
    word = annotation.name.text
    if word in ("description", "instruction"):
        if annotation.argument is None or not annotation.argument.text.strip():
            report.error("parse", f"@{word} needs a text that is not blank", annotation.place, f'@{word}("…")')
    elif word == "rename_from":
        if annotation.keywords or annotation.argument is None or not annotation.argument.text.strip():
            report.error("parse", "@rename_from takes exactly one old name", annotation.place, '@rename_from("Old")')
    elif strict and word in _NEED_ARGUMENTS:
        report.error("parse", f"@{word} needs arguments", annotation.place, _NEED_ARGUMENTS[word])
    elif strict and word not in KNOWN and (hint := did_you_mean(word, KNOWN)):
        report.warn(f"@{word} is not a known annotation; it is kept, and has no effect", annotation.name.place, hint)


def _check_repeats(what: str, annotations: Sequence[AnnotationSyntax], report: Report, *, strict: bool) -> None:
    seen: set[str] = set()
    for annotation in annotations:
        word = annotation.name.text
        if word in _ONCE and word in seen and (strict or word != "default"):
            report.error("parse", f"@{word} is repeated on {what}", annotation.place, "keep one")
        seen.add(word)
