"""Publishing ahead: the files are used only when everything came out as foreseen; a publish never depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.model.errors import Unreachable
from omnigraph.storage import open_storage
from omnigraph.storage.manifest import store as manifest_module
from omnigraph.write.commit import publish_ahead as ahead
from support.graphs.people import INSERT_PERSON, fx, people


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = fx(tmp_path / "g")
    graph.mutate(INSERT_PERSON, n="warm")
    return graph


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often files of a publish are written."""
    times: list[int] = []
    real = manifest_module.stage_swap

    def counted(*arguments: object) -> object:
        times.append(1)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(manifest_module, "stage_swap", counted)
    return times


def test_an_insert_writes_the_files_of_its_publish_once(graph: Graph, staged: list[int]) -> None:
    result = graph.mutate(INSERT_PERSON, n="Eve")
    assert len(staged) == 1
    assert graph.snapshot().commit == result.commit
    assert open_storage(graph.uri).manifest.load().state.head == result.commit


def test_a_wrong_guess_is_thrown_away(graph: Graph, staged: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    real = ahead.published_version
    monkeypatch.setattr(ahead, "published_version", lambda effect, count, root: real(effect, count + 1, root))
    graph.mutate(INSERT_PERSON, n="Eve")
    assert len(staged) == 2
    assert "Eve" in people(graph)
    assert graph.verify().ok


def test_a_failure_ahead_does_not_fail_the_write(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise Unreachable("storage failed")

    monkeypatch.setattr(ahead, "stage_publish", fails)
    graph.mutate(INSERT_PERSON, n="Eve")
    assert "Eve" in people(graph)


@pytest.mark.parametrize(
    "statement",
    ["update Person set { age: 1 } where age = 25", "delete Person where age = 25"],
    ids=["update", "delete"],
)
def test_what_does_more_than_append_is_not_foreseen(graph: Graph, staged: list[int], statement: str) -> None:
    graph.mutate(f"query q() {{ {statement} }}")
    assert len(staged) == 1
    assert graph.verify().ok
