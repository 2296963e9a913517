"""Where a query's text and parameters come from: a file, the command line, or a server's catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli.refusals import InvalidParams, WrongScope
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.cli.session import Target
    from omnigraph.model.errors import Json

F = TypeVar("F", bound=Callable[..., Any])


def source_options(command: F) -> F:
    """NAME, and the options that say where the query and its parameters are."""
    for decorate in (
        click.option("--params-file", metavar="FILE", help="The parameters, a JSON object in a file."),
        click.option("--params", metavar="JSON", help="The parameters, a JSON object."),
        click.option("-e", "--query-string", "text", metavar="GQ", help="The query itself."),
        click.option("--query", "file", metavar="FILE", help="The query, in a .gq file."),
        click.argument("name", required=False, metavar="[NAME]"),
    ):
        command = decorate(command)
    return command


@dataclass(frozen=True, slots=True)
class QuerySource:
    """The query to run, as the command line gives it."""

    name: str | None
    file: str | None
    text: str | None
    params: str | None
    params_file: str | None

    def __post_init__(self) -> None:
        if self.name is not None and not self.name.isidentifier():
            raise click.UsageError(f"'{self.name}' is not the name of a query; give the graph with --store {self.name}")
        if self.file is not None and self.text is not None:
            raise click.UsageError("--query and --query-string cannot be used together")
        if self.params is not None and self.params_file is not None:
            raise click.UsageError("--params and --params-file cannot be used together")
        if self.file is None and self.text is None and self.name is None:
            raise click.UsageError("no query given; pass it with --query FILE or -e GQ")

    def is_stored(self, target: Target) -> bool:
        """A name alone means a stored query, where there is a server that has some."""
        return target.is_served and self.file is None and self.text is None

    def query_text(self, target: Target, verb: str) -> str:
        """The text. A name alone means the catalog of a server, which a store does not have."""
        from omnigraph.cli.inputs.files import read_text

        if self.text is not None:
            text = self.text
        elif self.file is not None:
            text = read_text(self.file)
        elif target.is_served:
            raise WrongScope(
                f"`{verb} {self.name}` needs the text of the query", "pass it with --query <file.gq> or -e <text>"
            )
        else:
            raise WrongScope(
                f"`{verb} {self.name}` runs a stored query, and a server is needed for that: '{target.uri}' is a store",
                "pass the query with --query <file.gq> or -e <text>, or use a server with --server <name|url>",
            )
        if not text.strip():
            raise InvalidParams("the query must not be empty")
        return text

    def parameters(self) -> dict[str, Json]:
        """The parameters: a JSON object, empty when none are given."""
        return given_parameters(self.params, self.params_file)


def given_parameters(params: str | None, params_file: str | None) -> dict[str, Json]:
    """What --params or --params-file says; nothing, if neither is given."""
    from omnigraph.cli.inputs.files import read_text

    if params is not None and params_file is not None:
        raise click.UsageError("--params and --params-file cannot be used together")
    if params_file is not None:
        return _parsed(read_text(params_file), f"'{params_file}'")
    return {} if params is None else _parsed(params, "--params")


def _parsed(text: str, where: str) -> dict[str, Json]:
    from omnigraph.model.strict_json import DECODER

    try:
        value = DECODER.decode(text)
    except ValueError as error:
        raise InvalidParams(f"{where} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidParams(f"{where} must be a JSON object", 'write {"name": value, ...}')
    return value
