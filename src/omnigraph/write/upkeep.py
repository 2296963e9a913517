"""Upkeep: commits that change no entity. They give way: a conflict that lasts is reported, and never an error."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.model.errors import Conflict
from omnigraph.storage import AcceptedSchema, GraphCommit, GraphStorage
from omnigraph.write.changes import ChangeSet
from omnigraph.write.commit import WriteBase, WriteRequest, write


def publish_upkeep(
    storage: GraphStorage,
    schema: Callable[[], AcceptedSchema],
    *,
    branch: str,
    kind: str,
    writer_kind: str,
    prepare: Callable[[WriteBase], ChangeSet],
    actor_id: str | None,
) -> tuple[GraphCommit | None, str | None]:
    """The commit, or None when there was nothing to do; and what stood against it, if something did to the end."""
    request = WriteRequest(
        branch=branch, kind=kind, writer_kind=writer_kind, prepare=prepare, actor_id=actor_id, prepares_again=True
    )
    try:
        return write(storage, request, schema).commit, None
    except Conflict as error:
        return None, str(error)
