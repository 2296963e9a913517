"""`omnigraph alias`: run a stored query by a short name of the operator's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.commands.query import show_result
from omnigraph.cli.formats import ResultFormat
from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.cli.target import Alias


@click.command("alias", cls=OmniCommand, example="omnigraph alias by le-guin")
@click.argument("name")
@click.argument("args", nargs=-1)
@click.option("--params", metavar="JSON", help="The parameters, a JSON object; wins over everything else.")
@click.option("--params-file", metavar="FILE", help="The same in a file.")
@click.option(
    "--format", "form", type=click.Choice([form.value for form in ResultFormat]), help="How the rows are printed."
)
@json_option
@click.pass_obj
def command(
    session: Session,
    name: str,
    args: tuple[str, ...],
    params: str | None,
    params_file: str | None,
    form: str | None,
) -> None:
    """Run a stored query by a short name.

    The name, its server and its parameters are in `aliases:` of config.yaml. ARGS are the parameters that the alias
    lists, in its order; each is JSON, or else text. A stored mutation is refused.
    """
    from omnigraph.cli.inputs import given_parameters
    from omnigraph.cli.refusals import UndeclaredName

    if session.json and form is not None:
        raise click.UsageError("--json and --format cannot be used together")
    alias = session.config.aliases.get(name)
    if alias is None:
        known = ", ".join(sorted(session.config.aliases)) or "none"
        raise UndeclaredName(f"unknown alias '{name}'; declared aliases: {known}", "declare it in config.yaml")
    values = {**alias.params, **_positional(name, alias, args), **given_parameters(params, params_file)}
    target = session.served_target(alias.server, alias.graph)
    with target.open_for_reading() as graph:
        result = target.stored(graph)(alias.query, values, expect_mutation=False)
    show_result(session, result.to_json(), form or alias.format)


def _positional(name: str, alias: Alias, args: tuple[str, ...]) -> dict[str, Any]:
    from omnigraph.cli.refusals import InvalidParams

    if len(args) > len(alias.args):
        raise InvalidParams(f"alias '{name}' takes {len(alias.args)} arguments, got {len(args)}")
    return {param: _value(text) for param, text in zip(alias.args, args, strict=False)}


def _value(text: str) -> Any:
    """JSON where it is some, else the text itself."""
    from omnigraph.model.strict_json import DECODER

    try:
        return DECODER.decode(text)
    except ValueError:
        return text
