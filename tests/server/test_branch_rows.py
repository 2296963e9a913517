"""Branches, commits, merges, schema changes."""

from __future__ import annotations

from typing import Any

import pytest

from server.served_library import ADD_AUTHOR, G
from support.servers.http_server import Answer, HttpServer

RENAME = "query born($h: String, $b: I32) { update Author set { born: $b } where handle = $h }"


def create(server: HttpServer, name: str, source: str | None = None, actor: str = "ann") -> Answer:
    body = {"name": name} | ({} if source is None else {"from": source})
    return server.send("POST", f"{G}/branches", token=f"t-{actor}", json=body)


def delete(server: HttpServer, name: str, actor: str = "ann") -> Answer:
    return server.send("DELETE", f"{G}/branches/{name}", token=f"t-{actor}")


def merge(server: HttpServer, source: str, target: str = "main", actor: str = "cy", **more: Any) -> Answer:
    body = {"source": source, "target": target, **more}
    return server.send("POST", f"{G}/branches/merge", token=f"t-{actor}", json=body)


def add(server: HttpServer, handle: str, branch: str) -> None:
    body = {"query": ADD_AUTHOR, "params": {"h": handle}, "branch": branch}
    assert server.send("POST", f"{G}/mutate", json=body).status == 200


def test_http_87_branches_are_listed_sorted(library: HttpServer) -> None:
    assert library.send("GET", f"{G}/branches").json == {"branches": ["drafts", "main"]}
    page = library.send("GET", f"{G}/branches?limit=1").json
    assert page == {"branches": ["drafts"], "next_cursor": "drafts"}
    assert library.send("GET", f"{G}/branches?limit=1&cursor=drafts").json == {"branches": ["main"]}
    details = library.send("GET", f"{G}/branches?details=true").json["details"]
    assert [each["name"] for each in details] == ["drafts", "main"]


def test_http_88_90_a_branch_is_addressed_in_one_segment(scratch: HttpServer) -> None:
    made = create(scratch, "review/7")
    assert (made.status, made.json["name"], made.json["from"], made.json["actor_id"]) == (
        200,
        "review/7",
        "main",
        "ann",
    )
    assert create(scratch, "review").status == 409
    assert delete(scratch, "review/7").status == 404
    assert delete(scratch, "review%2F7").status == 200
    assert delete(scratch, "review%2F7").status == 404


def test_http_89_names_of_branches_follow_rules(scratch: HttpServer, opened: HttpServer) -> None:
    assert create(scratch, "drafts").status == 409
    assert create(scratch, "row89", "nowhere").status == 404
    assert create(scratch, "main").status == 403
    assert create(scratch, "a b").status == 400
    assert create(scratch, "a..b").status == 400
    assert opened.send("POST", f"{G}/branches", json={"name": "main"}).status == 400


def test_http_91_main_is_not_deleted(scratch: HttpServer, opened: HttpServer) -> None:
    assert delete(scratch, "main").status == 403
    assert opened.send("DELETE", f"{G}/branches/main").status == 400


def test_http_92_a_branch_with_a_child_is_kept(scratch: HttpServer) -> None:
    create(scratch, "row92")
    add(scratch, "row92", "row92")
    create(scratch, "row92-child", "row92")
    answer = delete(scratch, "row92")
    assert (answer.status, "row92-child" in answer.json["error"]) == (409, True)


def test_a_branch_called_merge_can_be_deleted(scratch: HttpServer) -> None:
    assert create(scratch, "merge").status == 200
    assert delete(scratch, "merge").status == 200


def test_http_93_a_merge_needs_its_own_permission(scratch: HttpServer) -> None:
    create(scratch, "row93")
    add(scratch, "row93", "row93")
    assert merge(scratch, "row93", actor="ann").status == 403
    answer = merge(scratch, "row93")
    assert (answer.status, answer.json["outcome"], answer.json["actor_id"]) == (200, "fast_forward", "cy")
    assert "branch_deleted" not in answer.json
    assert scratch.send("GET", f"{G}/commits").json["commits"][0]["actor_id"] == "cy"


def test_http_94_both_sides_changing_one_entity_is_a_conflict(scratch: HttpServer) -> None:
    create(scratch, "row94")
    for branch, born in (("row94", 1), ("main", 2)):
        body = {"query": RENAME, "params": {"h": "calvino", "b": born}, "branch": branch}
        assert scratch.send("POST", f"{G}/mutate", json=body).status == 200
    before = scratch.send("GET", f"{G}/commits").json["commits"][0]
    answer = merge(scratch, "row94")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    conflict = answer.json["merge_conflicts"][0]
    assert (conflict["kind"], conflict["entity_kind"], conflict["entity_id"]) == ("divergent_update", "node", "calvino")
    assert answer.json["error"] == "merge conflicts: node type 'Author', entity id 'calvino' (divergent_update)"
    assert scratch.send("GET", f"{G}/commits").json["commits"][0] == before
    tried = merge(scratch, "row94", dry_run=True)
    assert (tried.status, tried.json["conflicts_total"]) == (200, 1)
    assert merge(scratch, "row94", on_conflict="theirs").json["outcome"] == "merged"


def test_http_95_a_branch_is_not_merged_into_itself(scratch: HttpServer) -> None:
    assert merge(scratch, "drafts", "drafts").status == 400


def test_http_96_97_the_deletion_after_a_merge_is_decided_by_itself(scratch: HttpServer) -> None:
    create(scratch, "row96")
    add(scratch, "row96", "row96")
    kept = merge(scratch, "row96", actor="mo", delete_branch=True)
    assert (kept.status, kept.json["branch_deleted"]) == (200, False)
    assert "policy denied action 'branch_delete'" in kept.json["branch_delete_error"]
    gone = merge(scratch, "row96", delete_branch=True)
    assert (gone.json["outcome"], gone.json["branch_deleted"]) == ("already_up_to_date", True)


def test_http_98_commits_are_listed_newest_first(library: HttpServer) -> None:
    one, other = (library.send("GET", f"{G}/commits{query}") for query in ("", "?branch=main"))
    assert one.body == other.body
    commits = one.json["commits"]
    assert [each["created_at"] for each in commits] == sorted((each["created_at"] for each in commits), reverse=True)
    assert list(commits[0]) == [
        "graph_commit_id",
        "graph_branch",
        "graph_manifest_version",
        "parent_commit_id",
        "merged_parent_commit_id",
        "actor_id",
        "created_at",
    ]
    page = library.send("GET", f"{G}/commits?limit=1").json
    assert (page["commits"], page["next_cursor"]) == (commits[:1], commits[0]["graph_commit_id"])
    rest = library.send("GET", f"{G}/commits?limit=50&cursor={page['next_cursor']}").json
    assert (rest["commits"], "next_cursor" in rest) == (commits[1:], False)


def test_http_99_an_unknown_commit_is_not_found(library: HttpServer) -> None:
    answer = library.send("GET", f"{G}/commits/nope")
    assert (answer.status, answer.json["error"]) == (404, "commit 'nope' not found")


def test_http_100_the_schema_of_a_cluster_is_changed_by_the_cluster(library: HttpServer) -> None:
    before = library.send("GET", f"{G}/schema").json
    body = {"schema_source": "node Other { name: String @key }"}
    answer = library.send("POST", f"{G}/schema/apply", json=body)
    assert answer.status == 409
    assert "cluster apply" in answer.json["hint"] + answer.json["error"]
    assert library.send("POST", f"{G}/schema/apply", token="t-bo", json=body).status == 403
    assert library.send("GET", f"{G}/schema").json == before


# --- the newer verbs ------------------------------------------------------------------------------------------


def test_the_log_names_kinds_and_messages(scratch: HttpServer) -> None:
    entries = scratch.send("GET", f"{G}/log?limit=3&at=main").json["commits"]
    assert 1 <= len(entries) <= 3
    assert {"graph_commit_id", "kind"} <= set(entries[0])
    assert scratch.send("GET", f"{G}/log?limit=0").status == 400
    assert scratch.send("GET", f"{G}/log?at=nowhere").status == 404


def test_a_difference_counts_everything_and_lists_up_to_its_limit(scratch: HttpServer) -> None:
    create(scratch, "differs")
    for number in range(3):
        add(scratch, f"differs-{number}", "differs")
    document = scratch.send("GET", f"{G}/diff?from=main&to=differs&limit=2").json
    assert ([each["op"] for each in document["changes"]], document["truncated"]) == (["insert", "insert"], True)
    assert document["to"]["branch"] == "differs"
    assert scratch.send("GET", f"{G}/diff?to=main").status == 400


def test_what_was_comes_back(scratch: HttpServer) -> None:
    create(scratch, "undone")
    before = scratch.send("GET", f"{G}/commits?branch=undone&limit=1").json["commits"][0]["graph_commit_id"]
    add(scratch, "undone", "undone")
    done = scratch.send("GET", f"{G}/commits?branch=undone&limit=1").json["commits"][0]["graph_commit_id"]
    tried = scratch.send("POST", f"{G}/revert", json={"what": done, "branch": "undone", "dry_run": True})
    assert (tried.status, tried.json["commit"]) == (200, None)
    assert scratch.send("POST", f"{G}/revert", json={"what": done, "branch": "undone"}).json["commit"]
    add(scratch, "again", "undone")
    assert scratch.send("POST", f"{G}/restore", json={"to": before, "branch": "undone"}).status == 200
    assert scratch.send("POST", f"{G}/restore", token="t-bo", json={"to": before, "branch": "undone"}).status == 403


def test_tags_are_made_listed_and_removed(scratch: HttpServer) -> None:
    made = scratch.send("POST", f"{G}/tags", token="t-ann", json={"name": "v1"})
    assert (made.status, made.json["name"], made.json["actor_id"]) == (200, "v1", "ann")
    assert [each["name"] for each in scratch.send("GET", f"{G}/tags").json["tags"]] == ["v1"]
    assert scratch.send("POST", f"{G}/tags", token="t-bo", json={"name": "v2"}).status == 403
    assert scratch.send("POST", f"{G}/tags", token="t-ann", json={"name": "v1"}).status == 409
    assert scratch.send("DELETE", f"{G}/tags/v1", token="t-ann").status == 200
    assert scratch.send("DELETE", f"{G}/tags/v1", token="t-ann").status == 404


@pytest.mark.parametrize("path", ["/indexes", "/explain"])
def test_plans_and_indexes_are_shown_to_readers(library: HttpServer, path: str) -> None:
    if path == "/indexes":
        answer = library.send("GET", f"{G}{path}", token="t-bo")
        assert {"type", "column", "state"} <= set(answer.json["indexes"][0])
    else:
        body = {"query": "query q() { match { $a: Author } return { $a.handle } }"}
        answer = library.send("POST", f"{G}{path}", token="t-bo", json=body)
        assert answer.json["text"].startswith("q:")
    assert (
        library.send("GET" if path == "/indexes" else "POST", f"{G}{path}", token="t-zed", json={"query": "x"}).status
        == 403
    )
