"""Embedding on write: a property with `@embed` follows its source text, when somebody chose a provider.

A write that states the source and not the vector has it embedded; a vector that is stated, or null, is taken as it is.
A source that becomes null takes its vector with it. Nobody chose a provider: nothing is embedded, and a vector that the
schema requires has to be given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.language import Catalog, MutationIR
from omnigraph.language.diagnostics import CompileError, Diagnostic
from omnigraph.language.query.ir import InsertOp, UpdateOp
from omnigraph.language.schema.catalog import EdgeType, Embed, NodeType, Property
from omnigraph.model.identifiers import TableKey

if TYPE_CHECKING:
    from omnigraph.query.embeddings import Embedder

Values = dict[str, Any]


def embedded_records(
    entity: NodeType | EdgeType, records: Sequence[Values], defaults: Mapping[str, Any], *, patch: bool
) -> Sequence[Values]:
    """The members of records with the vectors that follow from their texts, asked for together."""
    embedder = _embedder(entity)
    if embedder is None:
        return records
    stated = list(records)
    for prop, embed in _followers(entity):
        rows: list[int] = []
        texts: list[str] = []
        for row, members in enumerate(stated):
            if prop.name in members or not (embed.source in members or (embed.source in defaults and not patch)):
                continue
            text = members.get(embed.source, defaults.get(embed.source))
            if isinstance(text, str):
                rows.append(row)
                texts.append(text)
            elif text is None and prop.type.nullable:
                stated[row] = {**members, prop.name: None}
        vectors = embedder.embed_documents(texts, prop.type.dimension or 0, embed.model)
        for row, vector in zip(rows, vectors, strict=True):
            stated[row] = {**stated[row], prop.name: vector.tolist()}
    return stated


def embedded_values(entity: NodeType | EdgeType, values: Values, given: Mapping[str, Any]) -> Values:
    """The values of a statement with the vectors that follow from them; `given` is what the statement assigns."""
    embedder = _embedder(entity)
    for prop, embed in _followers(entity):
        if prop.name in given or embed.source not in values:
            continue
        text = values[embed.source]
        if text is None:
            values = {**values, prop.name: None} if prop.type.nullable else values
        elif embedder is not None:
            vector = embedder.embed_documents([text], prop.type.dimension or 0, embed.model)[0]
            values = {**values, prop.name: vector.tolist()}
        elif not prop.type.nullable and values.get(prop.name) is None and prop.name in values:
            raise _missing(entity, prop)
    return values


def is_embedded(entity: NodeType | EdgeType) -> bool:
    """True when records of this type may be embedded now."""
    return _embedder(entity) is not None


def waits_for_provider(catalog: Catalog, mutation: MutationIR) -> bool:
    """True when the mutation may have to ask a provider: nobody should wait for a branch meanwhile."""
    for op in mutation.ops:
        if isinstance(op, InsertOp | UpdateOp):
            entity = catalog.table(TableKey(op.entity if isinstance(op, InsertOp) else "node", op.type_name))
            if entity is not None and any(_followers(entity)):
                return True
    return False


def _followers(entity: NodeType | EdgeType) -> Iterator[tuple[Property, Embed]]:
    """The vector properties that follow a text."""
    return ((prop, prop.embed) for prop in entity.properties if prop.embed is not None)


def _embedder(entity: NodeType | EdgeType) -> Embedder | None:
    """The embedder that somebody chose; a key that happens to be in the environment is no choice."""
    if not any(_followers(entity)):
        return None
    from omnigraph.query.embeddings import is_chosen, require_embedder

    return require_embedder() if is_chosen() else None


def _missing(entity: NodeType | EdgeType, prop: Property) -> CompileError:
    return CompileError(
        diagnostics=(
            Diagnostic(
                severity="error",
                stage="type",
                code="T12",
                message=f"this insert misses {entity.name}.{prop.name}, and no embedding provider is chosen",
                hint=f"assign {prop.name}, or set OMNIGRAPH_EMBED_PROVIDER",
            ),
        )
    )
