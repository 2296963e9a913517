"""Text hashes: 64 bits per string of an Arrow array, without a Python object per string, the same in every process."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_CHUNK_ROWS = 262_144
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_WORD = 2**64 - 1


def _spread(count: int) -> Hashes:
    """Odd numbers without a pattern; made here because importing numpy's generators would cost more than all else."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, _MIX), (27, np.uint64(0x94D049BB133111EB))):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


_WEIGHTS = _spread(1024)
_PLAIN_WEIGHTS = [int(weight) for weight in _WEIGHTS]


def text_hash(text: str) -> int:
    """The hash of one text, as `text_hashes` has it."""
    data = text.encode()
    total = 0
    for place, byte in enumerate(data):
        total += (byte + 1) * _PLAIN_WEIGHTS[place & 1023]
    total &= _WORD
    mixed = ((total ^ (total >> 29)) * int(_MIX) + len(data)) & _WORD
    return mixed ^ (mixed >> 32)


def text_hashes(texts: pa.Array) -> Hashes:
    """A weighted sum of the bytes, mixed. Equal texts have equal hashes; the reverse must be checked."""
    parts = [_chunk(texts.slice(start, _CHUNK_ROWS)) for start in range(0, len(texts), _CHUNK_ROWS)]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def _chunk(texts: pa.Array) -> Hashes:
    if not pa.types.is_string(texts.type):
        texts = texts.cast(pa.string())
    _, offsets_buffer, data_buffer = texts.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    if data_buffer is None or first == last:
        sums = np.zeros(len(texts), np.uint64)
    else:
        data = np.frombuffer(data_buffer, np.uint8)[first:last].astype(np.uint64)
        places = np.arange(last - first) - np.repeat(offsets[:-1] - first, lengths)
        running = np.zeros(last - first + 1, np.uint64)
        np.cumsum((data + np.uint64(1)) * _WEIGHTS[places & 1023], out=running[1:])
        sums = running[offsets[1:] - first] - running[offsets[:-1] - first]
    mixed = (sums ^ (sums >> np.uint64(29))) * _MIX + lengths.astype(np.uint64)
    return mixed ^ (mixed >> np.uint64(32))
