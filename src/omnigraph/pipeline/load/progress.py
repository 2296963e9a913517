"""Progress of a load where this process does the work: what it read, the checks, the commit."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.spark import Amount, Stage, Watch
from omnigraph.write.intake import ItemSource
from omnigraph.write.load import PreparedLoad


@dataclass(slots=True)
class LocalReading:
    """Tells a listener how far a local load is: what was read, and then that it is being checked."""

    listener: ProgressListener | None
    decode: Watch
    check: Watch | None = None
    done: Amount = field(default_factory=Amount)

    @classmethod
    def of(cls, items: ItemSource, listener: ProgressListener | None) -> LocalReading:
        stage = Stage(name="decode", listener=listener, bytes_total=items.size or None)
        return cls(listener, Watch(stage, len(items.items)))

    def rows_read(self, rows: int) -> None:
        self.done += Amount(rows=rows)
        self.decode.tell(self.decode.tasks, self.done)

    def item_read(self, size: int) -> None:
        self.done += Amount(bytes=size)
        self.decode.tell(self.decode.tasks + 1, self.done)
        if self.decode.tasks == self.decode.tasks_total:
            self.check = Watch(Stage(name="check", listener=self.listener, rows_total=self.done.rows))
            self.check.tell(0, Amount())

    def checked(self) -> None:
        if self.check is not None:
            self.check.tell(1, Amount(rows=self.done.rows))


@dataclass(slots=True)
class Committing:
    """Tells a listener that a load commits: from when it was prepared, last of all, until it is visible."""

    listener: ProgressListener | None
    watch: Watch | None = None

    def begun(self, prepared: PreparedLoad) -> None:
        rows = sum(prepared.nodes.values()) + sum(prepared.edges.values())
        self.watch = Watch(Stage(name="commit", listener=self.listener, rows_total=rows))
        self.watch.tell(0, Amount())

    def ended(self) -> None:
        if self.watch is not None:
            self.watch.tell(1, Amount(rows=self.watch.stage.rows_total or 0))
