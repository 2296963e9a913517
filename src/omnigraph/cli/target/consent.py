"""Consent: when a destructive command may go on, must ask, or is refused."""

from __future__ import annotations

import sys
from typing import Literal

from omnigraph.cli.refusals import ConfirmationRequired

Decision = Literal["proceed", "ask", "refuse"]


def is_local(uri: str) -> bool:
    """A path or a file URL. Everything else is shared with others."""
    return "://" not in uri or uri.startswith("file://")


def decide(*, local: bool, yes: bool, json: bool, terminal: bool) -> Decision:
    """Local work and --yes go on; a script is never asked."""
    if local or yes:
        return "proceed"
    return "refuse" if json or not terminal else "ask"


def require_consent(verb: str, uri: str, *, yes: bool, json: bool) -> None:
    """Return when the command may go on; raise when it may not."""
    decision = decide(local=is_local(uri), yes=yes, json=json, terminal=sys.stdin.isatty())
    if decision == "refuse":
        raise ConfirmationRequired(f"refusing `{verb}` on '{uri}' without confirmation", "pass --yes to continue")
    if decision == "ask":
        sys.stderr.write(f"`{verb}` on '{uri}' cannot be undone. Continue? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise ConfirmationRequired(f"`{verb}` on '{uri}' was not confirmed; nothing was changed")
