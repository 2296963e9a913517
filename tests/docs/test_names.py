"""What the manual and the messages name exists: commands, options, methods, variables of the environment."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import click
import pytest

import omnigraph as og
import omnigraph.spark as ogs
from docs.manual import PAGES, ROOT, blocks_of, commands_of, prose_of, text_of
from docs.sources import SOURCES, literals, messages
from omnigraph.cli.catalogue import ALIASES, COMMANDS
from omnigraph.cli.deprecations import REWRITES
from omnigraph.cli.root import root
from omnigraph.server.__main__ import server_parser

_TICKED = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
_COMMAND = re.compile(r"(?<!import )\bomnigraph ((?:--[\w-]+(?: [\w.]+)? )*)([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
FOR_TESTS = "OMNIGRAPH_FAILPOINTS"
"""Makes a process die at a chosen place; a user has no use for it."""
_FOREIGN_SUBJECTS = ("pip ", "venv-pack", "make ", "export ", "diff ", "cmp ")


@dataclass(frozen=True)
class Mention:
    """A piece of text that names something, and where it is."""

    place: str
    text: str


def options_by_command() -> dict[str, set[str]]:
    """The options of every command by its words; a group has those of its members."""
    found: dict[str, set[str]] = {}

    def walk(command: click.Command, words: tuple[str, ...]) -> set[str]:
        own = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        own |= {"--help", "--version"}
        if isinstance(command, click.Group):
            context = click.Context(command, info_name="omnigraph")
            for name in command.list_commands(context):
                member = command.get_command(context, name)
                assert member is not None
                own |= walk(member, (*words, name))
        found[" ".join(words)] = own
        return own

    walk(root, ())
    return found


def server_options() -> set[str]:
    """Those of the second program, `omnigraph-server`."""
    return {name for action in server_parser()._actions for name in action.option_strings}


OPTIONS = options_by_command()
OPTIONS[""] |= server_options()
DEPRECATED = {" ".join(old): " ".join(new) for old, new in REWRITES} | ALIASES


def command_of(first: str, second: str | None) -> str | None:
    """The command that these two words name; None when there is no such command."""
    for words in (f"{first} {second}", first):
        if DEPRECATED.get(words, words) in OPTIONS:
            path = DEPRECATED.get(words, words)
            is_group = path not in COMMANDS
            return None if is_group and second is not None else path
    return None


def code_of(page: str) -> Iterator[Mention]:
    """Every piece of code of a page: inline code, the commands of terminal sessions, other blocks as a whole."""
    for ticked in _TICKED.findall(prose_of(page)):
        yield Mention(page, " ".join(ticked.split()))
    for block in blocks_of(page):
        if block.language in ("console", "", "sh"):
            for command in commands_of(block):
                yield Mention(block.place, command.text)
        elif block.language != "yaml":
            yield Mention(block.place, block.text)


def wrong_commands(mention: Mention) -> Iterator[str]:
    for _, first, second in _COMMAND.findall(mention.text):
        if command_of(first, second or None) is None:
            yield f"{mention.place}: there is no command `omnigraph {first} {second}`"


def wrong_options(mention: Mention) -> Iterator[str]:
    """The commands of a pipeline have options of their own."""
    for text in re.split(r" \| (?=omnigraph )", mention.text):
        named = _COMMAND.search(text)
        path = command_of(named[2], named[3] or None) if named else ""
        if path is not None and not text.startswith(_FOREIGN_SUBJECTS):
            for option in sorted(set(_OPTION.findall(text)) - OPTIONS[path]):
                yield f"{mention.place}: `omnigraph {path}` has no option {option}: {text[:80]}"


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_of_a_page_exists(page: str) -> None:
    mentions = list(code_of(page))
    wrong = [line for mention in mentions for line in (*wrong_commands(mention), *wrong_options(mention))]
    assert wrong == []


def code_of_messages() -> Iterator[Mention]:
    """What messages put into backticks, whole lines such as the examples of `--help`, and the options in the prose."""
    for literal in messages():
        if literal.text.startswith("omnigraph "):
            yield Mention(literal.place, literal.text)
            continue
        for ticked in _TICKED.findall(literal.text):
            yield Mention(literal.place, ticked)
        yield Mention(literal.place, " ".join(_OPTION.findall(_TICKED.sub("", literal.text))))


def test_every_command_and_option_of_a_message_exists() -> None:
    mentions = list(code_of_messages())
    wrong = [line for mention in mentions for line in (*wrong_commands(mention), *wrong_options(mention))]
    assert wrong == []


def test_every_command_of_a_terminal_session_is_one_that_parses() -> None:
    for page in PAGES:
        for block in blocks_of(page, "console"):
            for command in commands_of(block):
                assert shlex.split(command.text, comments=True), block.place


@pytest.mark.parametrize("page", PAGES)
def test_every_method_and_name_of_a_page_exists(page: str) -> None:
    wrong = []
    for mention in code_of(page):
        for owner, name in re.findall(r"\b(graph|Graph|og|ogs|omnigraph\.spark)\.([A-Za-z_]\w*)", mention.text):
            home = {"graph": og.Graph, "Graph": og.Graph, "og": og}.get(owner, ogs)
            if name not in ("omni", "Graph") and not hasattr(home, name):
                wrong.append(f"{mention.place}: {owner}.{name}")
    assert wrong == []


def test_every_method_of_a_message_exists() -> None:
    wrong = []
    for literal in messages():
        for owner, name in re.findall(r"\b(graph|Graph|og)\.([a-z_]\w*)\(", literal.text):
            if not hasattr(og if owner == "og" else og.Graph, name):
                wrong.append(f"{literal.place}: {owner}.{name}")
    assert wrong == []


def test_the_manual_imports_nothing_from_inner_modules() -> None:
    imports = [
        f"{block.place}: {line}"
        for page in PAGES
        for block in blocks_of(page, "python")
        for line in block.text.splitlines()
        if re.match(r"\s*(from|import) omnigraph\.(?!spark( |$))", line)
    ]
    assert imports == []


def test_every_variable_of_the_environment_that_the_manual_names_is_read() -> None:
    named = {name for page in PAGES for name in re.findall(r"\bOMNIGRAPH_[A-Z_]+[A-Z]\b", text_of(page))}
    known = {name for literal in literals() for name in re.findall(r"\bOMNIGRAPH_[A-Z_]+[A-Z]\b", literal.text)}
    assert named - known == set()


def test_every_variable_of_the_environment_that_is_read_is_in_the_manual() -> None:
    manual = "".join(text_of(page) for page in PAGES)
    names = {literal.text for literal in literals() if re.fullmatch(r"OMNIGRAPH_[A-Z_]+[A-Z]", literal.text)}
    assert {name for name in names - {FOR_TESTS} if name not in manual} == set()


def test_the_sources_are_where_the_tests_look_for_messages() -> None:
    assert SOURCES.is_relative_to(ROOT)
    assert len(messages()) > 500
