"""`omnigraph format`: rewrite schema and query files in the one house style."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.session import Session
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.language import Diagnostic

Language = Literal["pg", "gq"]
STDIN = "-"
_FIRST_WORD = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*(\w*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Formatted:
    """One source before and after."""

    path: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        return self.before != self.after


@click.command("format", cls=OmniCommand, example="omnigraph format --check library.pg library.gq")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Change nothing; list the files that would change and exit 1.")
@json_option
@click.pass_obj
def command(session: Session, files: tuple[str, ...], check: bool) -> None:
    """Rewrite schema and query files in the standard style.

    Files end in .pg or .gq. A single - reads stdin and writes stdout. When one file does not compile, no file is
    changed.
    """
    if STDIN in files and len(files) > 1:
        raise click.UsageError("- cannot be combined with other files")
    results = _formatted_all(files)
    if check:
        _report_check(session, results)
    elif files == (STDIN,):
        sys.stdout.write(results[0].after)
    else:
        _rewrite(session, results)


def _formatted_all(files: Sequence[str]) -> list[Formatted]:
    """Every file formatted, or every diagnostic of every file."""
    from omnigraph.cli.inputs import read_text
    from omnigraph.language import CompileError

    results: list[Formatted] = []
    faults: list[Diagnostic] = []
    for path in files:
        text = sys.stdin.read() if path == STDIN else read_text(path)
        try:
            results.append(Formatted(path, text, _formatted(path, text)))
        except CompileError as error:
            faults += error.diagnostics
    if faults:
        raise CompileError(tuple(faults))
    return results


def _formatted(path: str, text: str) -> str:
    from omnigraph.language.query import format_query
    from omnigraph.language.schema import format_schema

    name = "<stdin>" if path == STDIN else path
    return format_schema(text, file=name) if language_of(path, text) == "pg" else format_query(text, file=name)


def language_of(path: str, text: str) -> Language:
    """By the file's ending; stdin by its first word, since only a query file starts with `query`."""
    if path == STDIN:
        match = _FIRST_WORD.match(text)
        return "gq" if match is not None and match.group(1) == "query" else "pg"
    if path.endswith(".pg"):
        return "pg"
    if path.endswith(".gq"):
        return "gq"
    raise click.UsageError(f"'{path}' is neither a schema (.pg) nor a query file (.gq)")


def _report_check(session: Session, results: list[Formatted]) -> None:
    from omnigraph.cli.refusals import ReportedFailure

    changed = [result for result in results if result.changed]
    _show(session, results, "would reformat")
    if changed:
        raise ReportedFailure(f"{len(changed)} of {len(results)} files would change; run `omnigraph format` on them")


def _rewrite(session: Session, results: list[Formatted]) -> None:
    from omnigraph.cli.inputs import replace_text

    for result in results:
        if result.changed:
            replace_text(result.path, result.after)
    _show(session, results, "reformatted")


def _show(session: Session, results: list[Formatted], verb: str) -> None:
    session.output.show(
        {"files": [{"path": result.path, "changed": result.changed} for result in results]},
        (f"{verb} {result.path}" for result in results if result.changed),
    )
