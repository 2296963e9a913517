"""After the commit: the load is done, and what goes wrong from then on becomes a warning of its receipt."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from omnigraph.model.errors import sentence_of
from omnigraph.model.late_dataclass import dataclass

log = logging.getLogger("omnigraph.graph.load")


@dataclass(slots=True)
class Aftermath:
    """What went wrong when the commit was there already."""

    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False

    @contextmanager
    def survives(self, what: str, remedy: str = "") -> Iterator[None]:
        """Whatever fails in the block becomes a warning: `what` is not as it should be, for a reason."""
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - a listener, a disk: everything becomes a warning
            self.note(error, what, remedy)

    def note(self, error: BaseException, what: str, remedy: str = "") -> None:
        self.interrupted = self.interrupted or isinstance(error, KeyboardInterrupt)
        reason = "interrupted" if isinstance(error, KeyboardInterrupt) else sentence_of(error)
        self.warn(f"{what}: {reason}{f'; {remedy}' if remedy else ''}")

    def warn(self, text: str) -> None:
        self.warnings.append(text)
        log.warning("the load is done; %s", text)
