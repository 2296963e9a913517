"""The transport of a thread: sends requests with httpx2, again where that is safe, and streams what is large."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from omnigraph.client.exchange import Connection, check_answer, headers_of, loss_of, lost, plan_repeat, step
from omnigraph.client.failures import error_of
from omnigraph.client.requests import Answer, Request, Verb, address

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")


class Transport:
    """One connection pool to one server. Safe to share between threads."""

    def __init__(self, connection: Connection) -> None:
        import httpx2

        self.connection = connection
        self._client = httpx2.Client(
            timeout=connection.timeouts(), follow_redirects=False, headers=connection.headers()
        )

    def close(self) -> None:
        self._client.close()

    def run(self, verb: Verb[T], base: str) -> T:
        """Carries out a verb: sends what it asks for, and gives it the answers or the errors."""
        advance = step(verb, None)
        while isinstance(advance, Request):
            try:
                answer = self.send(advance, base)
            except Exception as error:  # noqa: BLE001 - the verb may know what an error means
                advance = step(verb, error)
            else:
                advance = step(verb, answer)
        return cast("T", advance.value)

    def send(self, request: Request, base: str) -> Answer:
        """One request and its answer. Raises what the answer says is wrong, ServerUnreachable and OutcomeUnknown."""
        return check_answer(self._answered(request, base, whole=True)[0])

    def stream(self, request: Request, base: str) -> Pieces:
        """The body of an answer as it arrives. What is refused is refused before this returns."""
        answer, response = self._answered(request, base, whole=False)
        if answer.status >= 300:
            raise error_of(answer)
        return Pieces(response, request, base)

    def _answered(self, request: Request, base: str, *, whole: bool) -> tuple[Answer, httpx2.Response]:
        """The last answer, after as many attempts as make sense. Unless `whole`, a success is not read yet."""
        import httpx2

        waited, attempt = 0.0, 0
        while True:
            attempt += 1
            try:
                response = self._sent(request, base)
                if whole or response.status_code >= 300:
                    response.read()
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                pause = plan_repeat(self.connection.budget, request, loss_of(error), attempt, waited)
                if pause is None:
                    raise lost(request, base, error) from error
            else:
                is_read = whole or response.status_code >= 300
                answer = Answer(response.status_code, headers_of(response), response.content if is_read else b"")
                pause = plan_repeat(self.connection.budget, request, answer, attempt, waited)
                if pause is None:
                    return answer, response
            time.sleep(pause)
            waited += pause

    def _sent(self, request: Request, base: str) -> httpx2.Response:
        made = self._client.build_request(
            request.method,
            address(base, request),
            headers={"Accept": request.accept, **request.headers},
            json=request.document,
            content=None if request.lines is None else request.lines(),
            timeout=self.connection.timeouts(request.seconds),
        )
        return self._client.send(made, stream=True)


class Pieces:
    """The pieces of a body. The connection is given back at the end, on `close`, and when nobody holds this."""

    def __init__(self, response: httpx2.Response, request: Request, base: str) -> None:
        self._response, self._request, self._base = response, request, base
        self._pieces = response.iter_bytes()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        import httpx2

        try:
            return next(self._pieces)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            self.close()
            raise lost(self._request, self._base, error) from error

    def close(self) -> None:
        self._response.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()
