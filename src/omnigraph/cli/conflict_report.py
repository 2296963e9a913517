"""Conflicts that a command met: shown to people, and the exit code that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnigraph.cli.session import Session
    from omnigraph.model.errors import OmniGraphError


def show_conflicts_of(error: OmniGraphError, session: Session) -> None:
    """The conflicts that an error carries, on stderr; with --json they are among its details."""
    from omnigraph.cli.exit_codes import CONFLICT_CODES

    if error.code not in CONFLICT_CODES or session.json:
        return
    from omnigraph.cli.formats import conflict_lines

    found: Any = error.details()
    for line in conflict_lines(found["conflicts"], found["conflicts_total"]):
        session.output.note(line)


def dry_run_lines(result: Any) -> Iterator[str]:
    """The conflicts that a dry run found."""
    from omnigraph.cli.formats import conflict_lines

    return conflict_lines((each.to_json() for each in result.conflicts), result.conflicts_total)


def fail_dry_run(session: Session, what: str, total: int) -> NoReturn:
    """The report is printed; the exit code is the one that the command itself would have."""
    from omnigraph.cli.exit_codes import CONFLICTS

    session.output.fail(f"{what} would have {total} conflict{'' if total == 1 else 's'}")
    click.get_current_context().exit(CONFLICTS)
