"""The manual as data: its pages, their blocks of code, and the commands of a terminal session with what they print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CONTINUED = re.compile(r"^\$ (?:.*\\\n)+", re.MULTILINE)
"""The first lines of a command that goes on; in the output a `\\` at the end of a line has no meaning."""
ANYTHING = "…"
"""In the printed output: whatever differs from run to run, such as the id of a commit."""


@dataclass(frozen=True)
class Block:
    """A block of code: where its text begins, its language, and its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One command of a terminal session, and the lines that the page shows below it."""

    text: str
    printed: tuple[str, ...]

    @property
    def is_refused(self) -> bool:
        """A page that shows an error expects one."""
        return any(re.match(r'(\w+ )?error:|  "error": ', line) for line in self.printed)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page: str, *languages: str) -> list[Block]:
    """The blocks of a page in their order, of these languages or of all."""
    text = text_of(page)
    found = [
        Block(page, text.count("\n", 0, match.start()) + 2, match[1].strip(), match[2])
        for match in _BLOCK.finditer(text)
    ]
    return [block for block in found if not languages or block.language in languages]


def prose_of(page: str) -> str:
    """The page without its blocks of code; the lines keep their numbers."""
    return _BLOCK.sub(lambda match: "\n" * match[0].count("\n"), text_of(page))


def commands_of(block: Block) -> list[Command]:
    """Lines that begin with `$ ` are commands and the others are output; without any `$ ` each line is a command."""
    is_session = re.search(r"^\$ ", block.text, re.MULTILINE) is not None
    lines = _CONTINUED.sub(_joined, block.text).splitlines() if is_session else _joined(block.text).splitlines()
    if not is_session:
        return [Command(line, ()) for line in lines if line.strip()]
    commands: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            commands.append(Command(line.removeprefix("$ "), ()))
        else:
            last = commands.pop()
            commands.append(Command(last.text, (*last.printed, line.rstrip())))
    return commands


def _joined(lines: str | re.Match[str]) -> str:
    return (lines if isinstance(lines, str) else lines[0]).replace("\\\n", "")


def matches(shown: str, printed: str) -> bool:
    """Whether the output that a page shows is what was printed, where `…` stands for anything in a line."""
    pattern = "\n".join(re.escape(line.rstrip()).replace(ANYTHING, ".*") for line in shown.rstrip().splitlines())
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.rstrip().splitlines())) is not None
