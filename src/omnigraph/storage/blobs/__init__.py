"""Blobs of a table: what its cells hold, their bytes, and whole rows that are to be written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.blobs.cells import BlobCell as BlobCell
    from omnigraph.storage.blobs.cells import blob_cells as blob_cells
    from omnigraph.storage.blobs.cells import read_blob_range as read_blob_range
    from omnigraph.storage.blobs.cells import read_blobs as read_blobs
    from omnigraph.storage.blobs.cells import split_by_blob_bytes as split_by_blob_bytes
    from omnigraph.storage.blobs.rewriting import whole_rows as whole_rows
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "cells": (
                "BlobCell",
                "blob_cells",
                "read_blob_range",
                "read_blobs",
                "split_by_blob_bytes",
            ),
            "rewriting": ("whole_rows",),
        },
    )
