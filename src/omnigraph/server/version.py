"""The version of the wire: which release of the HTTP contract this server speaks."""

from __future__ import annotations

WIRE_VERSION = "0.10.0"
