"""Tokens: cursors and page tokens. The caller keeps them; the graph keeps nothing about its readers.

A token is JSON with its SHA-256 behind it, in base64url. It names what it belongs to (graph, incarnation of the branch,
filter), so that it is refused everywhere else, and the place to continue from. The checksum finds damage and hides
nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from omnigraph.history.diff import ChangeFilter
from omnigraph.history.feed.filters import filter_digest
from omnigraph.history.feed.refusals import ChangeCursorRejected
from omnigraph.model.errors import Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage.manifest import LoadedManifest

TOKEN_MAX = 4096
EXACT_ID_MAX_BYTES = 256
PREFIX_MAX_BYTES = 64
_CHECKSUM_BYTES = 32

TokenKind = Literal["commit-page", "feed-cursor", "feed-page"]
Members = Mapping[str, Any]

_MISMATCH = {
    "graph_identity": "it is of another graph",
    "genesis_commit_id": "it is of another graph",
    "purpose": "it was made for another purpose",
    "branch": "it is of another branch",
    "branch_witness": "the branch was deleted and created again since",
    "filter_digest": "it was made with another filter",
    "commit_id": "it is of another commit",
}
"""Why a token is refused, by the first member that does not agree, in the order of this table."""


@dataclass(frozen=True, slots=True)
class TokenScope:
    """What every token of one kind of reader has in common; a token with other members is not of this reader."""

    common: Mapping[str, Json]

    def seal(self, kind: TokenKind, **members: Json) -> str:
        """The token with these members."""
        data = json.dumps(
            {"version": 1, "kind": kind, **self.common, **members}, ensure_ascii=False, separators=(",", ":")
        ).encode()
        return _base64(data + hashlib.sha256(data).digest())

    def unseal(self, token: str, kind: TokenKind) -> Members:
        """The members of a token; refuses one that is damaged, of another kind, or not of this scope."""
        members = _members(token)
        if members.get("version") != 1:
            raise ChangeCursorRejected(f"it has version {members.get('version')!r}, expected 1")
        if members.get("kind") != kind:
            raise ChangeCursorRejected(f"expected a token of kind '{kind}', got '{members.get('kind')}'")
        for name, reason in _MISMATCH.items():
            if name in self.common and members.get(name) != self.common[name]:
                raise ChangeCursorRejected(reason)
        return members


def commit_scope(genesis: str, commit_id: str, wanted: ChangeFilter) -> TokenScope:
    """The scope of the page tokens of one commit."""
    return TokenScope(
        {"graph_identity": _digest(genesis), "filter_digest": filter_digest(wanted), "commit_id": commit_id}
    )


def feed_scope(genesis: str, loaded: LoadedManifest, wanted: ChangeFilter) -> TokenScope:
    """The scope of the cursors and page tokens of the feed of one branch."""
    return TokenScope(
        {
            "graph_identity": _digest(genesis),
            "filter_digest": filter_digest(wanted),
            "genesis_commit_id": genesis,
            "purpose": "changes/forward",
            "branch": _digest(loaded.branch),
            "branch_witness": _digest(json.dumps(loaded.identifier)),
        }
    )


# --- a place in a block -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BlockPosition:
    """The last change that was delivered from a block."""

    type_id: str
    position: Mapping[str, Json]
    """The entity: its id, or the beginning and the hash of a long one."""
    operation_rank: int
    change_index: int
    """Its number in the block, from 0."""

    def members(self) -> dict[str, Json]:
        return {
            "type_id": self.type_id,
            "position": dict(self.position),
            "operation_rank": self.operation_rank,
            "change_index": self.change_index,
        }

    def is_at(self, entity_id: str) -> bool:
        """Whether this is the entity that was delivered last."""
        if self.position["mode"] == "exact":
            return entity_id == self.position["id"]
        return entity_id.startswith(str(self.position["prefix"])) and _digest(entity_id) == self.position["sha256"]

    @property
    def floor(self) -> str:
        """No smaller id is the one that was delivered last."""
        return str(self.position["id" if self.position["mode"] == "exact" else "prefix"])


def entity_position(entity_id: str) -> dict[str, Json]:
    """How a token names an entity: in at most some hundred bytes."""
    data = entity_id.encode()
    if len(data) <= EXACT_ID_MAX_BYTES:
        return {"mode": "exact", "id": entity_id}
    prefix = data[:PREFIX_MAX_BYTES].decode(errors="ignore")
    return {"mode": "digest", "prefix": prefix, "sha256": _digest(entity_id)}


def block_position(members: Members) -> BlockPosition:
    """The place that a page token names."""
    position: Any = members.get("position")
    if not isinstance(position, dict) or position.get("mode") not in ("exact", "digest"):
        raise _not_ours()
    for name in ("id",) if position["mode"] == "exact" else ("prefix", "sha256"):
        text_of(position, name)
    return BlockPosition(
        text_of(members, "type_id"), position, _number(members, "operation_rank"), _number(members, "change_index")
    )


def text_of(members: Members, name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise _not_ours()
    return value


def _number(members: Members, name: str) -> int:
    value = members.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _not_ours()
    return value


# --- the envelope -----------------------------------------------------------------------------------------


def _members(token: str) -> Members:
    if len(token) > TOKEN_MAX:
        raise ChangeCursorRejected(f"it has {len(token)} characters, more than {TOKEN_MAX}")
    if "=" in token:
        raise _not_ours()
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _not_ours() from None
    body, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if hashlib.sha256(body).digest() != checksum:
        raise ChangeCursorRejected("it is damaged: its checksum does not fit")
    try:
        members = json.loads(body)
    except ValueError:
        raise _not_ours() from None
    if not isinstance(members, dict):
        raise _not_ours()
    return members


def _not_ours() -> ChangeCursorRejected:
    return ChangeCursorRejected("it is not a token of the change feed")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
