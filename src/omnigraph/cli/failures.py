"""Failures: how an error becomes lines, a JSON document and an exit code. The one place that does it."""

from __future__ import annotations

import traceback

import click

from omnigraph.cli.exit_codes import FAILURE, INTERRUPTED, USAGE, exit_code_of
from omnigraph.cli.output import Output, to_json_text
from omnigraph.cli.refusals import ReportedFailure
from omnigraph.language import CompileError
from omnigraph.model.errors import Json, OmniGraphError, PreconditionFailed


def report_refusal(error: OmniGraphError, output: Output) -> int:
    """An error that was raised on purpose: its whole message on stderr, and with --json the document on stdout."""
    if isinstance(error, ReportedFailure):
        output.fail(error.sentence())
    elif output.json:
        output.write(to_json_text(error_document(error)))
        output.fail(error.sentence())
    elif isinstance(error, CompileError):
        output.note(error.render())
    else:
        output.fail(str(error))
        _show_notes(error, output)
    return exit_code_of(error)


def report_interrupt(error: BaseException, output: Output) -> int:
    """Ctrl-C, as click passes it on or as it came."""
    output.fail("interrupted")
    _show_notes(error.__cause__ or error, output)
    return INTERRUPTED


def _show_notes(error: BaseException, output: Output) -> None:
    """Notes that were added on the way: what was left behind, for example."""
    for note in getattr(error, "__notes__", ()):
        output.note(f"note: {note}")


def error_document(error: OmniGraphError) -> dict[str, Json]:
    """`{"error": {code, message, hint?, details?, notes?}}`; a lost precondition keeps its sibling object."""
    code = error.error_code if isinstance(error, CompileError) else error.code
    body: dict[str, Json] = {"code": code, "message": error.sentence()}
    if error.hint:
        body["hint"] = error.hint
    if details := error.details():
        body["details"] = details
    if notes := getattr(error, "__notes__", None):
        body["notes"] = list(notes)
    document: dict[str, Json] = {"error": body}
    if isinstance(error, PreconditionFailed):
        failure: dict[str, Json] = {"expected": error.expected}
        if error.actual is not None:
            failure["actual"] = error.actual
        document["precondition_failure"] = failure
    return document


def report_usage(error: click.ClickException, output: Output) -> int:
    """A command line that cannot be read: the reason, the usage line, and where to look."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    message = error.format_message()
    if output.json:
        document: dict[str, Json] = {"error": {"code": "usage", "message": message}}
        output.write(to_json_text(document))
        output.fail(message)
        return USAGE
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        output.note(message)
        return USAGE
    output.fail(message)
    if context is not None:
        output.note(f"\n{context.get_usage()}\n\nFor more information, try '--help'.")
    return USAGE


def report_bug(error: Exception, output: Output) -> int:
    """An unexpected error. The traceback is shown, because a bug report needs it."""
    sentence = f"unexpected {type(error).__name__}: {error}"
    if output.json:
        output.write(to_json_text({"error": {"code": "internal", "message": sentence}}))
    output.note("".join(traceback.format_exception(error)).rstrip())
    output.fail(sentence)
    output.note("hint: this is a bug in omnigraph; please report it with the lines above")
    return FAILURE
