"""The reference page: every command and every error family has its place, every command a line to paste."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from omnigraph.cli.catalogue import COMMANDS, FAMILIES
from omnigraph.cli.exit_codes import EXIT_CODES
from omnigraph.cli.frame import GlobalOption
from omnigraph.cli.root import root

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words[-1] if words else "omnigraph")
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None
            yield from walk(member, (*words, name))
    else:
        yield " ".join(words), command


ALL = dict(walk(root))


def section_of(path: str) -> str:
    found = re.search(rf"^### `{re.escape(path)}`.*?(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return found.group(0) if found else ""


def test_catalogue_has_exactly_the_commands_that_exist() -> None:
    assert set(COMMANDS) == set(ALL)


def test_summary_in_the_catalogue_is_the_commands_own() -> None:
    context = click.Context(root, info_name="omnigraph")
    for family in FAMILIES:
        command = root.get_command(context, family.name)
        assert command is not None
        assert (command.help or "").split("\n")[0] == family.summary


@pytest.mark.parametrize("path", ALL)
def test_help_ends_with_an_example_of_this_command(path: str, omnigraph: Any) -> None:
    last = omnigraph(f"{path} --help").stdout.rstrip().splitlines()[-1]
    assert last.startswith(f"Example: omnigraph {path}")


@pytest.mark.parametrize("path", ALL)
def test_command_has_a_section_with_its_options_and_an_example(path: str) -> None:
    section = section_of(path)
    assert section, f"docs/cli.md has no section for `{path}`"
    options = [
        name
        for option in ALL[path].params
        if isinstance(option, click.Option) and not isinstance(option, GlobalOption)
        for name in option.opts
        if name.startswith("--")
    ]
    assert [name for name in options if name not in section] == []
    assert f"omnigraph {path}" in section


def test_global_options_are_documented() -> None:
    names = [option.opts[0] for option in root.params if isinstance(option, GlobalOption)]
    assert [name for name in names if f"`{name}" not in PAGE] == []


@pytest.mark.parametrize(("family", "code"), [(row[0].__name__, row[1]) for row in EXIT_CODES])
def test_error_family_has_its_exit_code_documented(family: str, code: int) -> None:
    assert re.search(rf"^\| {code} \|.*\b{family}\b", PAGE, re.MULTILINE), f"{family} is not in the table of exit codes"
