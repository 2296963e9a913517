"""Act 9: review. The branch of act 6 is compared with main, merged with a conflict that is decided, and taken back."""

from __future__ import annotations

import omnigraph as og
from demo.acts.branches import COUNT
from demo.acts.lake import doi
from demo.stage import Stage, say, step


def play(stage: Stage) -> None:
    graph = og.open(stage.uri, actor="demo")
    oldest = doi(0)

    @step("What did the branch change? Only the parts that differ are read")
    def differing() -> og.Diff:
        return graph.diff("main", "review")

    @step("How many entities, by type")
    def counts() -> dict[str, tuple[int, int, int]]:
        return {each.type_name: (each.inserts, each.updates, each.deletes) for each in differing.stats.types}

    for name, (inserts, updates, deletes) in counts.items():
        say(f"{name:<8} +{inserts:,} ~{updates:,} -{deletes:,}")

    @step("Meanwhile somebody corrects a paper on main that the branch deletes")
    def corrected() -> og.MutationResult:
        return graph.mutate(
            'query fix($doi: String) { update Paper set { title: "Corrected" } where doi = $doi }', doi=oldest
        )

    say(f"commit {corrected.commit_id}")

    @step("A dry run of the merge shows the conflict as data, and changes nothing")
    def planned() -> og.MergeResult:
        return graph.merge("review", dry_run=True)

    for conflict in planned.conflicts:
        ours = conflict.target.properties["title"] if conflict.target else "deleted"
        theirs = conflict.source.properties["title"] if conflict.source else "deleted"
        say(f"{conflict.kind} of {conflict.type_name} {conflict.entity_id}: ours {ours!r}, theirs {theirs!r}")

    merge_and_revert(graph)


def merge_and_revert(graph: og.Graph) -> None:
    @step("Decide it: keep what was corrected. The merge is one commit, and every rule of the schema is checked")
    def merged() -> og.MergeResult:
        decisions = [{"entity_kind": "node", "type_name": "Paper", "entity_id": doi(0), "take": "ours"}]
        return graph.merge("review", resolve=decisions, message="old papers go", delete_branch=True)

    say(f"{merged.outcome}, {merged.resolved} conflict decided, {merged.stats.deletes:,} entities deleted")
    say(f"main     {graph.query(COUNT)[0]}")

    assert merged.commit_id is not None, "the merge changed something"
    merge_commit = merged.commit_id

    @step("Take the merge back, as a new commit: its parent 1 is main as it was before")
    def reverted() -> og.RevertResult:
        return graph.revert(merge_commit, mainline=1, message="the old papers are needed")

    say(f"{reverted.stats.inserts:,} entities are back")
    say(f"main     {graph.query(COUNT)[0]}")
