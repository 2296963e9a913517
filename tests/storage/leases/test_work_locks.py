"""A staging area that tasks still write into outlives their job, and nothing of it outlives the tasks."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import OmniGraphError
from omnigraph.storage.bulk import area as areas
from omnigraph.storage.bulk.area import StagingFiles, cleanup_staging, staging_area
from omnigraph.storage.graph_storage import GraphStorage

LOAD = "01M7JRCQCTBCQXZ7RMMZ1SFG3X"
TASK = """
import os, sys
from omnigraph.storage.root import parse_root
from omnigraph.storage.bulk.area import StagingFiles

files = StagingFiles(parse_root(sys.argv[1]), sys.argv[2])
with files.at_work():
    print("at work", flush=True)
    sys.stdin.readline()
    os.makedirs(files.uri("late"), exist_ok=True)
    open(files.uri("late/file"), "w").close()
"""


@pytest.fixture
def storage(tmp_path: Path) -> GraphStorage:
    return Graph.init(str(tmp_path / "g"), "node P { k: String @key }", durability="os")._storage


@pytest.fixture
def task(storage: GraphStorage) -> Iterator[subprocess.Popen[str]]:
    """A task in a process of its own, in the middle of its work."""
    StagingFiles(storage.root, LOAD).allow_work()
    command = [sys.executable, "-c", TASK, storage.root.uri, LOAD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        yield process
        process.kill()


def left(storage: GraphStorage) -> list[Path]:
    return list(Path(storage.root.uri, "__staging").glob("*"))


def test_an_area_is_removed_when_the_last_task_of_a_failed_job_has_written_its_last_file(
    storage: GraphStorage, task: subprocess.Popen[str]
) -> None:
    with staging_area(storage, LOAD) as area:
        end = threading.Thread(target=area.remove)
        end.start()
        task.communicate("write\n")
        end.join()
    assert task.returncode == 0
    assert left(storage) == []


def test_a_task_that_is_killed_does_not_keep_its_area(storage: GraphStorage, task: subprocess.Popen[str]) -> None:
    task.kill()
    with staging_area(storage, LOAD) as area:
        assert area.remove()
    assert left(storage) == []


def test_a_task_that_begins_after_the_end_is_refused_and_writes_nothing(storage: GraphStorage) -> None:
    with staging_area(storage, LOAD) as area:
        area.remove()
    with pytest.raises(OmniGraphError, match="No such file"), StagingFiles(storage.root, LOAD).at_work():
        pass
    assert left(storage) == []


def test_tasks_that_outlive_their_driver_keep_their_area_until_they_end(
    storage: GraphStorage, task: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(areas, "ORPHANS_S_MAX", 0.0)
    assert cleanup_staging(storage) == []
    assert [path.name for path in left(storage)] == [LOAD]
    task.communicate("write\n")
    assert cleanup_staging(storage) == [LOAD]
    assert left(storage) == []
