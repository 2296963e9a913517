"""Progress of a load where this process does the work: what it read, the checks, the commit."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.model.progress import ProgressListener
from omnigraph.pipeline.spark import Amount, Stage, StageReport
from omnigraph.write.intake import ItemSource
from omnigraph.write.load import PreparedLoad


@dataclass(slots=True)
class LocalReading:
    """Reports the reading and the checks of a local load."""

    listener: ProgressListener | None
    decode: StageReport
    check: StageReport | None = None
    done: Amount = field(default_factory=Amount)

    @classmethod
    def of(cls, items: ItemSource, listener: ProgressListener | None) -> LocalReading:
        stage = Stage(name="decode", listener=listener, bytes_total=items.size or None)
        return cls(listener, StageReport(stage, len(items.items)))

    def rows_read(self, rows: int) -> None:
        self.done += Amount(rows=rows)
        self.decode.update(self.decode.tasks, self.done)

    def item_read(self, size: int) -> None:
        self.done += Amount(bytes=size)
        self.decode.update(self.decode.tasks + 1, self.done)
        if self.decode.tasks == self.decode.tasks_total:
            self.check = StageReport(Stage(name="check", listener=self.listener, rows_total=self.done.rows))
            self.check.update(0, Amount())

    def checked(self) -> None:
        if self.check is not None:
            self.check.update(1, Amount(rows=self.done.rows))


@dataclass(slots=True)
class Committing:
    """Reports the commit of a load: from the end of its last preparation until it is visible."""

    listener: ProgressListener | None
    report: StageReport | None = None

    def begun(self, prepared: PreparedLoad) -> None:
        rows = sum(prepared.nodes.values()) + sum(prepared.edges.values())
        self.report = StageReport(Stage(name="commit", listener=self.listener, rows_total=rows))
        self.report.update(0, Amount())

    def ended(self) -> None:
        if self.report is not None:
            self.report.update(1, Amount(rows=self.report.stage.rows_total or 0))
