"""The operator's config.yaml: what it may hold, what is refused, what only warns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.refusals import InvalidOperatorConfig
from omnigraph.cli.target.operator_config import (
    Alias,
    Defaults,
    OperatorConfig,
    Profile,
    load_operator_config,
    operator_home,
    read_operator_config,
)

FULL = """
operator: {actor: act-me}
servers: {local: {url: "http://127.0.0.1:8080"}}
clusters: {corp: {root: s3://corp/library}}
profiles:
  reader: {server: local, default_graph: catalog}
  broken: {server: local, store: x}
defaults: {server: local, default_graph: catalog, output: csv, table_max_column_width: 40, table_cell_layout: wrap}
aliases: {by: {server: local, graph: catalog, query: books_by, args: [slug], params: {n: 1}, format: kv}}
"""


def test_every_documented_key_is_read_without_a_warning() -> None:
    assert read_operator_config(FULL, "config.yaml") == OperatorConfig(
        actor="act-me",
        aliases={
            "by": Alias(server="local", graph="catalog", query="books_by", args=("slug",), params={"n": 1}, format="kv")
        },
        servers={"local": "http://127.0.0.1:8080"},
        clusters={"corp": "s3://corp/library"},
        profiles={
            "reader": Profile(server="local", default_graph="catalog"),
            "broken": Profile(server="local", store="x"),
        },
        defaults=Defaults(
            server="local",
            default_graph="catalog",
            output="csv",
            table_max_column_width=40,
            table_cell_layout="wrap",
        ),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{ not yaml", ("config.yaml", "YAML")),
        ("operator: {actor: a, actor: b}", ("config.yaml", "YAML")),
        ("- a list", ("config.yaml", "map")),
        ("operator: me", ("operator", "map")),
        ("operator: {actor: 7}", ("operator.actor", "string")),
        ("servers: {prod: {}}", ("servers.prod.url", "required")),
        ("clusters: {corp: {}}", ("clusters.corp.root", "required")),
        ("defaults: {output: xml}", ("defaults.output", "table, kv, csv, jsonl, json")),
        ("defaults: {table_cell_layout: fold}", ("defaults.table_cell_layout", "truncate, wrap")),
        ("defaults: {table_max_column_width: true}", ("defaults.table_max_column_width", "integer")),
        ("defaults: {server: s, store: x}", ("defaults.store", "defaults.server", "binds one entity")),
        ("defaults: {store: x, default_graph: g}", ("defaults.default_graph", "binds one entity")),
        ("profiles: {p: {store: [1]}}", ("profiles.p.store", "string")),
    ],
)
def test_wrong_configuration_is_refused_by_file_and_key(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidOperatorConfig) as caught:
        read_operator_config(text, "config.yaml")
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("color: red", ["color"]),
        ("operator: {color: red}", ["operator.color"]),
        ("defaults: {color: red}", ["defaults.color"]),
        ("servers: {s: {url: x, token: t}}", ["servers.s.token"]),
        ("clusters: {c: {root: x, color: red}}", ["clusters.c.color"]),
        ("profiles: {p: {color: red}}", ["profiles.p.color"]),
        ("aliases: {a: {server: s, query: q, color: red}}", ["aliases.a.color"]),
    ],
)
def test_unknown_key_is_kept_for_a_warning_with_its_dotted_path(text: str, unknown: list[str]) -> None:
    assert list(read_operator_config(text, "config.yaml").unknown_keys) == unknown


@pytest.mark.parametrize("text", ["", "# nothing\n", "operator:\n"])
def test_empty_configuration_is_an_empty_layer(text: str) -> None:
    assert read_operator_config(text, "config.yaml") == OperatorConfig()


def test_absent_file_is_an_empty_layer(tmp_path: Path) -> None:
    assert load_operator_config({"OMNIGRAPH_HOME": str(tmp_path)}) == OperatorConfig()


def test_home_is_the_environments_choice_else_the_dot_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert operator_home({}) == Path("/home/ada/.omnigraph")
    assert operator_home({"OMNIGRAPH_HOME": "~/og"}) == Path("/home/ada/og")
    assert operator_home({"OMNIGRAPH_HOME": ""}) == Path("/home/ada/.omnigraph")


def test_malformed_file_fails_a_command_that_reads_it_and_names_the_file(omnigraph: Any, operator: Any) -> None:
    operator("{ not yaml")
    outcome = omnigraph("branch list --uri lib.omni")
    assert outcome.exit_code == 1
    assert "config.yaml" in outcome.stderr


@pytest.mark.parametrize(
    "line", ["version", "init --schema library.pg g.omni", "lint --schema library.pg --query library.gq"]
)
def test_malformed_file_is_not_read_by_commands_that_need_no_configuration(
    line: str, omnigraph: Any, operator: Any
) -> None:
    operator("{ not yaml")
    assert omnigraph(line).exit_code == 0


def test_environment_selects_a_profile(
    omnigraph: Any, operator: Any, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator("profiles: {mine: {store: lib.omni}}")
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "mine")
    assert omnigraph("branch list").stdout == "main\n"


def test_unknown_key_warns_once_per_invocation(omnigraph: Any, operator: Any, library: Path) -> None:
    operator("operator: {color: red, actor: act-me}")
    outcome = omnigraph("branch create draft --uri lib.omni --json")
    assert outcome.stderr.count("operator.color") == 1
    assert '"actor_id": "act-me"' in outcome.stdout


def test_actor_flag_wins_over_the_configured_actor(omnigraph: Any, operator: Any, library: Path) -> None:
    operator("operator: {actor: act-me}")
    assert '"actor_id": "act-you"' in omnigraph("branch create draft --uri lib.omni --as act-you --json").stdout
