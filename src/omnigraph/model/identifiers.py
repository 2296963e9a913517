"""Identifiers: ULIDs, table keys, FNV-1a hashes and the rules of branch names."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from omnigraph.model.errors import InvalidBranchName, InvalidValue

EntityKind = Literal["node", "edge"]

# --- ULID -------------------------------------------------------------------------------------------------

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]
_ULID_PATTERN = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_ulid() -> str:
    """A fresh ULID: 48 bits of milliseconds, 80 random bits, 26 upper-case Crockford characters."""
    return ulid_from(time.time_ns() // 1_000_000, os.urandom(10))


class UlidCounter:
    """ULIDs that begin at a random place and count on from there: the system is asked for random bytes once, not for
    each of them. For ids of one process that anyone may guess, and for one thread."""

    def __init__(self) -> None:
        self._entropy = int.from_bytes(os.urandom(10), "big")

    def next(self) -> str:
        self._entropy = (self._entropy + 1) % (1 << 80)
        return ulid_from(time.time_ns() // 1_000_000, self._entropy.to_bytes(10, "big"))


def ulid_from(milliseconds: int, entropy: bytes) -> str:
    """The ULID of a given time and 80 given bits; the same input always gives the same id."""
    if len(entropy) != 10:
        raise ValueError("a ULID needs exactly 10 bytes of entropy")
    number = (milliseconds << 80) | int.from_bytes(entropy, "big")
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def is_ulid(text: str) -> bool:
    return _ULID_PATTERN.fullmatch(text) is not None


# --- hashes -----------------------------------------------------------------------------------------------


def fnv1a64_hex(text: str) -> str:
    """64-bit FNV-1a as 16 hex digits: the directory name of a table, from its bare type name."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def fnv1a32(text: str) -> int:
    """32-bit FNV-1a, never 0: the ids of types and properties in the schema IR."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value or 1


# --- table keys -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class TableKey:
    """`node:<Name>` or `edge:<Name>`: how the manifest names the table of a type."""

    kind: EntityKind
    type_name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.type_name}"

    @classmethod
    def parse(cls, text: str) -> TableKey:
        kind, colon, name = text.partition(":")
        if not colon or not name:
            raise InvalidValue(what="malformed table key", value=repr(text), expected="node:<Name> or edge:<Name>")
        if kind == "node":
            return cls("node", name)
        if kind == "edge":
            return cls("edge", name)
        raise InvalidValue(what="malformed table key", value=repr(text), expected="node:<Name> or edge:<Name>")

    @property
    def location(self) -> str:
        """Where a new table of this key is created, relative to the graph root."""
        return f"{self.kind}s/{fnv1a64_hex(self.type_name)}"


# --- branch names -----------------------------------------------------------------------------------------

MAIN = "main"
SCHEMA_APPLY_LOCK = "__schema_apply_lock__"
GRAPH_LEASE = "__graph__"
"""The name that the lease of the whole graph has among the leases of its branches."""
BRANCH_NAME_MAX = 200
SLASH_COUNTS = 7
"""The longest name, and what a '/' counts in it: a name becomes a file name, in which Lance writes '/' as '%25252F'."""
_SEGMENT = re.compile(r"[A-Za-z0-9._-]+")
_PATHS = (".", "..")


def normalize_branch(name: str | None) -> str:
    """The name of an existing branch as a caller writes it: trimmed, None is main. Only names that may exist pass."""
    if name is None:
        return MAIN
    trimmed = name.strip()
    return MAIN if trimmed == MAIN else check_branch_name(trimmed)


def check_branch_name(name: str) -> str:
    """The name, trimmed, if a branch may have it. Checked before anything is touched: Lance checks after the clone."""
    trimmed = name.strip()
    reason = _fault_of(trimmed)
    if reason is not None:
        raise InvalidBranchName(name=name, reason=reason)
    return trimmed


def check_new_branch_name(name: str) -> str:
    """The name, trimmed, if a user may give it to a new branch: also none of those that are kept for the system."""
    trimmed = check_branch_name(name)
    if trimmed.startswith("__"):
        raise InvalidBranchName(name=name, reason="names that begin with '__' are reserved for the system")
    return trimmed


def _fault_of(name: str) -> str | None:
    if not name:
        return "it is empty"
    if name == MAIN:
        return "'main' is reserved for the base lineage"
    if name.lstrip("/") in (SCHEMA_APPLY_LOCK, GRAPH_LEASE):
        return "it is reserved for the system"
    if len(name) + (SLASH_COUNTS - 1) * name.count("/") > BRANCH_NAME_MAX:
        return f"it is longer than {BRANCH_NAME_MAX} characters, where each '/' counts as {SLASH_COUNTS}"
    if ".." in name:
        return "it contains '..'"
    if name.endswith(".lock"):
        return "it ends in '.lock'"
    for segment in name.split("/"):
        if not segment:
            return "'/' is leading, trailing or doubled"
        if segment in _PATHS:
            return f"segment {segment!r} is a path, not a name"
        if _SEGMENT.fullmatch(segment) is None:
            return f"segment {segment!r} has a character outside of letters, digits, '.', '-' and '_'"
    return None


def overlapping(name: str, others: Iterable[str]) -> str | None:
    """The first of the others that is a path prefix of the name, or it of them: their folders would overlap."""
    parts = name.split("/")
    above, below = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}, f"{name}/"
    return next((other for other in others if other in above or other.startswith(below)), None)
