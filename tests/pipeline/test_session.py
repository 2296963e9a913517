"""Sessions: which master is used, what is refused and how, and that a session is one and quiet."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omnigraph.pipeline.spark import spark_session as sessions
from omnigraph.pipeline.spark.java import (
    Java,
    JavaMissing,
    SparkMasterUnusable,
    SparkUnreachable,
    class_archive,
    require_java,
)
from omnigraph.pipeline.spark.run_kernel import SparkJobFailed, hint_for, reason_of, run
from omnigraph.pipeline.spark.spark_session import normal_master, require_reachable, running_session, session
from omnigraph.pipeline.spark.stage_progress import Stage

CORES = os.cpu_count() or 1
STAGE = Stage(name="s")


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("local", "local[1,4]"),
        ("local[*]", f"local[{CORES},4]"),
        ("local[2]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("spark://h:7077", "spark://h:7077"),
        ("sc://h", "sc://h"),
        ("yarn", "yarn"),
    ],
)
def test_a_plain_local_master_gets_retries_and_others_stay(given: str, used: str) -> None:
    assert normal_master(given) == used


@pytest.mark.parametrize("given", ["", "lokal[2]", "local[x]", "http://h"])
def test_what_is_no_master_is_refused_with_the_ones_that_are(given: str) -> None:
    with pytest.raises(SparkMasterUnusable, match="is not a Spark master") as refused:
        normal_master(given)
    assert "local[2]" in str(refused.value.hint)


def test_a_machine_without_java_is_told_what_works_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(JavaMissing, match="there is no `java` on the PATH") as refused:
        require_java()
    assert "engine='local'" in str(refused.value.hint)


@pytest.mark.parametrize("by_file", [True, False])
def test_an_old_java_is_refused_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_file: bool
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    if by_file:
        (tmp_path / "release").write_text('JAVA_VERSION="11.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=r"17 or newer; .* is version " + ("11" if by_file else r"1\.8")):
        require_java()


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match="which has no bin/java"):
        require_java()


@pytest.mark.parametrize("master", ["spark://127.0.0.1:9", "spark://127.0.0.1:9,127.0.0.1:10", "sc://127.0.0.1:9"])
def test_a_master_that_does_not_answer_is_named_at_once(master: str) -> None:
    with pytest.raises(SparkUnreachable, match="no Spark master answers"):
        require_reachable(master)


def test_spark_connect_without_its_packages_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)  # what the import system takes for "not there"
    with pytest.raises(SparkMasterUnusable, match="Spark Connect") as refused:
        sessions._start("sc://127.0.0.1:9")
    assert refused.value.hint == "pip install 'omnigraph[connect]' (missing: grpcio)"


def test_another_runtime_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path))
    first = class_archive(Java("/a/java", "17.0.1"), "4.3.0")
    assert first.options() == f"-XX:ArchiveClassesAtExit={first.draft}"
    first.draft.write_bytes(b"archive")
    first.keep()
    assert class_archive(Java("/a/java", "17.0.1"), "4.3.0").options() == f"-XX:SharedArchiveFile={first.file}"
    assert not class_archive(Java("/a/java", "17.0.2"), "4.3.0").exists
    assert not class_archive(Java("/a/java", "17.0.1"), "4.4.0").exists


def test_drafts_of_archives_that_dead_processes_left_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path))
    own = class_archive(Java("/a/java", "17.0.1"), "4.3.0")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    own.draft.parent.mkdir(parents=True)
    dead = own.draft.with_name(own.draft.name.replace(f".{os.getpid()}.", f".{ended.pid}."))
    for draft in (own.draft, dead):
        draft.write_bytes(b"half of an archive")
    own.remove_dead_drafts()
    assert list(own.draft.parent.iterdir()) == [own.draft]


def test_a_running_session_is_always_used(spark: Any) -> None:
    assert session() is spark
    assert session("local[7]") is spark
    assert running_session() is spark


def test_results_come_in_the_order_of_their_items(spark: Any) -> None:
    assert run(spark, abs, [-3, -1, -2], stage=STAGE) == [3, 1, 2]
    assert run(None, abs, [-3, -1, -2], stage=STAGE) == [3, 1, 2]
    assert run(spark, abs, [], stage=STAGE) == []


def test_a_failing_kernel_says_why_and_in_which_stage(spark: Any) -> None:
    with pytest.raises(SparkJobFailed, match=r"the stage 'parse' failed on Spark: .*invalid literal"):
        run(spark, int, ["1", "x"], stage=Stage(name="parse"))


@pytest.mark.parametrize(
    ("text", "reason", "is_told"),
    [
        (
            "Job aborted\nTraceback:\n  File x\nModuleNotFoundError: No module named 'omnigraph'\n\tat x.scala",
            None,
            True,
        ),
        ('java.io.IOException: Cannot run program "/opt/python": error=2', None, True),
        ("Traceback:\nValueError: invalid literal", "ValueError: invalid literal", False),
    ],
)
def test_executors_without_our_python_are_told_from_kernels_that_fail(
    text: str, reason: str | None, is_told: bool
) -> None:
    found = reason_of(RuntimeError(text))
    assert reason is None or found == reason
    assert (hint_for(found) is not None) is is_told


def test_a_kernel_that_refuses_on_purpose_is_heard_in_its_own_words(spark: Any) -> None:
    with pytest.raises(SparkMasterUnusable, match="'9' is not a Spark master"):
        run(spark, normal_master, ["local[1]", "9"], stage=STAGE)


def test_a_program_that_only_imports_the_graph_does_not_load_pyspark() -> None:
    code = "import omnigraph.graph, omnigraph.pipeline.load.run_load, sys; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
