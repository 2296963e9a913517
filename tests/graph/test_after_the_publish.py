"""Once its commit is published a load has happened: it says so, whatever goes wrong after that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from omnigraph.model.progress import Progress
from omnigraph.pipeline.load import run_load as loading
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.write.results import LoadInterrupted
from support.graphs.people import fx, lines, people, person
from support.loads.inline_run import STAND_IN, run_inline
from support.loads.leftovers import nothing_is_left

RECORDS = lines(person("Eve", 1), {"type": "Company", "data": {"name": "Initech"}})
NEW: Any = {"mode": "append", "branch": "new", "base": "main"}


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    made = fx(tmp_path / "g")
    monkeypatch.setattr(loading, "INDEX_FROM_ROWS", 1)
    return made


def interrupt() -> None:
    raise KeyboardInterrupt


class Quit(BaseException):
    """An end that is no error, such as the SystemExit of a signal handler."""


def leave() -> None:
    raise Quit


def has_happened(graph: Graph, branch: str = "new") -> bool:
    return branch in graph.branches() and people(graph, branch).get("Eve") == 1


# --- indexes ----------------------------------------------------------------------------------------------


def test_an_interrupt_while_indexes_are_built_comes_with_the_receipt_and_keeps_the_branch(graph: Graph) -> None:
    with armed(Point.INDEX_BUILT, interrupt), pytest.raises(LoadInterrupted) as interrupted:
        graph.load(RECORDS, **NEW)
    result = interrupted.value.result
    assert has_happened(graph)
    assert result.commit == graph.snapshot("new").commit
    assert (result.branch_created, dict(result.nodes)) == (True, {"Company": 1, "Person": 1})
    assert result.warnings == ("its indexes are not built: interrupted; `graph.ensure_indices('new')` builds them",)
    assert str(result.commit_id) in str(interrupted.value)
    graph.ensure_indices("new")
    assert graph.verify().ok


def test_indexes_that_cannot_be_built_are_a_warning_of_the_result(graph: Graph) -> None:
    with armed(Point.INDEX_BUILT, "raise"):
        result = graph.load(RECORDS, mode="append")
    assert has_happened(graph, "main")
    [warning] = result.warnings
    assert warning.startswith("its indexes are not built: ")
    assert warning.endswith("`omnigraph optimize` builds them")


def test_a_load_without_trouble_has_no_warnings(graph: Graph) -> None:
    assert graph.load(RECORDS, **NEW).warnings == ()


# --- listeners --------------------------------------------------------------------------------------------


def listener(stage: str, act: Callable[[], None]) -> Callable[[Progress], None]:
    def hear(progress: Progress) -> None:
        if progress.stage == stage and progress.is_done:
            act()

    return hear


def fail() -> None:
    raise ValueError("nobody listens")


@pytest.mark.parametrize("stage", ["commit", "index"])
def test_a_listener_that_fails_after_the_commit_is_a_warning_of_the_result(graph: Graph, stage: str) -> None:
    result = graph.load(RECORDS, **NEW, progress=listener(stage, fail))
    assert has_happened(graph)
    assert "nobody listens" in result.warnings[0]


def test_a_listener_that_fails_before_the_commit_ends_the_load(graph: Graph) -> None:
    with pytest.raises(ValueError, match="nobody listens"):
        graph.load(RECORDS, **NEW, progress=listener("check", fail))
    assert graph.branches() == ["main"]


# --- in the middle of the commit --------------------------------------------------------------------------


@pytest.mark.parametrize("point", [Point.MUTATION_BEFORE_PUBLISH, Point.PUBLISH_AFTER, Point.SIDECAR_DELETE])
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_interrupt_of_the_commit_itself_is_raised_when_the_commit_is_finished(
    graph: Graph, point: Point, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    spark = STAND_IN if engine == "spark" else None
    with armed(point, interrupt), pytest.raises(LoadInterrupted) as interrupted:
        graph.load(RECORDS, **NEW, engine=engine, spark=spark)
    assert has_happened(graph)
    assert interrupted.value.result.commit == graph.snapshot("new").commit
    assert graph.pending_recoveries() == []
    assert nothing_is_left(graph)
    assert graph.verify().ok


@pytest.mark.parametrize("point", [Point.MUTATION_STAGED, Point.MUTATION_ARMED, Point.MUTATION_TABLE_COMMITTED])
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_interrupt_before_everything_is_written_undoes_the_load(
    graph: Graph, point: Point, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_inline(monkeypatch)
    spark = STAND_IN if engine == "spark" else None
    with armed(point, interrupt), pytest.raises(KeyboardInterrupt) as interrupted:
        graph.load(RECORDS, **NEW, engine=engine, spark=spark)
    assert not isinstance(interrupted.value, LoadInterrupted)
    assert graph.branches() == ["main"]
    assert graph.pending_recoveries() == []
    assert nothing_is_left(graph)
    assert graph.verify().ok


def test_an_empty_load_whose_publish_was_not_acknowledged_knows_its_commit(graph: Graph) -> None:
    with armed(Point.PUBLISH_AFTER, "raise"):
        result = graph.load([], **NEW)
    assert result.commit == graph.snapshot("new").commit


def test_an_end_of_the_process_after_the_publish_is_passed_on_and_keeps_the_branch(graph: Graph) -> None:
    with armed(Point.PUBLISH_AFTER, leave), pytest.raises(Quit) as left:
        graph.load(RECORDS, **NEW)
    assert has_happened(graph)
    assert str(graph.snapshot("new").commit_id) in left.value.__notes__[0]


def test_a_load_that_fails_before_the_commit_is_an_error_as_ever(graph: Graph) -> None:
    with armed(Point.MUTATION_STAGED), pytest.raises(InjectedFault):
        graph.load(RECORDS, **NEW)
    assert graph.branches() == ["main"]
