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
    """An error that was raised on purpose: the sentence, the hint, and with --json the whole of it on stdout."""
    if isinstance(error, ReportedFailure):
        output.fail(error.sentence())
    elif output.json:
        output.write(to_json_text(error_document(error)))
        output.fail(error.sentence())
    elif isinstance(error, CompileError):
        output.note(error.render())
    else:
        first, *others = _violations(error) or [""]
        output.fail(f"{first}{error.sentence()}")
        for text in others:
            output.note(f"  {text}")
        if error.hint:
            output.note(f"hint: {error.hint}")
        _tell_notes(error, output)
    return exit_code_of(error)


def report_interrupt(error: BaseException, output: Output) -> int:
    """Ctrl-C, as click passes it on or as it came."""
    output.fail("interrupted")
    _tell_notes(error.__cause__ or error, output)
    return INTERRUPTED


def _tell_notes(error: BaseException, output: Output) -> None:
    """What whoever passed the error on had to add: what it left behind, for example."""
    for note in getattr(error, "__notes__", ()):
        output.note(f"note: {note}")


def _violations(error: OmniGraphError) -> list[str]:
    """An error may stand for several broken rules. Its sentence is the first one, to which only the file is added; the
    others are told in full."""
    found = error.details().get("violations")
    told: list[str] = []
    for violation in found if isinstance(found, list) else ():
        if isinstance(violation, dict):
            file = f"{violation['file']}, " if "file" in violation and "line" in violation else ""
            line = f"line {violation['line']}: " if "line" in violation else ""
            told.append(file if not told else f"{file}{line}{violation['message']}")
    return told


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
    """An error that nobody raised on purpose. The traceback stays visible, because it is what a report needs."""
    sentence = f"unexpected {type(error).__name__}: {error}"
    if output.json:
        output.write(to_json_text({"error": {"code": "internal", "message": sentence}}))
    output.note("".join(traceback.format_exception(error)).rstrip())
    output.fail(sentence)
    output.note("hint: this is a fault of omnigraph; please report it with the lines above")
    return FAILURE
