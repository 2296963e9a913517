"""The frame: click groups and commands that know the global flags, the catalogue and the shape of our help."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import click

from omnigraph.cli.catalogue import ALIASES, Flag, facts_of
from omnigraph.cli.session import Session

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_SCOPE_FLAGS: dict[Flag, tuple[str, str]] = {
    Flag.SERVER: ("NAME|URL", "Use a server."),
    Flag.GRAPH: ("ID", "Use this graph of the server or cluster."),
    Flag.STORE: ("URI", "Use the graph at this path or s3:// address."),
    Flag.CLUSTER: ("NAME|DIR|URI", "Use a cluster."),
    Flag.PROFILE: ("NAME", "Use the server, cluster or graph of a profile [env: OMNIGRAPH_PROFILE]."),
    Flag.AS: ("ACTOR", "Record this actor with the commit."),
}


class GlobalOption(click.Option):
    """A flag that is legal before and after the subcommand; its value goes to the session, the later one wins."""


def _remember_flag(context: click.Context, option: click.Parameter, value: str | None) -> None:
    session = context.find_object(Session)
    if session is not None and value is not None and option.name is not None:
        session.flags[Flag(option.name.removeprefix("scope_"))] = value


def _remember_switch(context: click.Context, option: click.Parameter, value: bool) -> None:
    session = context.find_object(Session)
    if session is not None and value and option.name is not None:
        setattr(session, option.name, True)


def global_options() -> list[click.Parameter]:
    """Fresh option objects, one set per command."""
    options: list[click.Parameter] = [
        GlobalOption(
            [f"--{flag}", f"scope_{flag}"],
            metavar=metavar,
            help=text,
            expose_value=False,
            callback=_remember_flag,
        )
        for flag, (metavar, text) in _SCOPE_FLAGS.items()
    ]
    for name, text in (("yes", "Confirm a destructive command."), ("quiet", "Do not print the target of a write.")):
        options.append(
            GlobalOption([f"--{name}"], is_flag=True, help=text, expose_value=False, callback=_remember_switch)
        )
    return options


class OmniCommand(click.Command):
    """A runnable command: it checks its flags before it runs, and its help ends with a line to paste."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        kwargs["context_settings"] = CONTEXT | (kwargs.get("context_settings") or {})
        super().__init__(*args, **kwargs)
        self.example = example
        self.params += global_options()

    def invoke(self, ctx: click.Context) -> Any:
        session = ctx.find_object(Session)
        if session is not None:
            session.enter(facts_of(path_of(ctx)))
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            better = _with_the_way_to_a_graph(error, given) if Flag.STORE in facts_of(path_of(ctx)).legal else None
            if better is None:
                raise
            raise click.UsageError(better, error.ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter, facts_of(path_of(ctx)).legal)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if Flag.STORE in facts_of(path_of(ctx)).legal:
            formatter.write(f"\n{_ways_to_a_graph(self)}\n")
        formatter.write(f"\nExample: {self.example}\n")


def _ways_to_a_graph(command: click.Command) -> str:
    """How this command takes the address of a graph, in the same words for all of them."""
    own = next((each for each in command.params if each.name == "uri"), None)
    if own is None:
        return "The graph is given with --store URI."
    word = "as URI" if isinstance(own, click.Argument) else "with --uri URI"
    return f"The graph is given {word} or with --store URI."


def _with_the_way_to_a_graph(error: click.UsageError, args: list[str]) -> str | None:
    """A word too many, or an option of another command, is most often an attempt to name the graph."""
    if isinstance(error, click.NoSuchOption) and error.option_name == "--uri":
        given = next((after for word, after in pairwise(args) if word == "--uri"), "URI")
        return f"no such option '--uri'; give the graph with --store {given}"
    if error.message.startswith("Got unexpected extra argument"):
        extra = error.message.partition("(")[2].removesuffix(")").split()
        return f"{error.message}; give the graph with --store {extra[-1] if extra else 'URI'}"
    return None


class OmniGroup(click.Group):
    """A family of commands. Second names resolve but are not listed."""

    command_class = OmniCommand

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = CONTEXT | (kwargs.get("context_settings") or {})
        kwargs.setdefault("no_args_is_help", True)
        super().__init__(*args, **kwargs)
        self.params += global_options()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        alias = ALIASES.get(f"{path_of(ctx)} {cmd_name}".strip())
        return super().get_command(ctx, alias.split()[-1] if alias else cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            ctx.fail(f"unrecognized subcommand '{args[0]}'{_suggestion(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter, frozenset(Flag))


def path_of(context: click.Context) -> str:
    """The words after the program's name: `branch create`."""
    words: list[str] = []
    here: click.Context | None = context
    while here is not None and here.parent is not None:
        words.insert(0, here.info_name or "")
        here = here.parent
    return " ".join(words)


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter, legal: frozenset[Flag]
) -> None:
    """Own options first, then the global ones that mean something here."""
    own, shared = [], []
    for option in command.get_params(ctx):
        record = option.get_help_record(ctx)
        if record is None or isinstance(option, click.Argument):
            continue
        if not isinstance(option, GlobalOption):
            own.append(record)
        elif option.name in ("yes", "quiet") or Flag((option.name or "").removeprefix("scope_")) in legal:
            shared.append(record)
    for title, records in (("Options", own), ("Global options", shared)):
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _suggestion(word: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


# --- parameters that many commands share -----------------------------------------------------------------------


def _remember_json(context: click.Context, _option: click.Parameter, value: bool) -> None:
    session = context.find_object(Session)
    if session is not None and value:
        session.json = True


json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=_remember_json,
    help="Print one JSON document.",
)
uri_argument = click.argument("uri", required=False, metavar="[URI]")
uri_option = click.option(
    "--uri", metavar="URI", help="Use the graph at this path or s3:// address; the same as --store."
)
branch_option = click.option(
    "--branch", metavar="BRANCH", default="main", show_default=True, help="The branch to read."
)
