"""Generated ids of a load: ULIDs from the load's start and the place of the record, so a retried task repeats them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.model.identifiers import ulid_from
from omnigraph.model.late_dataclass import dataclass

_CROCKFORD = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_LENGTH = 26
_TIME_LENGTH = 10
_RANDOM_BYTES = 10
_PAIRS = np.frombuffer(b"".join(bytes((a, b)) for a in _CROCKFORD for b in _CROCKFORD), dtype=np.uint16)
"""Ten bits as two characters."""


def _small_sha256() -> Any:
    """CPython's own SHA-256 where there is one: it starts faster than OpenSSL's, and our inputs are tiny."""
    for name in ("_sha2", "_sha256"):
        try:
            return import_module(name).sha256
        except ImportError:
            continue
    return hashlib.sha256


_sha256 = _small_sha256()


@dataclass(frozen=True, slots=True)
class IdSource:
    """What the generated ids of one input file derive from."""

    load_id: str
    file: str | None
    started_ms: int

    def ids(self, offsets: Sequence[int]) -> pa.StringArray:
        """The id of the record at each byte offset: the start time, then 80 bits of SHA-256(load id, file, offset)."""
        count = len(offsets)
        digest, prefix = _sha256, f"{self.load_id}\0{self.file or ''}\0".encode()
        digests = b"".join([digest(prefix + b"%d" % offset).digest()[:_RANDOM_BYTES] for offset in offsets])
        text = np.empty((count, _ULID_LENGTH // 2), dtype=np.uint16)
        time = ulid_from(self.started_ms, bytes(_RANDOM_BYTES))[:_TIME_LENGTH].encode()
        text[:, : _TIME_LENGTH // 2] = np.frombuffer(time, dtype=np.uint16)
        # Two halves of 40 bits: each as the low end of a big-endian word, cut into four times ten bits.
        words = np.zeros((count * 2, 8), dtype=np.uint8)
        words[:, 3:] = np.frombuffer(digests, dtype=np.uint8).reshape(count * 2, 5)
        halves = words.view(">u8").astype(np.uint64).reshape(count, 2)
        for place in range(4):
            tens = (halves >> np.uint64(30 - 10 * place)) & np.uint64(1023)
            text[:, 5 + place] = _PAIRS[tens[:, 0]]
            text[:, 9 + place] = _PAIRS[tens[:, 1]]
        ends = np.arange(count + 1, dtype=np.int32) * _ULID_LENGTH
        return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(text.tobytes()))
