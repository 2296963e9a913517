"""A pass over the tables that a branch owns: one commit of upkeep, with at most one effect for each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import field

from omnigraph.model.errors import TypeNotFound
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema
from omnigraph.storage.manifest import GraphCommit, TablePin
from omnigraph.storage.tables import StagedEffect
from omnigraph.write.changes import ChangeSet, StagedWork
from omnigraph.write.commit import Prepared, WriteBase, owns
from omnigraph.write.upkeep.attempts import UpkeepArea, publish_upkeep
from omnigraph.write.upkeep.drift import is_drift
from omnigraph.write.upkeep.indexing import is_foreign


@dataclass
class TablePass:
    """What is done to each table. One that another program moved on, or that is not ours to write, is left alone."""

    site: UpkeepArea
    only: Collection[TableKey] | None
    stage: Callable[[TablePin], StagedEffect | None]
    asked: tuple[TableKey, ...] = ()
    drifted: dict[TableKey, tuple[int, int]] = field(default_factory=dict)
    """By table: the published version, and the newest one."""

    def publish(
        self, schema: Callable[[], AcceptedSchema], branch: str, actor_id: str | None
    ) -> tuple[GraphCommit | None, str | None]:
        """The commit, or None when there was nothing to do; and what stood against it, if something did to the end."""
        return publish_upkeep(
            self.site,
            schema,
            branch=branch,
            kind="optimize",
            writer_kind="Optimize",
            prepare=self._prepare,
            actor_id=actor_id,
        )

    def _prepare(self, base: WriteBase) -> Prepared:
        """Called again when another commit was first."""
        pins = base.pins()
        for key in self.only or ():
            if key not in pins:
                raise TypeNotFound(key.type_name)
        self.asked = tuple(key for key in pins if self.only is None or key in self.only)
        own = [pins[key] for key in self.asked if owns(pins[key], base.branch)]
        self.drifted = dict(self._drift(base, own))
        works = []
        for pin in own:
            work = StagedWork(pin.table_key, self.stage)
            if pin.table_key not in self.drifted and not is_foreign(self.site.storage, pins, base.schema.catalog, work):
                works.append(work)
        return Prepared(ChangeSet(works=tuple(works), guard=self.site.check))

    def _drift(self, base: WriteBase, pins: Collection[TablePin]) -> Iterator[tuple[TableKey, tuple[int, int]]]:
        for pin in pins:
            head = is_drift(self.site.storage, base.loaded, pin)
            if head is not None:
                yield pin.table_key, (pin.version, head)
