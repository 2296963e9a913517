"""The transport of an event loop: the same as that of a thread, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar, cast

from omnigraph.client.exchange import Connection, check_answer, headers_of, loss_of, lost, plan_repeat, step
from omnigraph.client.failures import error_of
from omnigraph.client.requests import Answer, Request, Verb, address

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")


class AsyncTransport:
    """One connection pool to one server, for the tasks of one event loop."""

    def __init__(self, connection: Connection) -> None:
        import httpx2

        self.connection = connection
        self._client = httpx2.AsyncClient(
            timeout=connection.timeouts(), follow_redirects=False, headers=connection.headers()
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def run(self, verb: Verb[T], base: str) -> T:
        """Carries out a verb: sends what it asks for, and gives it the answers or the errors."""
        advance = step(verb, None)
        while isinstance(advance, Request):
            try:
                answer = await self.send(advance, base)
            except Exception as error:  # noqa: BLE001 - the verb may know what an error means
                advance = step(verb, error)
            else:
                advance = step(verb, answer)
        return cast("T", advance.value)

    async def send(self, request: Request, base: str) -> Answer:
        """One request and its answer. Raises what the answer says is wrong, ServerUnreachable and OutcomeUnknown."""
        return check_answer((await self._answered(request, base, whole=True))[0])

    async def stream(self, request: Request, base: str) -> AsyncGenerator[bytes, None]:
        """The body of an answer as it arrives."""
        import httpx2

        answer, response = await self._answered(request, base, whole=False)
        if answer.status >= 300:
            raise error_of(answer)
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise lost(request, base, error) from error
        finally:
            await response.aclose()

    async def _answered(self, request: Request, base: str, *, whole: bool) -> tuple[Answer, httpx2.Response]:
        import httpx2

        waited, attempt = 0.0, 0
        while True:
            attempt += 1
            try:
                response = await self._sent(request, base)
                if whole or response.status_code >= 300:
                    await response.aread()
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
            await asyncio.sleep(pause)
            waited += pause

    async def _sent(self, request: Request, base: str) -> httpx2.Response:
        made = self._client.build_request(
            request.method,
            address(base, request),
            headers={"Accept": request.accept, **request.headers},
            json=request.document,
            content=None if request.lines is None else _pieces(request.lines()),
            timeout=self.connection.timeouts(request.seconds),
        )
        return await self._client.send(made, stream=True)


async def _pieces(lines: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Reads a body piece by piece in a thread: the event loop goes on."""
    while (piece := await asyncio.to_thread(next, lines, None)) is not None:
        yield piece


async def lines_of(pieces: AsyncGenerator[bytes, None], url: str) -> AsyncGenerator[bytes, None]:
    """Whole lines. A stream that breaks off within one is an error."""
    from omnigraph.client.streams import LineCutter

    cutter = LineCutter()
    async with aclosing(pieces):
        async for piece in pieces:
            for line in cutter.lines(piece):
                yield line
    cutter.finish(url)
