"""Held bodies: what requests have in memory before they are decided is bounded, for each actor and for all together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from omnigraph.server.http import BodyBytes, HttpRefusal, Overloaded
from server.served_library import G, library_server
from support.servers.http_server import Answer, HttpServer

TRIES = 500
JSON = {"Content-Type": "application/json"}


def test_one_actor_holds_half_and_leaves_the_other_half() -> None:
    held = BodyBytes(100)
    held.take("ann", 30, 0)
    held.take("ann", 20, 30)
    with pytest.raises(Overloaded, match="50 bytes against cap 100"):
        held.take("ann", 1, 0)
    held.take("ben", 40, 0)
    held.take("cy", 10, 0)
    with pytest.raises(Overloaded):
        held.take("cy", 1, 10)
    held.give_back("ann", 50)
    held.take("cy", 40, 10)
    assert held.held == 90


def test_a_body_that_never_fits_is_too_large_and_not_too_early() -> None:
    held = BodyBytes(100)
    with pytest.raises(HttpRefusal) as refused:
        held.take("ann", 51, 0)
    assert refused.value.status == 413
    assert held.held == 0


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with library_server(tmp_path_factory.mktemp("narrow"), OMNIGRAPH_BODY_BYTES_MAX="2000000") as server:
        yield server


def load(server: HttpServer, size: int, token: str) -> Answer:
    """A load whose body is no JSON: it is refused for that, once it was received."""
    return server.send("POST", f"{G}/load", body=b"x" * size, headers=JSON, token=token)


def until(server: HttpServer, status: int) -> Answer:
    """The server sees what happens on another connection a little later."""
    for _ in range(TRIES):
        answer = load(server, 600_000, "t-cy")
        if answer.status == status:
            return answer
    raise AssertionError(answer)


def test_who_sends_slowly_holds_nobody_else_up(narrow: HttpServer) -> None:
    head = f"POST {G}/load HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t-cy\r\nContent-Type: application/json\r\n"
    with narrow.raw() as slow:
        slow.sendall(head.encode() + b"Content-Length: 900000\r\n\r\n" + b"x" * 600_000)
        refused = until(narrow, 429)
        assert refused.json["error_code"] == "overloaded"
        assert refused.header("Retry-After") == "1"
        assert load(narrow, 600_000, "t-ann").status == 400
    assert until(narrow, 400).json["error_code"] == "bad_request"
    assert load(narrow, 1_100_000, "t-cy").status == 413
