"""`load` of tables and `export` to folders, from the command line."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.commands.load import format_of
from omnigraph.cli.progress import ProgressLine, short
from omnigraph.model.progress import Progress


@pytest.fixture
def shelf(omnigraph: Any, library: Path, desk: Path) -> Path:
    assert omnigraph("load --data seed.jsonl --mode append lib.omni").exit_code == 0
    return desk


def authors(omnigraph: Any) -> dict[str, Any]:
    found = [json.loads(line) for line in omnigraph("export lib.omni --type Author").stdout.splitlines()]
    return {record["data"]["slug"]: record["data"]["name"] for record in found}


def test_a_csv_file_is_loaded_by_its_name_and_type(omnigraph: Any, shelf: Path) -> None:
    (shelf / "more.csv").write_text("slug,name\nbutler,Octavia Butler\n")
    outcome = omnigraph("load --data more.csv --type Author --mode append lib.omni --json")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["engine"] == "local"
    assert authors(omnigraph)["butler"] == "Octavia Butler"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.yaml", "type: Author\ncolumns: {key: slug}\nignore: [shoe]\n"),
        ("map.json", '{"type": "Author", "columns": {"key": "slug"}, "ignore": ["shoe"]}'),
    ],
)
def test_a_mapping_is_yaml_or_json_and_options_belong_to_the_format(
    omnigraph: Any, shelf: Path, name: str, text: str
) -> None:
    (shelf / name).write_text(text)
    (shelf / "more.csv").write_text("key;name;shoe\nbutler;Octavia;39\n")
    line = f"load --data more.csv --mapping {name} --option delimiter=; --mode append lib.omni"
    outcome = omnigraph(line.replace(";", "\\;"))
    assert outcome.exit_code == 0, outcome.stderr
    assert authors(omnigraph)["butler"] == "Octavia"


def test_a_suggested_mapping_can_be_given_back(omnigraph: Any, shelf: Path) -> None:
    (shelf / "authors.csv").write_text("Slug,Name,shoe\nbutler,Octavia,39\n")
    outcome = omnigraph("load --data authors.csv --type Author --suggest-mapping lib.omni")
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout) == {
        "type": "Author",
        "columns": {"Slug": "slug", "Name": "name"},
        "ignore": ["shoe"],
    }
    assert "warning: left out: shoe" in outcome.stderr
    (shelf / "m.json").write_text(outcome.stdout)
    assert omnigraph("load --data authors.csv --mapping m.json --mode append lib.omni").exit_code == 0


def test_several_files_are_one_commit(omnigraph: Any, shelf: Path) -> None:
    for name in ("a", "b"):
        (shelf / f"{name}.jsonl").write_text(
            json.dumps({"type": "Author", "data": {"slug": name, "name": name}}) + "\n"
        )
    before = len(json.loads(omnigraph("commit list lib.omni --json").stdout)["commits"])
    assert omnigraph("load --data a.jsonl --data b.jsonl --mode append lib.omni").exit_code == 0
    assert len(json.loads(omnigraph("commit list lib.omni --json").stdout)["commits"]) == before + 1


def test_a_bad_row_of_a_table_is_named_by_its_line(omnigraph: Any, shelf: Path) -> None:
    (shelf / "more.csv").write_text('slug,name\nx,"two\nlines"\ny,\n')
    outcome = omnigraph("load --data more.csv --type Author --mode append lib.omni")
    assert outcome.exit_code == 1
    assert "error: more.csv, line 4: Author: null for non-nullable property 'name'" in outcome.stderr


def test_violations_of_several_files_name_their_file(omnigraph: Any, shelf: Path) -> None:
    for name in ("a", "b"):
        (shelf / f"{name}.jsonl").write_text(json.dumps({"type": "Author", "data": {"slug": name}}) + "\n")
    outcome = omnigraph("load --data a.jsonl --data b.jsonl --mode append lib.omni")
    assert "error: a.jsonl, line 1: Author" in outcome.stderr
    assert "  b.jsonl, line 1: Author" in outcome.stderr
    skipped = omnigraph("load --data a.jsonl --data b.jsonl --mode append --on-error skip lib.omni")
    assert "warning: rejected: b.jsonl, line 1: Author" in skipped.stderr


USAGE = [
    ("load --data seed.jsonl --mode append --spark local[2] --engine local lib.omni", "--spark needs --engine"),
    ("schema apply --schema library.pg --spark local[2] --engine local lib.omni", "--spark needs --engine"),
    ("load --data seed.jsonl --mode append --option x lib.omni", "--option takes name=value"),
    ("load --data - --data seed.jsonl --mode append lib.omni", "--data - cannot be combined"),
    ("load --data - --format csv --mode append lib.omni", "stdin must be JSON lines"),
    ("load --data seed.jsonl lib.omni", "--mode"),
    ("export lib.omni --format csv", "--format needs --output"),
    ("export lib.omni --json", "--json needs --output"),
    ("export lib.omni --engine spark", "--engine needs --output"),
]


@pytest.mark.parametrize(("line", "message"), USAGE, ids=[row[1] for row in USAGE])
def test_options_that_contradict_each_other_are_a_usage_error(
    omnigraph: Any, library: Path, line: str, message: str
) -> None:
    outcome = omnigraph(line)
    assert outcome.exit_code == 2
    assert message in outcome.stderr


@pytest.mark.parametrize("file_format", ["jsonl", "parquet", "csv"])
def test_an_export_to_a_folder_is_loaded_back(omnigraph: Any, shelf: Path, file_format: str) -> None:
    outcome = omnigraph(f"export lib.omni --output out --format {file_format} --json")
    assert outcome.exit_code == 0, outcome.stderr
    document = json.loads(outcome.stdout)
    assert (document["format"], document["engine"], document["total_entities"]) == (file_format, "local", 9)
    assert omnigraph("init --schema out/_schema.pg again.omni").exit_code == 0
    loaded = omnigraph(f"load --data out --format {file_format} --mode overwrite again.omni")
    assert loaded.exit_code == 0, loaded.stderr
    assert omnigraph("export again.omni").stdout == omnigraph("export lib.omni").stdout


def test_an_export_says_where_it_went_and_how(omnigraph: Any, shelf: Path) -> None:
    lines = omnigraph("export lib.omni --output out --type Author").stdout.splitlines()
    assert lines[0].startswith("exported lib.omni of branch main: 2 entities to 1 jsonl files in ")
    assert lines[1].endswith("with the local engine")
    refused = omnigraph("export lib.omni --output out")
    assert (refused.exit_code, "is not empty" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a.csv", "csv"), ("a.tsv.gz", "csv"), ("x/a.parquet", "parquet"), ("a.jsonl", "jsonl"), ("a.json", "jsonl")],
)
def test_the_name_of_a_file_tells_its_format(path: str, expected: str) -> None:
    assert format_of((path,)) == expected


def test_progress_draws_rows_their_rate_and_the_time_left_over_one_line_and_wipes_it() -> None:
    stream, now = io.StringIO(), iter([0.0, 0.05, 10.0, 11.0, 12.0, 13.0])
    line = ProgressLine(stream, clock=lambda: next(now), columns=120)
    sizes: Any = {"stage": "decode", "tasks_total": 4, "bytes_total": 8_000_000}
    line(Progress(**sizes))
    line(Progress(**sizes, tasks=1))  # too soon to draw again
    line(Progress(**sizes, tasks=1, rows=40_000, bytes=2_000_000, seconds=10.0))
    line(Progress(**sizes, tasks=4, rows=90_000, bytes=8_000_000, seconds=20.0))
    line(Progress(stage="write", tasks=1, tasks_total=3, rows=60_000, rows_total=90_000, seconds=2.0))
    line(Progress(stage="index", rows_total=90_000))
    line.wipe()
    drawn = [text.rstrip() for text in stream.getvalue().split("\r")]
    assert drawn == [
        "",
        "decode [------------] 0/4 tasks, 0/8.0MB, 0s",
        "decode [###---------] 1/4 tasks, 40.0k rows, 4.0k rows/s, about 30s left",
        "decode [############] 4/4 tasks, 90.0k rows, 4.5k rows/s, 20s",
        "write [########----] 1/3 tasks, 60.0k/90.0k rows, 30.0k rows/s, about 1s left",
        "index [------------] 90.0k rows, 0s",
        "",
        "",
    ]


def test_a_line_that_would_wrap_is_cut() -> None:
    stream = io.StringIO()
    ProgressLine(stream, columns=20)(Progress(stage="write", tasks_total=3, rows_total=90_000))
    assert stream.getvalue() == "\rwrite [------------"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (12_345, "12.3k"),
        (999_999, "999k"),
        (1_250_000, "1.25M"),
        (2e9, "2.0G"),
    ],
)
def test_numbers_are_short_and_never_rounded_up(number: float, text: str) -> None:
    assert short(number) == text


def seen_at_a_terminal(command: list[str]) -> str:
    """What a person sees on stderr while a command runs, and after it."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how a terminal says that nobody writes to it any more
            while piece := os.read(ours, 4096):
                shown += piece
        assert process.wait(120) == 0, shown
    os.close(ours)
    return shown.decode()


def test_a_person_at_a_terminal_sees_each_stage_with_its_rows_and_then_a_clean_line(
    omnigraph: Any, library: Path, desk: Path
) -> None:
    command = [sys.executable, "-m", "omnigraph.cli"]
    shown = seen_at_a_terminal([*command, "load", "--data", "seed.jsonl", "--mode", "append", "lib.omni"])
    lines = [text.rstrip() for text in shown.split("\r")]
    assert any(text.startswith("decode [####") and " 9 rows, " in text and "rows/s" in text for text in lines)
    for stage in ("check", "commit"):
        assert any(text.startswith(f"{stage} [####") and " 9/9 rows, " in text for text in lines), lines
    assert lines[-2:] == ["", ""]
    shown = seen_at_a_terminal([*command, "export", "lib.omni", "--output", "out"])
    assert "export [############] 4/4 tasks, 9/9 rows, " in shown
    assert "[#" not in seen_at_a_terminal([*command, "--quiet", "export", "lib.omni", "--output", "quiet"])


def test_nothing_is_drawn_when_stderr_is_no_terminal(omnigraph: Any, shelf: Path) -> None:
    assert "\r" not in omnigraph("export lib.omni --output out").stderr


def test_ctrl_c_ends_a_load_with_130_and_leaves_the_graph_as_it_was(omnigraph: Any, shelf: Path) -> None:
    head = json.loads(omnigraph("commit list lib.omni --json").stdout)["commits"][0]["graph_commit_id"]
    command = [sys.executable, "-m", "omnigraph.cli", "load", "--data", "-", "--mode", "append", "lib.omni"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stderr is not None
        assert process.stderr.readline()  # the target is announced: it reads stdin from here on
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    after = json.loads(omnigraph("commit list lib.omni --json").stdout)["commits"][0]["graph_commit_id"]
    assert after == head
