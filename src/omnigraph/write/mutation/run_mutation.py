"""Running a mutation on a graph: compile, bind, execute against a base, validate, commit."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping

from omnigraph.history import current_snapshot, schema_of, schema_on
from omnigraph.language import CompileError
from omnigraph.language.query import CompiledQuery, MutationIR, bind_params, compile_call
from omnigraph.language.schema import Catalog
from omnigraph.model.errors import Internal, Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import format_datetime
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.write.changes import ChangeSet
from omnigraph.write.commit import Prepared, WriteBase, WriteRequest, write
from omnigraph.write.intake import waits_for_provider
from omnigraph.write.mutation.statements import Mutated, MutationRun
from omnigraph.write.results import MutationResult
from omnigraph.write.rules import CommittedView, refuse, validate


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A mutation as a caller asks for it."""

    text: str
    params: Mapping[str, Json]
    query_name: str | None = None
    branch: str = "main"
    actor_id: str | None = None
    message: str | None = None
    if_commit: str | None = None
    idempotency_key: str | None = None
    stated: frozenset[str] = frozenset()
    """Options that could be taken for parameters: see `arguments.given_options`."""


def mutate(storage: GraphStorage, schema: Callable[[], AcceptedSchema], mutation: Mutation) -> MutationResult:
    """Runs a mutation as one commit, or raises and changes nothing."""
    accepted = schema_on(storage, mutation.branch, schema()).catalog
    try:
        compiled = _compiled(mutation, accepted)
    except CompileError:
        # A schema that is published and whose files are not in place yet: the commit says which one it is.
        published = schema_of(storage, current_snapshot(storage, mutation.branch), schema(), is_head=True).catalog
        if published == accepted:
            raise
        accepted, compiled = published, _compiled(mutation, published)
    now = format_datetime(time.time_ns() // 1_000_000)

    def prepare(base: WriteBase) -> Prepared:
        catalog = base.schema.catalog
        query = _compiled(mutation, catalog)
        outcome = MutationRun(storage, base.pins(), catalog, bind_params(query.params, mutation.params, now=now)).run(
            _ir(query)
        )
        refuse(validate(outcome.changes, CommittedView(storage, base.pins()), catalog))
        return Prepared(outcome.changes, _counts(outcome))

    def recheck(base: WriteBase, changes: ChangeSet) -> None:
        refuse(validate(changes, CommittedView(storage, base.pins()), base.schema.catalog))

    insert_only = _ir(compiled).is_insert_only
    request = WriteRequest(
        branch=mutation.branch,
        kind="mutation",
        writer_kind="Mutation",
        prepare=prepare,
        actor_id=mutation.actor_id,
        message=mutation.message,
        if_commit=mutation.if_commit,
        idempotency_key=mutation.idempotency_key,
        request_digest=_digest_of(mutation) if mutation.idempotency_key is not None else None,
        prepares_again=insert_only,
        recheck=recheck if insert_only else None,
        brief=not waits_for_provider(accepted, _ir(compiled)),
    )
    receipt = write(storage, request, schema)
    return MutationResult(
        branch=mutation.branch,
        query_name=compiled.name,
        affected_nodes=count_of(receipt.counts, "affected_nodes"),
        affected_edges=count_of(receipt.counts, "affected_edges"),
        actor_id=receipt.commit.actor_id if receipt.replayed and receipt.commit is not None else mutation.actor_id,
        commit=receipt.commit,
        replayed=receipt.replayed,
    )


def _counts(mutated: Mutated) -> dict[str, Json]:
    """What a mutation did, as it is kept with an idempotency key."""
    return {"affected_nodes": mutated.affected_nodes, "affected_edges": mutated.affected_edges}


def count_of(counts: Mapping[str, Json], name: str) -> int:
    """A number from what was kept; 0 where an earlier release kept nothing."""
    count = counts.get(name)
    return count if isinstance(count, int) else 0


def _digest_of(mutation: Mutation) -> str:
    return digest("mutation", mutation.branch, mutation.text, mutation.query_name, dict(mutation.params))


def _compiled(mutation: Mutation, catalog: Catalog) -> CompiledQuery:
    return compile_call(mutation.text, catalog, "mutation", query_name=mutation.query_name, stated=mutation.stated)


def _ir(query: CompiledQuery) -> MutationIR:
    if not isinstance(query.ir, MutationIR):
        raise Internal(f"query '{query.name}' is a read")
    return query.ir


def digest(*parts: Json) -> str:
    """The digest of a request, by which a repeated idempotency key is told from a reused one."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
