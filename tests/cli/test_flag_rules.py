"""Every command against every global scope flag, as the contract's table has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.catalogue import COMMANDS, Capability, CommandFacts, Flag
from omnigraph.cli.target.flag_rules import refusal_of

TABLE = """
command        | server cluster graph store as profile
query          | yes    -       yes   yes   -   yes
explain        | yes    -       yes   yes   -   yes
mutate         | yes    -       yes   yes   yes yes
load           | yes    -       yes   yes   yes yes
branch create  | yes    -       yes   yes   yes yes
branch delete  | yes    -       yes   yes   yes yes
branch list    | yes    -       yes   yes   -   yes
branch merge   | yes    -       yes   yes   yes yes
branch diff    | yes    -       yes   yes   -   yes
merge          | yes    -       yes   yes   yes yes
diff           | yes    -       yes   yes   -   yes
restore        | yes    -       yes   yes   yes yes
revert         | yes    -       yes   yes   yes yes
tag create     | yes    -       yes   yes   yes yes
tag list       | yes    -       yes   yes   -   yes
tag delete     | yes    -       yes   yes   yes yes
snapshot       | yes    -       yes   yes   -   yes
export         | yes    -       yes   yes   -   yes
blob get       | yes    -       yes   yes   -   yes
blob stat      | yes    -       yes   yes   -   yes
clone          | -      yes     yes   yes   -   yes
commit list    | yes    -       yes   yes   -   yes
commit show    | yes    -       yes   yes   -   yes
commit changes | yes    -       yes   yes   -   yes
log            | yes    -       yes   yes   -   yes
changes poll   | yes    -       yes   yes   -   yes
changes baseline | yes  -       yes   yes   -   yes
schema show    | yes    -       yes   yes   -   yes
schema plan    | -      -       -     yes   -   yes
schema apply   | yes    -       yes   yes   yes yes
schema restore | yes    -       yes   yes   yes yes
schema unlock  | -      -       -     yes   -   yes
optimize       | -      yes     yes   yes   -   yes
indexes        | yes    -       yes   yes   -   yes
repair         | -      yes     yes   yes   -   yes
cleanup        | -      yes     yes   yes   -   yes
verify         | -      yes     yes   yes   -   yes
recoveries     | -      yes     yes   yes   -   yes
lint           | -      yes     yes   yes   -   yes
serve          | -      -       -     yes   -   yes
init           | -      -       -     -     -   -
queries list   | yes    yes     yes   -     -   yes
queries validate | -    yes     yes   -     -   yes
policy validate | -     yes     yes   -     -   yes
policy test    | -      yes     yes   -     -   yes
policy explain | -      yes     yes   -     -   yes
mcp            | yes    -       yes   yes   yes yes
graphs list    | yes    -       -     -     -   yes
profile list   | -      -       -     -     -   -
profile show   | -      -       -     -     -   -
login          | -      -       -     -     -   -
logout         | -      -       -     -     -   -
alias          | -      -       -     -     -   -
format         | -      -       -     -     -   -
version        | -      -       -     -     -   -
help           | -      -       -     -     -   -
"""

ROWS = [
    (command.strip(), Flag(flag), mark == "yes")
    for line in TABLE.strip().splitlines()[1:]
    for command, marks in [line.split("|")]
    for flag, mark in zip(TABLE.split("|")[1].split()[:6], marks.split(), strict=True)
]


@pytest.mark.parametrize(("path", "flag", "legal"), ROWS)
def test_flag_applies_exactly_where_the_table_says(path: str, flag: Flag, legal: bool) -> None:
    assert (refusal_of(COMMANDS[path], {flag}) is None) == legal


def test_table_has_every_command() -> None:
    assert {path for path, _, _ in ROWS} == set(COMMANDS)


def test_table_of_the_reference_page_is_this_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    flags, _, *lines = page[page.index("| commands | `--server`") :].partition("\n\n")[0].splitlines()
    shown = {
        (command, Flag(flag.strip(" `-")), mark.strip() == "yes")
        for line in lines
        for command in re.findall(r"`([^`]+)`", line.split("|")[1])
        for flag, mark in zip(flags.split("|")[2:-1], line.split("|")[2:-1], strict=True)
    }
    assert shown == set(ROWS)


@pytest.mark.parametrize(
    ("path", "flag", "words"),
    [
        ("init", "store", ("`init`", "direct (storage-native)", "--store", "does not apply", "pass a storage URI")),
        ("schema plan", "server", ("`schema plan`", "direct (storage-native)", "--server", "pass a storage URI")),
        ("lint", "server", ("`lint`", "--cluster <dir> --graph <id>")),
        ("version", "profile", ("`version`", "local", "--profile", "does not address a graph")),
        ("branch list", "as", ("`branch`", "data", "--as", "does not apply")),
        ("changes poll", "as", ("`changes poll`", "data", "--as", "does not apply")),
        ("commit show", "cluster", ("`commit`", "data", "--cluster", "does not apply")),
    ],
)
def test_refusal_names_the_command_its_capability_the_flag_and_the_remedy(
    path: str, flag: str, words: tuple[str, ...]
) -> None:
    message = refusal_of(COMMANDS[path], {Flag(flag)}) or ""
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("capability", Capability)
def test_refusal_never_ends_in_a_space_and_names_the_capability(capability: Capability) -> None:
    message = refusal_of(CommandFacts("x", capability, frozenset(), "x"), {Flag.SERVER}) or ""
    assert capability.value in message
    assert message == message.strip()


def test_first_illegal_flag_in_the_fixed_order_is_reported() -> None:
    given = {Flag.PROFILE, Flag.AS, Flag.STORE, Flag.GRAPH, Flag.CLUSTER}
    assert "--cluster" in (refusal_of(COMMANDS["init"], given) or "")


def test_illegal_flag_is_refused_before_the_configuration_is_read(omnigraph: Any, operator: Any) -> None:
    operator("{ not yaml")
    outcome = omnigraph("snapshot --as me lib.omni")
    assert outcome.exit_code == 1
    assert "--as" in outcome.stderr
    assert "config.yaml" not in outcome.stderr


def test_usage_error_comes_before_an_illegal_flag(omnigraph: Any) -> None:
    assert omnigraph("init --store x g.omni").exit_code == 2


def test_ambient_profile_is_ignored_by_commands_that_take_none(omnigraph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "nowhere")
    assert omnigraph("version").exit_code == 0
