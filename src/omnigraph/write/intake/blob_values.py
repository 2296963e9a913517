"""Blob values on their way in: what a caller gives, decoded and within its limits."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from omnigraph.model.errors import InvalidValue
from omnigraph.storage.external import BlobIntake, ExternalBlobDenied

PREFIX = "base64:"
BLOB_BYTES_MAX = 32 * 1024 * 1024
"""Decoded bytes of one value."""


def is_external(text: str) -> bool:
    """Any text without the prefix is the address of an object that lies elsewhere."""
    return not text.startswith(PREFIX)


def blob_value(text: str, where: str, blobs: BlobIntake) -> dict[str, Any]:
    """The cell of one value: its bytes, or what becomes of the address that it is."""
    if not is_external(text):
        return managed_blob(text, where)
    try:
        return blobs.take(text)
    except ExternalBlobDenied as error:
        raise denied(text, where, error) from error


def managed_blob(text: str, where: str) -> dict[str, Any]:
    """`base64:…` as managed bytes."""
    try:
        data = base64.b64decode(text[len(PREFIX) :], validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(f"{where}: invalid base64 payload", repr(text[:40]), "standard base64") from None
    if len(data) > BLOB_BYTES_MAX:
        raise InvalidValue(f"{where}: blob is too large", f"{len(data)} bytes", f"at most {BLOB_BYTES_MAX} bytes")
    return {"data": data, "uri": None}


def denied(text: str, where: str, error: ExternalBlobDenied) -> InvalidValue:
    """The refusal of an address as the fault of one value."""
    return InvalidValue(f"{where}: {error.sentence()}", repr(text[:120]), "base64:<payload>, or an allowed address")
