"""Blob values on their way in: what a caller gives, decoded and within its limits."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from omnigraph.model.errors import InvalidValue

PREFIX = "base64:"
BLOB_BYTES_MAX = 32 * 1024 * 1024
"""Decoded bytes of one value."""


def managed_blob(text: str, where: str) -> dict[str, Any]:
    """`base64:…` as managed bytes. Any other text names an external object, which a graph has to allow first."""
    if not text.startswith(PREFIX):
        raise InvalidValue(f"{where}: external blobs are denied by the blob policy", repr(text), "base64:<payload>")
    try:
        data = base64.b64decode(text[len(PREFIX) :], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(f"{where}: invalid base64 payload", repr(text[:40]), "standard base64") from None
    if len(data) > BLOB_BYTES_MAX:
        raise InvalidValue(f"{where}: blob is too large", f"{len(data)} bytes", f"at most {BLOB_BYTES_MAX} bytes")
    return {"data": data, "uri": None}
