"""A schema change says which rows stay without a vector, and what it says to do gives them one."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.servers.http_server import TOKENS_JSON, serving

BEFORE = "node Doc { slug: String @key  body: String? }\nnode Memo { text: String }\nnode Empty { text: String }\n"
AFTER = """node Doc { slug: String @key  body: String?  emb: Vector(8)? @embed("body") }
node Memo { text: String  emb: Vector(8)? @embed("text") }
node Empty { text: String  emb: Vector(8)? @embed("text") }
"""
LINES = r"""{"type":"Doc","data":{"slug":"a","body":"one, \"two\",\"emb\":null\nthree"}}
{"type":"Doc","data":{"slug":"b","body":"graphs"}}
{"type":"Doc","data":{"slug":"c"}}
{"type":"Memo","data":{"text":"remember"}}
"""
NOTE = (
    "note: 3 rows of Doc were there before emb and have no vector, because only writes embed; with an embedding "
    "provider, load them again: "
    "omnigraph export --type Doc | sed -n 's/,\"emb\":null//p' | omnigraph load --data - --mode merge"
)


@pytest.fixture
def docs(desk: Path, omnigraph: Any, operator: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`docs.omni` with rows, which is the default graph, and `after.pg`, which embeds them."""
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "offline")
    for name, text in (("before.pg", BEFORE), ("after.pg", AFTER), ("docs.jsonl", LINES)):
        (desk / name).write_text(text)
    operator(f"defaults: {{store: {desk / 'docs.omni'}}}\n")
    assert omnigraph("init --schema before.pg docs.omni").exit_code == 0
    assert omnigraph("load --data docs.jsonl --mode append").exit_code == 0
    return desk / "docs.omni"


def missing(graph: Any) -> list[tuple[str, str]]:
    """The rows with a text and without its vector."""
    lines = [json.loads(line) for line in graph.export()]
    texts = [(line["type"], line["data"].get("body") or line["data"].get("text"), line["data"]) for line in lines]
    return [(kind, data["id"]) for kind, text, data in texts if text is not None and data["emb"] is None]


def follow(hint: str, *options: str) -> None:
    """Runs the pipeline of a hint as a person would, with options for both of its commands."""
    program = " ".join([shlex.quote(sys.executable), "-m", "omnigraph.cli", *options])
    subprocess.run(hint.partition(": ")[2].replace("omnigraph", program), shell=True, check=True, env=os.environ)


def test_a_plan_and_its_apply_tell_the_rows_that_stay_without_a_vector(docs: Path, omnigraph: Any) -> None:
    for verb in ("plan", "apply"):
        shown = omnigraph(f"schema {verb} --schema after.pg").stdout.splitlines()
        assert [line for line in shown if line.startswith("note: 3 rows of Doc")] == [NOTE], verb
        assert len([line for line in shown if line.startswith("note: ")]) == 2, "an empty table needs no note"
    assert len(missing(og.open(docs))) == 3
    assert "note" not in omnigraph("schema apply --schema after.pg").stdout, "nothing is added now"


def test_what_the_note_says_gives_every_text_its_vector(docs: Path, omnigraph: Any) -> None:
    notes = json.loads(omnigraph("schema apply --schema after.pg --json").stdout)["notes"]
    assert [(note["code"], note["type"], note["property"], note["rows"]) for note in notes] == [
        ("rows_without_vectors", "node:Doc", "emb", 3),
        ("rows_without_vectors", "node:Memo", "emb", 1),
    ]
    texts = sorted(line["data"].get("body") or "" for line in map(json.loads, og.open(docs).export(types=["Doc"])))
    for note in notes:
        follow(note["hint"])
    graph = og.open(docs)
    assert missing(graph) == []
    assert texts == sorted(line["data"]["body"] or "" for line in map(json.loads, graph.export(types=["Doc"])))
    assert sum(table.row_count for table in graph.snapshot().tables) == 4, "no row is there twice"


def test_a_note_is_about_rows_that_have_a_text_and_lose_no_vector(docs: Path) -> None:
    graph = og.open(docs)
    both_new = BEFORE.replace("body: String?", 'body: String?  more: String?  emb: Vector(8)? @embed("more")')
    assert graph.plan_schema(both_new).without_vectors == ()
    assert graph.plan_schema(BEFORE + "node New { t: String  v: Vector(2)? @embed(t) }").without_vectors == ()
    renamed = AFTER.replace("node Doc {", 'node Paper @rename_from("Doc") {')
    noted = graph.plan_schema(renamed).without_vectors
    assert [(each.type, each.rows) for each in noted] == [("node:Memo", 1), ("node:Paper", 3)]
    graph.apply_schema(AFTER)
    kept = graph.snapshot().commit_id
    graph.apply_schema(BEFORE)
    assert graph.restore_schema("node:Doc.emb", at=kept).plan.without_vectors == (), "its values come back"


def test_a_server_tells_the_same_and_embeds_what_is_loaded_again(docs: Path, omnigraph: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "omnigraph.cli", "serve", str(docs), "--port", "0"]
    with serving(command, tmp_path, **{TOKENS_JSON: ""}) as server:
        where = ["--server", server.base, "--graph", "docs"]
        shown = omnigraph(f"schema apply --schema after.pg {' '.join(where)}").stdout
        assert NOTE in shown.splitlines()
        follow(NOTE.removeprefix("note: "), *where)
        assert [kind for kind, _ in missing(og.open(docs))] == ["Memo"]
