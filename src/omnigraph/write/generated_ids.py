"""Generated ids of a load: ULIDs from the load's start and the place of the record, so a retried task repeats them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.model.identifiers import ulid_from

_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)
_WEIGHTS = np.array([16, 8, 4, 2, 1], dtype=np.uint8)
_ULID_LENGTH = 26


@dataclass(frozen=True, slots=True)
class IdSource:
    """What the generated ids of one input file derive from."""

    load_id: str
    file: str | None
    started_ms: int

    def ids(self, offsets: Sequence[int]) -> pa.StringArray:
        """The id of the record at each byte offset: the start time, then 80 bits of SHA-256(load id, file, offset)."""
        count = len(offsets)
        base = hashlib.sha256(f"{self.load_id}\0{self.file or ''}\0".encode())
        digests = bytearray()
        for offset in offsets:
            digest = base.copy()
            digest.update(b"%d" % offset)
            digests += digest.digest()[:10]
        bits = np.unpackbits(np.frombuffer(digests, dtype=np.uint8)).reshape(count, 16, 5)
        text = np.empty((count, _ULID_LENGTH), dtype=np.uint8)
        text[:, :10] = np.frombuffer(ulid_from(self.started_ms, bytes(10))[:10].encode(), dtype=np.uint8)
        text[:, 10:] = _CROCKFORD[(bits * _WEIGHTS).sum(axis=2)]
        ends = np.arange(count + 1, dtype=np.int32) * _ULID_LENGTH
        return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(text.tobytes()))
