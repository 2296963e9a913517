"""The first write of a table on a branch, beside branches that come and go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from merge.merging import assert_clean, change, make, people
from omnigraph.graph import Graph
from omnigraph.model.errors import LeaseTimeout
from omnigraph.storage import MANIFEST
from omnigraph.storage.manifest.store import ManifestStore

INSERT = 'insert Person { name: "Eve" }'
HOLDER = """
import sys
from omnigraph.storage import open_storage
with open_storage(sys.argv[1], durability="os").leases.hold(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def leave_forks(graph: Graph) -> None:
    """Forks of `a` and, cut from that, of `a2`, whose branches are gone: their deletion died."""
    graph.create_branch("a")
    change(graph, 'insert Person { name: "old" }', "a")
    graph.branch("a").create_branch("a2")
    change(graph, 'insert Person { name: "older" }', "a2")
    for branch in ("a2", "a"):
        graph._storage.lineages.delete(MANIFEST, branch)
        graph._storage.manifest.forget(branch)


def test_a_branch_that_is_deleted_while_forks_are_looked_at_fails_no_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make(tmp_path / "g")
    leave_forks(graph)
    graph.create_branch("a")
    listed = ManifestStore.branches
    monkeypatch.setattr(ManifestStore, "branches", lambda self: [*listed(self), "gone-just-now"])
    change(graph, INSERT, "a")
    monkeypatch.undo()
    assert set(people(graph, "a")) == {*people(graph), "Eve"}
    assert_clean(graph)


def test_the_fork_of_a_branch_that_another_process_writes_now_is_not_taken_for_a_leftover(tmp_path: Path) -> None:
    graph = make(tmp_path / "g")
    leave_forks(graph)
    graph.create_branch("a")
    command = [sys.executable, "-c", HOLDER, graph.uri, "a2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LeaseTimeout):
            change(graph, INSERT, "a")
        location = next(pin.location for pin in graph.snapshot().tables if pin.table_key.type_name == "Person")
        assert graph._storage.lineages.exists(location, "a2")
        holder.communicate("")
    change(graph, INSERT, "a")
    assert set(people(graph, "a")) == {*people(graph), "Eve"}
    assert_clean(graph)
