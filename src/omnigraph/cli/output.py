"""Output: results on stdout as text or as one JSON document, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.model.errors import Json

RED = "31"
YELLOW = "33"


def to_json_text(document: Mapping[str, Json] | Sequence[Mapping[str, Json]]) -> str:
    """The one JSON form of every command: two spaces, keys in the order given, text unescaped."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False)


def paint(text: str, color: str, stream: TextIO) -> str:
    """The text in a colour, if the stream is a terminal and NO_COLOR is unset or empty."""
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return f"\x1b[{color}m{text}\x1b[0m"


@dataclass(frozen=True, slots=True)
class Output:
    """Prints the result of a command, as text or as JSON, so that a command need not know which one is wanted."""

    json: bool

    def show(self, document: Mapping[str, Json], lines: Iterable[str]) -> None:
        """The result: `document` with --json, `lines` without."""
        if self.json:
            self.write(to_json_text(document))
        else:
            for line in lines:
                self.write(line)

    def show_receipt(self, document: Mapping[str, Json], lines: Iterable[str], happened: str) -> None:
        """The receipt of a write. The write is done, so a result that cannot be printed is a warning, not a failure."""
        try:
            self.show(document, lines)
            sys.stdout.flush()
        except (OSError, KeyboardInterrupt) as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what waits to be written has no place
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else error.strerror or str(error)
            self.warn(f"{happened}; its result could not be written: {reason.lower()}")

    def write_bytes(self, chunks: Iterable[bytes]) -> None:
        """The result as bytes, as they come. A full disk behind stdout is an error like any other."""
        sys.stdout.flush()
        for chunk in chunks:  # what the chunks themselves raise is not an error of stdout
            self._to_stdout(lambda out, data=chunk: out.write(data))
        self._to_stdout(lambda out: out.flush())

    def _to_stdout(self, act: Callable[..., object]) -> None:
        from omnigraph.cli.refusals import UnwritableFile

        try:
            act(sys.stdout.buffer)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._give_up_stdout()
            raise UnwritableFile("stdout", (error.strerror or str(error)).lower()) from error

    def _give_up_stdout(self) -> None:
        """What waits to be written has no place: it would fail once more at the end of the process."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def write(self, line: str) -> None:
        """One line of the result."""
        sys.stdout.write(f"{line}\n")

    def note(self, line: str) -> None:
        """One line on stderr. If it cannot be written, the outcome is the same."""
        with suppress(OSError):
            sys.stderr.write(f"{line}\n")

    def warn(self, text: str) -> None:
        self.note(f"{paint('warning:', YELLOW, sys.stderr)} {text}")

    def fail(self, text: str) -> None:
        self.note(f"{paint('error:', RED, sys.stderr)} {text}")
