"""Bearer tokens: kept as hashes, compared with every one of them in a time that does not depend on the answer."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers

from omnigraph.server.http import unauthorized

SCHEME = "Bearer "
Compare = Callable[[bytes, bytes], bool]


class TokenSet:
    """The tokens of one moment: SHA-256 of each with its actor. No token itself is kept."""

    def __init__(self, tokens: Mapping[str, str], compare: Compare = hmac.compare_digest) -> None:
        self._known = tuple((hashlib.sha256(token.encode()).digest(), actor) for actor, token in sorted(tokens.items()))
        self._compare = compare

    def __len__(self) -> int:
        return len(self._known)

    def actor_of(self, token: bytes) -> str | None:
        """Who a token stands for. Every known digest is compared, also after the right one was found."""
        presented, found = hashlib.sha256(token).digest(), None
        for digest, actor in self._known:
            if self._compare(digest, presented) and found is None:
                found = actor
        return found

    def authenticate(self, headers: Headers) -> str:
        """The actor of a request. Raises 401."""
        actor = self.actor_of(presented_token(headers))
        if actor is None:
            raise unauthorized("invalid bearer token")
        return actor


def presented_token(headers: Headers) -> bytes:
    """The token of `Authorization: Bearer <token>`, written exactly so; of several headers the first counts."""
    text = next(iter(headers.getlist("authorization")), "")
    token = text[len(SCHEME) :]
    if not text.startswith(SCHEME) or not token:
        raise unauthorized("missing bearer token")
    return token.encode("latin-1")
