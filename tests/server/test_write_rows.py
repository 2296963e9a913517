"""Writes: mutations, conditions, admission, and what several of them do at once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from omnigraph.server.admission import Admission
from omnigraph.server.http.refusals import Overloaded
from server.served_library import ADD_AUTHOR, ALL_AUTHORS, G, author, library_server
from support.servers.http_server import Answer, HttpServer

RENAME = "query born($h: String, $b: I32) { update Author set { born: $b } where handle = $h }"
CONDITION = "Omnigraph-If-Graph-Commit"


def mutate(server: HttpServer, handle: str, branch: str | None = "drafts", actor: str = "ann", **more: Any) -> Answer:
    body: dict[str, Any] = {"query": ADD_AUTHOR, "params": {"h": handle}, **more.pop("body", {})}
    if branch is not None:
        body["branch"] = branch
    path = more.pop("path", "/mutate")
    return server.send("POST", f"{G}{path}", token=f"t-{actor}", json=body, **more)


def head(server: HttpServer, branch: str = "main") -> str:
    body = {"query": ALL_AUTHORS, "branch": branch}
    return str(server.send("POST", f"{G}/query", json=body).json["graph_commit_id"])


def at_once(count: int, run: Any) -> list[Answer]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_http_47_a_mutation_returns_its_own_commit(scratch: HttpServer) -> None:
    answer = mutate(scratch, "row47")
    document = answer.json
    assert (answer.status, document["affected_nodes"], document["actor_id"]) == (200, 1, "ann")
    assert document["commit"]["graph_branch"] == "drafts"
    shown = scratch.send("GET", f"{G}/commits/{document['commit']['graph_commit_id']}")
    assert shown.json == document["commit"]


def test_http_48_a_protected_branch_is_not_changed(scratch: HttpServer) -> None:
    answer = mutate(scratch, "row48", "main")
    assert (answer.status, "policy denied action 'change' on branch 'main'" in answer.json["error"]) == (403, True)


def test_http_49_a_padded_name_is_the_branch_that_it_names(scratch: HttpServer) -> None:
    assert mutate(scratch, "row49", " main ").status == 403
    answer = mutate(scratch, "row49", "\t drafts ")
    assert (answer.status, answer.json["branch"]) == (200, "drafts")


def test_http_50_a_blank_name_is_refused(scratch: HttpServer) -> None:
    answer = mutate(scratch, "row50", "  ")
    assert (answer.status, answer.json["error"]) == (400, "branch name cannot be empty")


def test_http_51_what_changes_nothing_makes_no_commit(scratch: HttpServer) -> None:
    body = {"query": RENAME, "params": {"h": "nobody", "b": 1}}
    document = mutate(scratch, "", body=body).json
    assert (document["affected_nodes"], document["affected_edges"], document["commit"]) == (0, 0, None)


def test_http_52_inserts_and_deletes_do_not_mix(scratch: HttpServer) -> None:
    before = head(scratch, "drafts")
    query = 'query q() { insert Author { handle: "row52" } delete Author where handle = "borges" }'
    assert mutate(scratch, "", body={"query": query, "params": {}}).status == 400
    assert head(scratch, "drafts") == before


def test_http_53_the_older_route_takes_the_older_names(scratch: HttpServer) -> None:
    body = {"query_source": ADD_AUTHOR, "query_name": "add_author", "params": {"h": "row53"}, "branch": "drafts"}
    answer = scratch.send("POST", f"{G}/change", token="t-ann", json=body)
    assert (answer.status, answer.header("Deprecation")) == (200, "true")
    assert answer.header("Link") == '<mutate>; rel="successor-version"'
    assert scratch.send("POST", f"{G}/change", token="t-ann", json=body | {"query": ADD_AUTHOR}).status == 400


@pytest.mark.parametrize("path", ["/mutate", "/queries/add_author"])
@pytest.mark.parametrize(
    ("member", "advice"), [("if_commit", "Omnigraph-If-Graph-Commit"), ("idempotency_key", "Idempotency-Key")]
)
def test_a_condition_or_key_in_the_body_is_refused_and_not_ignored(
    scratch: HttpServer, path: str, member: str, advice: str
) -> None:
    before = head(scratch, "drafts")
    said = mutate(scratch, "woolf", path=path, body={member: "01H"})
    assert (said.status, advice in said.json["hint"]) == (400, True), said.body
    assert head(scratch, "drafts") == before


def test_members_that_nobody_knows_are_ignored(scratch: HttpServer) -> None:
    assert mutate(scratch, "woolf", body={"brnach": "x"}).status == 200


def test_http_54_the_plain_route_refuses_a_condition(scratch: HttpServer) -> None:
    before = head(scratch, "drafts")
    answer = mutate(scratch, "row54", headers={CONDITION: before})
    assert (answer.status, "/mutate/if-graph-commit" in answer.json["error"]) == (400, True)
    assert head(scratch, "drafts") == before


@pytest.mark.parametrize("values", [(), ("A", "B"), ("*",), ('"x"',), ('W/"x"',), ("a,b",), ("",)])
def test_http_55_a_condition_is_one_raw_id(scratch: HttpServer, values: tuple[str, ...]) -> None:
    answer = mutate(scratch, "row55", path="/mutate/if-graph-commit", headers=[(CONDITION, each) for each in values])
    assert (answer.status, answer.json["code"]) == (400, "bad_request")


def conditional(server: HttpServer, handle: str, expected: str, branch: str = "drafts") -> Answer:
    return mutate(server, handle, branch, path="/mutate/if-graph-commit", headers={CONDITION: expected})


def test_http_56_57_a_condition_holds_for_the_head_alone(scratch: HttpServer) -> None:
    seen = head(scratch, "drafts")
    assert conditional(scratch, "row56", seen).status == 200
    now = head(scratch, "drafts")
    answer = conditional(scratch, "row57", seen)
    assert (answer.status, "code" in answer.json) == (412, False)
    assert answer.json["precondition_failure"] == {"expected": seen, "actual": now}
    assert (
        answer.json["error"] == f"precondition failed on branch 'drafts': expected head '{seen}' but current is {now}"
    )
    assert head(scratch, "drafts") == now


def test_http_58_a_new_branch_has_the_head_that_it_began_with(scratch: HttpServer) -> None:
    scratch.send("POST", f"{G}/branches", json={"name": "row58"})
    assert conditional(scratch, "row58", head(scratch, "row58"), "row58").status == 200


def test_http_59_of_updates_at_once_one_wins(scratch: HttpServer) -> None:
    body = {"query": RENAME, "params": {"h": "borges", "b": 1900}}
    answers = at_once(
        8, lambda number: mutate(scratch, "", "main", "cy", body=body | {"params": {"h": "borges", "b": number}})
    )
    statuses = sorted(answer.status for answer in answers)
    assert statuses[0] == 200
    assert set(statuses) <= {200, 409}
    for answer in answers:
        if answer.status == 409:
            assert answer.json["read_set_conflict"]["member"] == "graph_head:main"
            assert answer.json["code"] == "conflict"


def test_http_60_inserts_at_once_all_succeed(scratch: HttpServer) -> None:
    answers = at_once(12, lambda number: mutate(scratch, f"row60-{number}", "main", "cy"))
    assert [answer.status for answer in answers] == [200] * 12
    assert len({answer.json["commit"]["graph_commit_id"] for answer in answers}) == 12


def test_http_61_62_an_actor_has_so_many_writes_at_once_and_a_denied_one_takes_no_place(tmp_path: Path) -> None:
    """A load whose body has not ended holds no place; one that runs does: the eight contend for one."""
    data = "\n".join(author(f"row61-{number}") for number in range(2000))
    with library_server(tmp_path, OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX="1") as server:
        body = {"branch": "drafts", "data": data}
        denied: list[Answer] = []

        def run(number: int) -> Answer:
            if number == 7:
                denied.append(mutate(server, "row62", "main"))
            return server.send("POST", f"{G}/load", token="t-ann", json=body)

        answers = at_once(8, run)
        refused = [answer for answer in answers if answer.status == 429]
        assert {answer.status for answer in answers} == {200, 429}
        for answer in refused:
            assert answer.json["error"] == "actor in-flight count cap 1 exceeded"
            assert answer.json["code"] == "too_many_requests"
            assert 1 <= int(answer.header("Retry-After") or 0) <= 60
        assert [answer.status for answer in denied] == [403]
        assert server.send("POST", f"{G}/load", json={"branch": "drafts", "data": author("other")}).status == 200


def test_an_actor_has_so_many_bytes_at_once() -> None:
    admission = Admission(16, 100)
    slot = admission.take("ann", 60)
    with pytest.raises(Overloaded, match="actor byte budget exceeded: would use 120 bytes against cap 100"):
        admission.take("ann", 60)
    admission.take("bo", 60)
    admission.free(slot)
    admission.take("ann", 100)


def test_http_133_of_32_at_once_exactly_16_are_admitted() -> None:
    admission, ready = Admission(16, 1 << 40), threading.Barrier(32)

    def attempt(_: int) -> bool:
        ready.wait()
        try:
            admission.take("ann", 1)
        except Overloaded:
            return False
        return True

    with ThreadPoolExecutor(32) as pool:
        assert sum(pool.map(attempt, range(32))) == 16


def test_http_64_a_missing_branch_is_not_written(scratch: HttpServer) -> None:
    answer = mutate(scratch, "row64", "nowhere")
    assert (answer.status, answer.json["error"]) == (404, "branch 'nowhere' not found")


def test_a_repeated_key_returns_the_first_receipt_and_another_request_is_refused(scratch: HttpServer) -> None:
    headers = {"Idempotency-Key": "key-1"}
    first, again = (mutate(scratch, "keyed", headers=headers) for _ in range(2))
    assert (first.status, again.status, again.json["replayed"]) == (200, 200, True)
    assert first.json["commit"] == again.json["commit"]
    other = mutate(scratch, "keyed-2", headers=headers)
    assert (other.status, other.json["code"]) == (409, "conflict")
    assert mutate(scratch, "keyed", headers={"Idempotency-Key": " "}).status == 400


def test_a_message_is_kept_with_the_commit(scratch: HttpServer) -> None:
    made = mutate(scratch, "told", body={"message": "why not"}).json["commit"]["graph_commit_id"]
    entries = scratch.send("GET", f"{G}/log?at=drafts&message=why").json["commits"]
    assert [(each["graph_commit_id"], each["message"]) for each in entries] == [(made, "why not")]


def test_violations_are_listed(scratch: HttpServer) -> None:
    lines = "\n".join([author("ok"), json.dumps({"type": "Author", "data": {"born": "x"}}), wrote_nothing()])
    answer = scratch.send(
        "POST", f"{G}/load/ndjson?branch=drafts", body=lines.encode(), headers={"Content-Type": "application/x-ndjson"}
    )
    assert answer.status == 400
    assert [each["line"] for each in answer.json["violations"]] == [2, 3] or answer.json["violations_total"] >= 2
    assert all("file" not in each for each in answer.json["violations"])


def wrote_nothing() -> str:
    return json.dumps({"edge": "Wrote", "from": "nobody", "to": "nothing"})


def test_a_caller_that_does_not_wait_asks_for_the_outcome_later(scratch: HttpServer) -> None:
    data = "\n".join(author(f"later-{number}") for number in range(300))
    headers = {"Prefer": "respond-async"}
    answer = scratch.send("POST", f"{G}/load", token="t-ann", json={"branch": "drafts", "data": data}, headers=headers)
    assert answer.status in (200, 202)
    if answer.status == 202:
        place = answer.header("Location") or ""
        assert scratch.send("GET", place).status == 404, "others do not see it"
        while (told := scratch.send("GET", place, token="t-ann").json)["state"] == "running":
            pass
        assert (told["state"], told["status"], told["result"]["total_entities"]) == ("succeeded", 200, 300)
    refused = scratch.send("POST", f"{G}/mutate", token="t-bo", json={"query": ADD_AUTHOR}, headers=headers)
    assert refused.status in (202, 403)
