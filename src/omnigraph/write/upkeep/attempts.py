"""Upkeep: commits that change no entity. They give way: a conflict that lasts is reported, and never an error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from omnigraph.model.errors import Conflict
from omnigraph.model.identifiers import TableKey, new_ulid
from omnigraph.storage import AcceptedSchema, GraphStorage
from omnigraph.storage.bulk import StagingArea, staging_area, written_paths
from omnigraph.storage.manifest import GraphCommit
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.commit import Prepared, WriteBase, WriteRequest, write


@dataclass
class UpkeepArea:
    """The staging area of one run. It exists from the first file on, and is gone with what was written in vain."""

    storage: GraphStorage
    committed: bool = False
    _staged: dict[TableKey, StagedEffect] = field(default_factory=dict)
    _area: StagingArea | None = None
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> UpkeepArea:
        return self

    def __exit__(self, *_: object) -> None:
        with self._open:
            if self._area is not None:
                effects = self._staged.values() if self.committed else ()
                self._area.remove(frozenset().union(*(written_paths(effect) for effect in effects)))

    @property
    def area(self) -> StagingArea:
        if self._area is None:
            self._area = self._open.enter_context(staging_area(self.storage, new_ulid()))
        return self._area

    def check(self) -> None:
        if self._area is not None:
            self._area.check()

    def staged(self, effect: StagedEffect) -> StagedEffect:
        """Remembers what is about to be committed."""
        self._staged[effect.pin.table_key] = effect
        return effect


def publish_upkeep(
    area: UpkeepArea,
    schema: Callable[[], AcceptedSchema],
    *,
    branch: str,
    kind: str,
    writer_kind: str,
    prepare: Callable[[WriteBase], Prepared],
    actor_id: str | None,
) -> tuple[GraphCommit | None, str | None]:
    """The commit, or None when there was nothing to do; and what stood against it, if something did to the end."""
    request = WriteRequest(
        branch=branch, kind=kind, writer_kind=writer_kind, prepare=prepare, actor_id=actor_id, prepares_again=True
    )
    try:
        commit = write(area.storage, request, schema).commit
    except Conflict as error:
        return None, error.sentence()
    area.committed = commit is not None
    return commit, None
