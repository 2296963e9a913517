"""Headers of requests: the condition of a write, its idempotency key, how long a read may take, what an answer is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from omnigraph.server.http import bad_request

if TYPE_CHECKING:
    from omnigraph.server.call import Call

CONDITION = "Omnigraph-If-Graph-Commit"
KEY_BYTES_MAX = 255
ARROW_MEDIA = "application/vnd.apache.arrow.stream"
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?", re.ASCII)
_RAW_ID = re.compile(r"[0-9A-Za-z]{1,64}", re.ASCII)


def condition(call: Call) -> str:
    """The commit that must still be the head: exactly one raw id. Raises 400."""
    values = call.request.headers.getlist(CONDITION)
    if len(values) != 1 or _RAW_ID.fullmatch(values[0]) is None:
        raise bad_request(f"the header {CONDITION} must be given once, with a commit id as it is")
    return values[0]


def refuse_condition(call: Call, path: str) -> None:
    """A plain route would ignore the condition, so it refuses the header."""
    if call.request.headers.getlist(CONDITION):
        raise bad_request(f"the header {CONDITION} belongs to {path}", f"send this request to {path}")


_SENT_AS_HEADERS = {
    "if_commit": f"send the header {CONDITION} to the same path with /if-graph-commit at its end",
    "idempotency_key": "send it as the header Idempotency-Key",
}


def refuse_misplaced(found: object) -> None:
    """Members that nobody knows are ignored, as the contract promises. A condition or a key must not be: the write
    would be neither conditional nor repeatable, and its caller would not know. Raises 400."""
    for name, advice in _SENT_AS_HEADERS.items():
        if isinstance(found, dict) and name in found:
            raise bad_request(f"'{name}' is not a member of the body", advice)


def idempotency_key(call: Call) -> str | None:
    """The key that makes a repeated write one write. Raises 400."""
    values = call.request.headers.getlist("Idempotency-Key")
    if not values:
        return None
    key = values[0].strip()
    if len(values) > 1 or not key or len(key) > KEY_BYTES_MAX or not (key.isascii() and key.isprintable()):
        raise bad_request(f"Idempotency-Key must be given once, as 1 to {KEY_BYTES_MAX} printable ASCII characters")
    return key


def timeout_seconds(call: Call) -> float | None:
    """How long the query may run: what the caller says, within what the server allows. Raises 400."""
    most = call.state.settings.query_seconds
    text = call.header("Omnigraph-Timeout")
    if text is None:
        return most
    if _SECONDS.fullmatch(text) is None or float(text) == 0:
        raise bad_request("Omnigraph-Timeout must be a number of seconds, 0.001 or more, without a unit")
    return float(text) if most is None else min(float(text), most)


def wants_arrow(call: Call) -> bool:
    return ARROW_MEDIA in call.request.headers.get("accept", "").lower()


def wants_text_integers(call: Call) -> bool:
    """`Accept: application/json; int64=string`: for clients whose numbers cannot hold 64 bits."""
    return "int64=string" in call.request.headers.get("accept", "").lower().replace(" ", "")


def wants_async(call: Call) -> bool:
    return "respond-async" in call.request.headers.get("prefer", "").lower()
