"""The root command: lazy families, the help page, and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import omnigraph
from omnigraph.cli.catalogue import FAMILIES, legend
from omnigraph.cli.deprecations import modern
from omnigraph.cli.frame import OmniGroup
from omnigraph.cli.session import Session

_MODULES = {family.name: family.module for family in FAMILIES}


class Root(OmniGroup):
    """`omnigraph`: a family's module is imported when one of its commands runs or shows its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        command = importlib.import_module(_MODULES[cmd_name]).command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(family.name, family.summary) for family in FAMILIES])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("\nCOMMANDS BY CAPABILITY\n")
        formatter.indent()
        formatter.write_dl([(word, ", ".join(paths)) for word, paths in legend()])
        formatter.dedent()
        formatter.write("\nExample: omnigraph init --schema library.pg lib.omni\n")

    def main(  # type: ignore[override]  # ends the process itself, whatever the caller asks for
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run one command line and exit. Everything that goes wrong below ends here."""
        argv, warning = modern(sys.argv[1:] if args is None else args)
        session = Session(json=_asks_for_json(argv))
        _open_closed_streams()
        _speak_utf8()
        if warning:
            session.output.warn(warning)
        extra |= {"standalone_mode": False, "obj": session}
        sys.exit(self._exit_code(argv, prog_name, session, extra))

    def _exit_code(self, argv: list[str], prog_name: str | None, session: Session, extra: dict[str, Any]) -> int:
        try:
            code = super().main(argv, prog_name, **extra)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except (click.exceptions.Abort, KeyboardInterrupt) as error:
            from omnigraph.cli.failures import report_interrupt

            return report_interrupt(error, session.output)
        except Exception as error:  # noqa: BLE001  # the edge of the process: report everything, swallow nothing
            return _report(error, session)


def _report(error: Exception, session: Session) -> int:
    """Imported late: a command that succeeds never pays for the error classes."""
    from omnigraph.cli import failures
    from omnigraph.model.errors import OmniGraphError

    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: say nothing more to it
        return 1
    if isinstance(error, OmniGraphError):
        return failures.report_refusal(error, session.output)
    if isinstance(error, click.ClickException):
        return failures.report_usage(error, session.output)
    return failures.report_bug(error, session.output)


def _asks_for_json(argv: Sequence[str]) -> bool:
    """Also a command line that cannot be parsed may ask for errors as JSON."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options


def _open_closed_streams() -> None:
    """A stream that the caller closed is replaced: writing to it must not fail."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for the life of the process


def _speak_utf8() -> None:
    """JSON is UTF-8 whatever the locale says; a path that is not text keeps its bytes."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="surrogateescape")


def _show_version(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        sys.stdout.write(f"omnigraph {omnigraph.__version__}\n")
        context.exit()


root = Root(
    name="omnigraph",
    help="A typed property graph on Lance, with branches and commits over the whole graph.",
    params=[
        click.Option(
            ["-v", "--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Show the release and exit.",
        )
    ],
)
