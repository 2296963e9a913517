"""Embedding on write: a property with `@embed` follows its source text, when somebody chose a provider.

A write that states the source and not the vector has it embedded; a vector that is stated, or null, is taken as it is.
A vector is never that of an older text: when nobody chose a provider, or the source becomes null, a source that changes
takes its vector with it, and where the schema requires one the write is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnigraph.language import CompileError, Diagnostic
from omnigraph.language.query import InsertOp, MutationIR, UpdateOp
from omnigraph.language.schema import Catalog, EdgeType, Embed, NodeType, Property
from omnigraph.model.identifiers import TableKey

if TYPE_CHECKING:
    from omnigraph.embeddings import Embedder, EmbeddingConfig

Values = dict[str, Any]
_NOBODY = "no embedding provider is chosen"


def embedded_records(
    entity: NodeType | EdgeType,
    records: Sequence[Values],
    defaults: Mapping[str, Any],
    chosen: EmbeddingConfig | None,
    *,
    patch: bool,
) -> Sequence[Values]:
    """The members of records with the vectors that follow from their texts, asked for together."""
    embedder = _embedder(entity, chosen)
    if embedder is None:
        return records
    stated = list(records)
    for prop, embed in followers(entity):
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


def embedded_values(
    entity: NodeType | EdgeType, values: Values, given: Mapping[str, Any], chosen: EmbeddingConfig | None
) -> Values:
    """The values of a statement with the vectors that follow from them; `given` is what the statement assigns."""
    embedder = _embedder(entity, chosen)
    for prop, embed in followers(entity):
        if prop.name in given or embed.source not in values:
            continue
        text = values[embed.source]
        if text is None:
            values = {**values, prop.name: None} if prop.type.nullable else values
        elif embedder is not None:
            vector = embedder.embed_documents([text], prop.type.dimension or 0, embed.model)[0]
            values = {**values, prop.name: vector.tolist()}
        elif not prop.type.nullable and values.get(prop.name) is None and prop.name in values:
            raise _missing(prop, f"missing required {entity.name}.{prop.name}, and {_NOBODY}")
    return values


def without_outdated(entity: NodeType | EdgeType, before: Values, after: Values, stated: Mapping[str, Any]) -> Values:
    """A changed row without the vectors of texts that it no longer has; `stated` is what the statement gives it."""
    for prop, embed in followers(entity):
        if prop.name in stated or after[prop.name] is None or after[embed.source] == before[embed.source]:
            continue
        if not prop.type.nullable:
            reason = "null has no vector" if after[embed.source] is None else _NOBODY
            changed = f"this update changes {entity.name}.{embed.source}, which {entity.name}.{prop.name} follows"
            raise _missing(prop, f"{changed}, and {reason}")
        after = {**after, prop.name: None}
    return after


def is_embedded(entity: NodeType | EdgeType, chosen: EmbeddingConfig | None) -> bool:
    """True when records of this type may be embedded now."""
    return _embedder(entity, chosen) is not None


def waits_for_provider(catalog: Catalog, mutation: MutationIR) -> bool:
    """True when the mutation may have to ask a provider: nobody should wait for a branch meanwhile."""
    for op in mutation.ops:
        if isinstance(op, InsertOp | UpdateOp):
            entity = catalog.table(TableKey(op.entity if isinstance(op, InsertOp) else "node", op.type_name))
            if entity is not None and any(followers(entity)):
                return True
    return False


def followers(entity: NodeType | EdgeType) -> Iterator[tuple[Property, Embed]]:
    """The vector properties that follow a text."""
    return ((prop, prop.embed) for prop in entity.properties if prop.embed is not None)


def _embedder(entity: NodeType | EdgeType, chosen: EmbeddingConfig | None) -> Embedder | None:
    """The embedder that the handle has, or that somebody chose for the process; a key that happens to be in the
    environment is no choice."""
    if not any(followers(entity)):
        return None
    from omnigraph.embeddings import embedder_of, is_chosen, require_embedder

    if chosen is not None:
        return embedder_of(chosen)
    return require_embedder() if is_chosen() else None


def _missing(prop: Property, message: str) -> CompileError:
    return CompileError(
        diagnostics=(
            Diagnostic(
                severity="error",
                stage="type",
                code="T12",
                message=message,
                hint=f"assign {prop.name}, or set OMNIGRAPH_EMBED_PROVIDER",
            ),
        )
    )
