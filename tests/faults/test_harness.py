"""The harness itself: faults come where and how they are asked for, and a broken promise is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.judging import Answer, judge_state, state_of
from faults.power_cut import Disk
from support.faults.fault_shim import COMPILER, Call, Fault, Shim, Way, compiled

BEFORE, AFTER, HALFWAY = {"main": ["a"]}, {"main": ["a", "b"]}, {"main": ["a"], "new": ["a"]}
ACKNOWLEDGED: Answer = {"commit": "c"}
REFUSED: Answer = {"error": {"type": "Unreachable", "message": "", "families": ["Unreachable"], "typed": True}}
UNKNOWN: Answer = {"error": {"type": "OutcomeUnknown", "message": "", "families": ["OutcomeUnknown"], "typed": True}}


# --- what is noticed --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "content", "is_right"),
    [
        (ACKNOWLEDGED, AFTER, True),
        (ACKNOWLEDGED, BEFORE, False),
        (REFUSED, BEFORE, True),
        (REFUSED, AFTER, False),
        (REFUSED, HALFWAY, False),
        (UNKNOWN, BEFORE, True),
        (UNKNOWN, AFTER, True),
        (UNKNOWN, {"main": ["b"]}, False),
    ],
)
def test_a_state_that_contradicts_the_answer_is_noticed(
    told: Answer, content: dict[str, list[str]], is_right: bool
) -> None:
    state = state_of(content, BEFORE, AFTER, HALFWAY)
    assert (judge_state(told, state, same=False) is None) == is_right


# --- faults come as they are asked for --------------------------------------------------------------------

PROGRAM = """
import os, sys
os.chdir(sys.argv[1])
try:
    with open("draft", "wb", buffering=0) as file:
        file.write(b"0123456789")
except OSError as error:
    print("write", error.errno)
try:
    os.rename("draft", "final")
except OSError as error:
    print("rename", error.errno)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang)")
    return compiled(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize(
    ("fault", "printed", "left"),
    [
        (Fault(Way.COUNT, 0), "", {"final": 10}),
        (Fault(Way.ERROR, 2), "write 5", {"final": 0}),
        (Fault(Way.TORN, 2, error=28), "write 28", {"final": 5}),
        (Fault(Way.ERROR_AFTER, 2), "write 5", {"final": 10}),
        (Fault(Way.ERROR, 4), "rename 5", {"draft": 10}),
        (Fault(Way.ERROR_AFTER, 4), "rename 5", {"final": 10}),
        (Fault(Way.ERROR, 2, lasting=True), "write 5\nrename 5", {"draft": 0}),
        (Fault(Way.KILL, 4), "", {"draft": 10}),
        (Fault(Way.KILL_AFTER, 4), "", {"final": 10}),
    ],
    ids=lambda value: value.title.replace(" ", "-") if isinstance(value, Fault) else "",
)
def test_the_nth_call_fails_in_the_way_that_was_asked_for(
    tmp_path: Path, library: Path, fault: Fault, printed: str, left: dict[str, int]
) -> None:
    folder = tmp_path / "root"
    folder.mkdir()
    shim = Shim(tmp_path, library)
    shim.arm(str(folder), fault)
    command = [sys.executable, "-S", "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, env=os.environ | shim.environment, capture_output=True, text=True, check=False)
    if not shim.catches_renames:
        pytest.skip("this kernel does not hand renames over (seccomp)")
    assert (done.stdout.strip(), done.stderr) == (printed, "")
    assert {entry.name: entry.stat().st_size for entry in folder.iterdir()} == left
    names = [call.name for call in shim.disarm()]
    assert names[:4] == ["open64", "write", "close", "rename"][: len(names)]


# --- what a power cut leaves ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "left"),
    [
        (["open new", "write new"], {}),
        (["open new", "write new", "fsync ."], {"new": ""}),
        (["open new", "write new", "fsync new", "fsync ."], {"new": "new"}),
        (["open .tmp", "write .tmp", "fsync .tmp", "rename .tmp new", "fsync ."], {"new": "new"}),
        (["open .tmp", "write .tmp", "rename .tmp new", "fsync ."], {"new": ""}),
        (["open new", "write new", "fsync new", "fsync .", "unlink new"], {"new": "new"}),
        (["open new", "write new", "fsync new", "fsync .", "unlink new", "fsync ."], {}),
        (["open new", "link new other", "write new", "fsync new", "fsync ."], {"new": "new", "other": "new"}),
    ],
    ids=lambda calls: ",".join(calls).replace(" ", "-") if isinstance(calls, list) else "",
)
def test_only_what_was_synced_survives_a_power_cut(tmp_path: Path, calls: list[str], left: dict[str, str]) -> None:
    folder, graveyard = tmp_path / "root", tmp_path / "graveyard"
    folder.mkdir()
    graveyard.mkdir()
    (folder / "old").write_text("old")
    disk = Disk(str(folder))
    played = [_call(words.split(), folder, graveyard, number) for number, words in enumerate(calls, 1)]
    disk.play(played)
    disk.rebuild(folder, graveyard, lambda: False)
    assert {entry.name: entry.read_text() for entry in folder.iterdir()} == {"old": "old", **left}


def _call(words: list[str], folder: Path, graveyard: Path, number: int) -> Call:
    """Makes the call as well."""
    name, first, *rest = words
    match name:
        case "open":
            (folder / first).touch()
        case "write":
            (folder / first).write_text("new")
        case "rename":
            (folder / first).rename(folder / rest[0])
        case "link":
            os.link(folder / first, folder / rest[0])
        case "unlink":
            os.link(folder / first, graveyard / str(number))
            (folder / first).unlink()
    return Call(name, rest[0], first) if rest else Call(name, first)
