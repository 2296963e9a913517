"""A graph on a server answers like the graph itself: every verb beside `Graph`, on one graph, through a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from client.conftest import As
from omnigraph.client import NotOverHttp, connect, connect_async, list_graphs
from support.servers.http_server import HttpServer

BORN = "query born($y: I32) { match { $a: Author  $a.born > $y } return { $a.handle, $a.born } order { $a.born } }"
WHOLE = "query whole() { match { $a: Author } return { $a.* as a } order { $a.handle } }"
EDGES = "query edges() { match { $a: Author  $a wrote $b } return { $a.handle, $b.isbn, count($b) as n } }"
ADD = "query add($h: String, $b: I32?) { insert Author { handle: $h, born: $b } }"


@pytest.fixture
def local(server: HttpServer) -> Iterator[og.Graph]:
    """The same graph, from its files."""
    with og.open(server.extra["cluster"].uri_of("library"), read_only=True) as graph:
        yield graph


READS: dict[str, Callable[[Any], Any]] = {
    "query": lambda g: g.query(BORN, y=1900).to_json(),
    "query as Arrow": lambda g: g.query(BORN, {"y": 1800}).to_arrow().to_pylist(),
    "query of whole entities": lambda g: g.query(WHOLE).rows(),
    "query of edges": lambda g: g.query(EDGES).rows(),
    "query of nothing": lambda g: (g.query(BORN, y=3000).columns, g.query(BORN, y=3000).rows()),
    "query of a branch": lambda g: g.query(BORN, y=1900, branch="drafts").to_json(),
    "query of a commit": lambda g: g.query(WHOLE, commit=g.commits("drafts")[-1].commit_id).to_json(),
    "query as of a time": lambda g: g.query(WHOLE, as_of="2100-01-01T00:00:00Z", branch="drafts").rows(),
    "at": lambda g: g.at(g.commits("drafts")[-1].commit_id).query(WHOLE).rows(),
    "schema": lambda g: (g.schema_source, [each.name for each in g.schema.catalog.entities]),
    "branches": lambda g: g.branches(),
    "branch": lambda g: g.branch("drafts").branch_name,
    "branch details": lambda g: [each.to_json() for each in g.branch_details(["drafts"])],
    "snapshot": lambda g: (g.snapshot("drafts").commit_id, g.snapshot("drafts").tables),
    "commits": lambda g: [each.commit_id for each in g.commits("drafts")],
    "commits, limited": lambda g: [each.commit_id for each in g.commits("drafts", limit=1)],
    "log": lambda g: [each.to_json() for each in g.log("drafts", limit=2)],
    "log of a kind": lambda g: [each.to_json() for each in g.log("drafts", kind="load")],
    "tags": lambda g: g.tags(),
    "indexes": lambda g: g.indexes("drafts"),
    "explain": lambda g: g.explain(BORN, y=1).to_json()["output"],
    "export": lambda g: list(g.export("drafts", types=["Author"])),
    "export of dates": lambda g: list(g.export("drafts", dates="iso", types=["Wrote"])),
    "changes": lambda g: [each.to_json() for each in g.changes("drafts", start="beginning")],
    "changes, filtered": lambda g: [each.to_json() for each in g.changes("drafts", start="beginning", types=["Book"])],
    "commit changes": lambda g: g.commit_changes(g.commits("drafts")[0].commit_id).to_json()["changes"],
    "diff": lambda g: g.diff(g.commits("drafts")[-1].commit_id, "drafts").to_json(),
    "diff, filtered": lambda g: [
        each.id for each in g.diff(g.commits("drafts")[-1].commit_id, "drafts", kinds=["edge"])
    ],
    "blob": lambda g: (g.blob("Book", "b1", "cover").to_json(), g.blob("Book", "b1", "cover").read()),
    "blob range": lambda g: g.blob("Book", "b1", "cover", branch="drafts").read(1, 5),
    "empty blob": lambda g: g.blob("node:Book", "b2", "cover").read(),
    "external blob": lambda g: g.blob("Book", "b4", "cover").to_json(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_gives_what_the_graph_itself_gives(
    read: Callable[[Any], Any], remote: og.RemoteGraph, local: og.Graph
) -> None:
    assert read(remote) == read(local)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "text that does not compile": lambda g: g.query("query q() { match { $a: Autho } return { $a.handle } }"),
    "undeclared parameter": lambda g: g.query(BORN, y=1, z=2),
    "parameter of another type": lambda g: g.query(BORN, y="x"),
    "missing parameter": lambda g: g.query(BORN),
    "mutation in query": lambda g: g.query(ADD, h="x"),
    "two queries": lambda g: g.query(BORN + WHOLE),
    "unknown query": lambda g: g.query(BORN, query_name="nope", y=1),
    "missing branch": lambda g: g.query(WHOLE, branch="nope"),
    "bad branch name": lambda g: g.query(WHOLE, branch="a b"),
    "missing commit": lambda g: g.commit("nope"),
    "branch to be guessed": lambda g: g.branch("draft"),
    "unknown reference": lambda g: g.diff("nope", "main"),
    "unknown operation": lambda g: g.diff("main", "drafts", ops=["upsert"]),
    "rejected cursor": lambda g: g.changes(cursor="x"),
    "first commit": lambda g: g.commit_changes(g.commits("drafts")[-1].commit_id),
    "missing blob": lambda g: g.blob("Book", "zz", "cover"),
    "no blob": lambda g: g.blob("Book", "b1", "title"),
    "blob range": lambda g: g.blob("Book", "b1", "cover").read(99, 100),
    "followed blob": lambda g: g.blob("Book", "b4", "cover").read(),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_the_same_error_with_the_same_sentence(
    call: Callable[[Any], Any], remote: og.RemoteGraph, local: og.Graph
) -> None:
    with pytest.raises(og.OmniGraphError) as here:
        call(local)
    with pytest.raises(og.OmniGraphError) as there:
        call(remote)
    assert (type(there.value), there.value.code) == (type(here.value), here.value.code)
    assert isinstance(here.value, og.BadRequest) or there.value.sentence() == here.value.sentence()


# --- writes ---------------------------------------------------------------------------------------------------


def test_a_branch_is_made_written_compared_merged_and_deleted(remote: og.RemoteGraph) -> None:
    draft = remote.create_branch("work/1")
    assert remote.actor == "cy"
    added = draft.mutate(ADD, h="butler", b=1947, message="a new author")
    assert (added.affected_nodes, added.actor_id, added.branch, added.replayed) == (1, "cy", "work/1", False)
    assert draft.commit(added.commit_id or "") == added.commit
    assert draft.log(limit=1)[0].message == "a new author"
    loaded = draft.load([b'{"type":"Author","data":{"handle":"lem","born":1921}}'], mode="append")
    assert (loaded.nodes, loaded.total_entities) == ({"Author": 1}, 1)
    assert loaded.commit is not None
    difference = remote.diff("main", "work/1")
    assert [(each.op, each.id) for each in difference] == [("insert", "butler"), ("insert", "lem")]
    assert (difference.stats.total, difference.is_cut) == (2, False)
    tried = remote.merge("work/1", dry_run=True)
    assert (tried.outcome, tried.commit, tried.stats.inserts) == ("fast_forward", None, 2)
    merged = remote.merge("work/1", message="reviewed", delete_branch=True)
    assert (merged.outcome, merged.branch_deleted, merged.stats.inserts) == ("fast_forward", True, 2)
    assert merged.commit == remote.commits(limit=1)[0]
    assert (merged.source_commit_id, merged.target_commit_id) == (loaded.commit_id, difference.before.commit_id)
    back = remote.revert(merged.commit_id or "", mainline=1)
    assert (back.stats.deletes, back.reverted) == (2, (merged.commit_id,))
    again = remote.restore(merged.commit_id or "", dry_run=True)
    assert (again.stats.inserts, again.commit) == (2, None)


def test_a_tag_is_made_listed_and_removed(remote: og.RemoteGraph) -> None:
    made = remote.tag("release-1")
    assert remote.tags() == [made]
    with pytest.raises(og.errors.TagExists):
        remote.tag("release-1")
    assert remote.delete_tag("release-1") == made


def test_conflicts_come_back_as_data(remote: og.RemoteGraph) -> None:
    base = remote.create_branch("base", source="drafts")
    change = 'query set($b: I32) { update Author set { born: $b } where handle = "borges" }'
    other = remote.branch("base").create_branch("other")
    other.mutate(change, b=1)
    base.mutate(change, b=2)
    with pytest.raises(og.MergeConflicts) as caught:
        remote.merge("other", into="base")
    conflict = caught.value.conflicts[0]
    assert (conflict.kind, conflict.entity_id) == ("divergent_update", "borges")
    assert conflict.source is not None
    assert (conflict.source.properties["born"], caught.value.source, caught.value.target) == (1, "other", "base")
    tried = remote.merge("other", into="base", dry_run=True)
    assert (tried.conflicts_total, tried.conflicts[0].kind) == (1, "divergent_update")
    assert remote.merge("other", into="base", on_conflict="theirs").outcome == "merged"


def test_conditions_keys_and_rules_refuse_with_their_facts(remote: og.RemoteGraph) -> None:
    draft = remote.create_branch("rules")
    stale = draft.commits(limit=1)[0].commit_id
    first = draft.mutate(ADD, h="kept", idempotency_key="once-1")
    assert draft.mutate(ADD, h="kept", idempotency_key="once-1").commit_id == first.commit_id
    with pytest.raises(og.PreconditionFailed) as lost:
        draft.mutate(ADD, h="late", if_commit=stale)
    assert (lost.value.branch, lost.value.expected, lost.value.actual) == ("rules", stale, first.commit_id)
    assert draft.mutate(ADD, h="in time", if_commit=first.commit_id).affected_nodes == 1
    with pytest.raises(og.errors.KeyConflict) as taken:
        draft.load([b'{"type":"Author","data":{"handle":"kept"}}'], mode="append")
    assert (taken.value.table_key, taken.value.id) == ("node:Author", "kept")
    with pytest.raises(og.ValidationFailed) as wrong:
        draft.load([b'{"type":"Author","data":{"handle":"x"}}', b'{"type":"Author","data":{"born":1}}'], mode="merge")
    assert wrong.value.violations[0].line == 2
    nothing = draft.mutate('query gone() { delete Author where handle = "zz" }')
    assert (nothing.affected_nodes, nothing.commit) == (0, None)


def test_files_are_streamed_into_a_load(remote: og.RemoteGraph, tmp_path: Path) -> None:
    lines = [json.dumps({"type": "Author", "data": {"handle": f"f{n}", "born": n}}) for n in range(20_000)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines[:10_000]))  # without an end of line
    (tmp_path / "b.jsonl").write_text("\n".join(lines[10_000:]) + "\n")
    done = remote.load(str(tmp_path / "*.jsonl"), mode="merge", branch="bulk", base="drafts")
    assert (done.nodes, done.branch_created, done.base_branch) == ({"Author": 20_000}, True, "drafts")
    assert sum(1 for _ in remote.export("bulk", types=["Author"])) == 20_003


def test_stored_queries_are_listed_and_run(remote: og.RemoteGraph) -> None:
    listed = {each.name: each for each in remote.stored_queries()}
    assert sorted(listed) == ["add_author", "all_authors", "born_after"]
    assert (listed["add_author"].mutation, listed["born_after"].params[0]["kind"]) == (True, "int")
    found = remote.run_stored("born_after", y=1900, branch="drafts")
    assert isinstance(found, og.QueryResult)
    assert found.rows() == [{"a.handle": "le-guin", "a.born": 1929}]
    remote.create_branch("stored", source="drafts")
    done = remote.run_stored("add_author", h="le guin", branch="stored", expect_mutation=True)
    assert isinstance(done, og.MutationResult)
    assert done.affected_nodes == 1
    with pytest.raises(og.BadRequest, match="is a read"):
        remote.run_stored("all_authors", expect_mutation=True)
    with pytest.raises(og.NotFound, match="stored query not found"):
        remote.run_stored("nope")


def test_a_baseline_is_whole_and_the_feed_goes_on_behind_it(remote: og.RemoteGraph, tmp_path: Path) -> None:
    branch = remote.create_branch("followed", source="drafts")
    target = tmp_path / "base.jsonl"
    made = branch.baseline(target, types=["Author"])
    assert target.read_bytes() == b"".join(branch.export(types=["Author"]))
    assert (made.snapshot_commit_id, target.stat().st_mode & 0o777) == (branch.snapshot().commit_id, 0o600)
    branch.mutate(ADD, h="next")
    page = branch.changes(cursor=made.resume_cursor, types=["Author"])
    assert [change.id for block in page for change in block.changes] == ["next"]
    with pytest.raises(og.BranchNotFound):
        remote.baseline(target, "nope")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base.jsonl"]


# --- who asks, and what the API does not carry ---------------------------------------------------------------------


def test_the_token_says_who_asks(as_actor: As, server: HttpServer) -> None:
    reader = as_actor("bo")
    assert reader.branches()
    with pytest.raises(og.PolicyDenied) as denied:
        reader.mutate(ADD, h="x")
    assert (denied.value.actor, denied.value.action, denied.value.branch) == ("bo", "change", "main")
    with pytest.raises(og.errors.NotAuthenticated):
        og.open(f"{server.base}/graphs/library", token="wrong").branches()
    with pytest.raises(og.Denied):
        og.open(f"{server.base}/graphs/library").branches()
    with pytest.raises(NotOverHttp, match="actor"):
        og.open(f"{server.base}/graphs/library", actor="cy")
    with pytest.raises(og.errors.OpenedReadOnly):
        as_actor("cy", read_only=True).mutate(ADD, h="x")


def test_a_bare_server_needs_exactly_one_graph(server: HttpServer) -> None:
    assert [each.graph_id for each in list_graphs(server.base, token="t-cy")] == ["library", "spare"]
    with pytest.raises(og.errors.GraphNotNamed, match="library, spare"):
        og.open(server.base, token="t-cy")
    assert connect(server.base, graph="spare", token="t-cy").branches() == ["main"]
    with pytest.raises(og.NotFound, match="graph 'nope' not found"):
        connect(f"{server.base}/", graph="nope", token="t-cy").branches()
    with pytest.raises(og.errors.InvalidServerAddress):
        og.open("http://user:secret@host/graphs/x")


def test_what_the_api_does_not_carry_is_refused_and_nothing_is_sent(remote: og.RemoteGraph, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a\n1\n")
    for call in (
        lambda: remote.load(str(tmp_path / "people.csv"), mode="merge"),
        lambda: remote.load([b"{}"], mode="merge", patch=True),
        lambda: remote.load(3, mode="merge"),
        lambda: remote.query(BORN, y=1, limits=og.QueryLimits()),
        lambda: remote.merge("drafts", resolve=lambda conflict: None),
        lambda: remote.export(manifest=True),
    ):
        with pytest.raises(NotOverHttp):
            call()


def test_an_event_loop_has_the_same_verbs(server: HttpServer, tmp_path: Path) -> None:
    async def work() -> None:
        async with await connect_async(f"{server.base}/graphs/library", token="t-cy") as graph:
            draft = await graph.create_branch("loop", source="drafts")
            both = await asyncio.gather(draft.mutate(ADD, h="a1"), draft.mutate(ADD, h="a2"))
            assert [each.affected_nodes for each in both] == [1, 1]
            found = await draft.query(BORN, y=1900)
            assert found.rows() == [{"a.handle": "le-guin", "a.born": 1929}]
            lines = [line async for line in draft.export(types=["Author"])]
            assert len(lines) == 5
            assert (await draft.load([b'{"type":"Author","data":{"handle":"a3"}}'], mode="append")).total_entities == 1
            assert [each.id async for each in _changes(await draft.diff("drafts"))] == ["a1", "a2", "a3"]
            cover = await graph.blob("Book", "b1", "cover")
            assert await graph.read_blob(cover, 6) == b"World"
            made = await draft.baseline(tmp_path / "loop.jsonl")
            assert made.snapshot_commit_id == (await draft.snapshot()).commit_id
            assert (await graph.merge("loop", dry_run=True)).stats.inserts == 3
            with pytest.raises(og.BranchNotFound):
                await graph.branch("nope")
            with pytest.raises(og.PreconditionFailed):
                await draft.mutate(ADD, h="late", if_commit=(await graph.commits(limit=1))[0].commit_id)
            assert {each.name for each in await graph.stored_queries()} >= {"all_authors"}
            await graph.delete_branch("loop")

    async def _changes(difference: Any) -> Any:
        for each in difference:
            yield each

    asyncio.run(work())
