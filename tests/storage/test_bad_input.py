"""Bad input gets one clear line with a code, and changes nothing on disk. Through the command line, as users see it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from click.testing import CliRunner

from omnigraph.cli.root import root
from omnigraph.graph import Graph
from support.processes.writers import SCHEMA

Damage = Callable[[Path], None]


def omnigraph(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "omnigraph.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)


def omnigraph_here(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, without the start of one: for all but one command of a case."""
    done = CliRunner().invoke(root, arguments, prog_name="omnigraph")
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def stamp(value: str) -> Damage:
    def write(graph: Path) -> None:
        dataset = lance.dataset(str(graph / "__manifest"))
        dataset.update_schema_metadata({"omnigraph:internal_schema_version": value})

    return write


def truncate_manifest(graph: Path) -> None:
    newest = min((graph / "__manifest" / "_versions").glob("*.manifest"))
    newest.write_bytes(newest.read_bytes()[:40])


def empty_manifest(graph: Path) -> None:
    min((graph / "__manifest" / "_versions").glob("*.manifest")).write_bytes(b"")


def remove_data(graph: Path) -> None:
    shutil.rmtree(graph / "__manifest" / "data")


def remove(name: str) -> Damage:
    return lambda graph: (graph / name).unlink()


def edit_schema(graph: Path) -> None:
    (graph / "_schema.pg").write_text(SCHEMA.replace("I32", "I64"))


CASES: list[tuple[str, Damage, str, str]] = [
    ("wrong path", shutil.rmtree, "graph_not_found", "omnigraph init"),
    ("an empty directory", lambda g: (shutil.rmtree(g), g.mkdir())[0], "graph_not_found", "omnigraph init"),
    ("not a graph", lambda g: shutil.rmtree(g / "__manifest"), "graph_not_found", "did not finish"),
    ("a truncated manifest", truncate_manifest, "corrupt", "restore"),
    ("an empty manifest", empty_manifest, "corrupt", "restore"),
    ("manifest data gone", remove_data, "corrupt", "restore"),
    ("stamp 3", stamp("3"), "format_too_old", "load --mode overwrite"),
    ("stamp 5", stamp("5"), "format_too_new", "upgrade"),
    ("stamp 6", stamp("6"), "format_too_new", "upgrade"),
    ("stamp x", stamp("x"), "format_stamp_unreadable", "'x'"),
    ("no schema source", remove("_schema.pg"), "schema_contract_missing", "restore"),
    ("no schema state", remove("__schema_state.json"), "schema_contract_drift", "restore"),
    ("no schema IR", remove("_schema.ir.json"), "schema_contract_drift", "restore"),
    ("an edited schema", edit_schema, "schema_contract_drift", "restore"),
]


@pytest.mark.parametrize(("damage", "code", "advice"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_graph_that_cannot_be_opened_is_refused_and_left_alone(
    tmp_path: Path, damage: Damage, code: str, advice: str
) -> None:
    path = tmp_path / "g"
    Graph.init(str(path), SCHEMA)
    damage(path)
    before = _bytes(tmp_path)
    for run, arguments in (
        (omnigraph, ["snapshot", str(path)]),
        (omnigraph_here, ["branch", "create", "b", "--uri", str(path)]),
    ):
        plain = run(*arguments)
        assert plain.returncode == 1
        assert plain.stdout == ""
        assert "Traceback" not in plain.stderr
        assert advice in plain.stderr
        answer = json.loads(omnigraph_here(*arguments, "--json").stdout)["error"]
        assert answer["code"] == code
        assert "\n" not in answer["message"]
    assert _bytes(tmp_path) == before


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


BAD_NAMES = ["", "  ", "main", "bad branch", "a//b", "/a", "a/", "x.lock", "a..b", "a\\b", "ü", "n" * 201]
BAD_NAMES += ["__schema_apply_lock__", "/__schema_apply_lock__"]


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_tx_B05_a_bad_branch_name_is_refused_before_anything_appears(tmp_path: Path, name: str) -> None:
    path = tmp_path / "g"
    Graph.init(str(path), SCHEMA)
    before = _bytes(tmp_path)
    answer = omnigraph_here("branch", "create", name, "--uri", str(path), "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["error"]["code"] == "invalid_branch_name"
    assert _bytes(tmp_path) == before
    assert not (path / "__manifest" / "tree").exists()


def test_an_unreachable_s3_endpoint_is_one_clear_error(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused at once
        answer = omnigraph(
            "snapshot",
            "s3://bucket/graph",
            "--json",
            AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{nobody.getsockname()[1]}",
            AWS_ACCESS_KEY_ID="k",
            AWS_SECRET_ACCESS_KEY="s",
        )
    assert answer.returncode == 8
    error = json.loads(answer.stdout)["error"]
    assert error["code"] == "unreachable"
    assert "\n" not in error["message"]


_AS_NOBODY = """
import os, sys
import omnigraph.cli.main, omnigraph.cli.root, omnigraph.graph, omnigraph.write, omnigraph.cli.inputs.schema_files
import omnigraph.cli.commands.branch, omnigraph.cli.commands.init
from click.testing import CliRunner
rehearsed = ["branch", "create", "b", "--uri", os.devnull + "/no-graph", "--json"]
CliRunner().invoke(omnigraph.cli.root.root, rehearsed)  # imports what a refusal needs
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.argv = ["omnigraph", *sys.argv[1:]]
omnigraph.cli.main.run()
"""


@pytest.mark.parametrize("verb", ["branch", "init"])
def test_a_read_only_directory_is_one_clear_error(tmp_path: Path, verb: str) -> None:
    """Root may write anywhere, so the command gives up its rights after its imports."""
    path, schema = tmp_path / "g", tmp_path / "s.pg"
    schema.write_text(SCHEMA)
    Graph.init(str(path), SCHEMA)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == path.owner() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o755)
    for item in path.rglob("*"):
        item.chmod(0o555 if item.is_dir() else 0o444)
    path.chmod(0o555)
    before = _bytes(tmp_path)
    arguments = {
        "branch": ["branch", "create", "b", "--uri", str(path)],
        "init": ["init", "--schema", str(schema), str(path / "inner" / "h")],
    }[verb]
    command = [sys.executable, "-c", _AS_NOBODY, *arguments, "--json"]
    home = os.environ | {"OMNIGRAPH_HOME": str(tmp_path / "no-config")}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=home)
    path.chmod(0o755)
    assert answer.returncode == 1, answer.stderr
    assert json.loads(answer.stdout)["error"]["code"] == "storage_read_only"
    assert _bytes(tmp_path) == before
