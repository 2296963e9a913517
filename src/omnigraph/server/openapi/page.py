"""The rendered API reference: one page, which reads the document of the server that it came from."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def api_page() -> bytes:
    return files("omnigraph.server.openapi").joinpath("reference.html").read_bytes()
