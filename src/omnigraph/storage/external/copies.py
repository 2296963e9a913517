"""Blobs on their way into a graph: what becomes of an address, by the kind of write. One of these per write."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from omnigraph.model.errors import OmniGraphError, ResourceLimitExceeded
from omnigraph.storage.external.bases import BlobBases
from omnigraph.storage.external.objects import external_bytes, external_size

CELLS_MAX = 8192
"""External blobs that one write may have."""
COPIED_BYTES_MAX = 256 * 1024 * 1024
"""Bytes that one write copies from elsewhere; on Spark, that one task copies."""
PROBES_AT_ONCE = 8

Cell = dict[str, Any]


class BlobIntake:
    """Looks at every address of one write before anything is written: a copy has its bytes, a reference is there."""

    def __init__(self, bases: BlobBases, keep: Literal["copy", "reference"] = "copy") -> None:
        self.bases = bases
        self.keep = keep
        self.cells = 0
        self.copied = 0

    def take(self, uri: str) -> Cell:
        """The cell of one address."""
        found = self.take_all([uri])[0]
        if isinstance(found, OmniGraphError):
            raise found
        return found

    def take_all(self, uris: Sequence[str]) -> list[Cell | OmniGraphError]:
        """The cells of these addresses, several looked at together; an error where one is refused or unreadable."""
        self.cells += len(uris)
        if self.cells > CELLS_MAX:
            raise ResourceLimitExceeded("external Blob reference cells", CELLS_MAX, self.cells)
        if len(uris) < 2 or not self.bases:
            return [self._take(uri) for uri in uris]
        with ThreadPoolExecutor(PROBES_AT_ONCE, thread_name_prefix="omnigraph-blobs") as pool:
            return list(pool.map(self._take, uris))

    def _take(self, uri: str) -> Cell | OmniGraphError:
        try:
            if self.keep == "reference":
                external_size(self.bases, uri)
                return {"data": None, "uri": uri}
            data = external_bytes(self.bases, uri)
        except OmniGraphError as error:
            return error
        self.copied += len(data)
        if self.copied > COPIED_BYTES_MAX:
            return ResourceLimitExceeded("materialized external blob payload bytes", COPIED_BYTES_MAX, self.copied)
        return {"data": data, "uri": None}
