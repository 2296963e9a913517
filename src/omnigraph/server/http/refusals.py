"""Refusals: what the HTTP layer itself turns down, with the status that it answers."""

from __future__ import annotations

from omnigraph.model.errors import OmniGraphError

ERROR_CODES = {
    400: "bad_request",
    401: "not_authenticated",
    404: "not_found",
    412: "conflict",
    413: "limit_exceeded",
    500: "server_failed",
}
"""The name of a refusal in Python, by its status. What is about HTTP alone has the name of the class below."""


class HttpRefusal(OmniGraphError):
    """A request that no handler gets to see, or that breaks a rule of HTTP."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = "bad_request",
        hint: str | None = None,
        error_code: str | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.wire_code = code
        self.error_code = error_code or ERROR_CODES.get(status, self.code)
        self.headers: list[tuple[str, str]] = []
        self.closes = False
        """The rest of the body is not wanted."""


def bad_request(message: str, hint: str | None = None) -> HttpRefusal:
    return HttpRefusal(400, message, hint=hint)


def not_found(message: str, hint: str | None = None, *, error_code: str | None = None) -> HttpRefusal:
    return HttpRefusal(404, message, code="not_found", hint=hint, error_code=error_code)


def unauthorized(message: str) -> HttpRefusal:
    refusal = HttpRefusal(401, message, code="unauthorized")
    refusal.headers.append(("WWW-Authenticate", 'Bearer realm="omnigraph"'))
    return refusal


def too_large(message: str) -> HttpRefusal:
    return HttpRefusal(413, message)


def wrong_media(message: str) -> HttpRefusal:
    return HttpRefusal(415, message)


class StillUnavailable(OmniGraphError):
    """A graph that is configured and cannot be served now. Nothing of its storage is told."""

    def __init__(self, graph_id: str) -> None:
        super().__init__(f"graph '{graph_id}' is not available now", "try again later")


class Overloaded(OmniGraphError):
    """An actor has as many writes in flight, or as many bytes in them, as it may. The write did not start."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message, "nothing was written; try again after the time in Retry-After")
        self.retry_after = retry_after
