"""External blobs: the addresses that a graph may refer to, and how the objects behind them are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.external.bases import BlobBases as BlobBases
    from omnigraph.storage.external.bases import ExternalBlobDenied as ExternalBlobDenied
    from omnigraph.storage.external.bases import InvalidBlobBase as InvalidBlobBase
    from omnigraph.storage.external.bases import blob_bases as blob_bases
    from omnigraph.storage.external.copies import BlobIntake as BlobIntake
    from omnigraph.storage.external.objects import ExternalBlobSource as ExternalBlobSource
    from omnigraph.storage.external.objects import external_bytes as external_bytes
    from omnigraph.storage.external.objects import external_size as external_size
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "bases": (
                "BlobBases",
                "ExternalBlobDenied",
                "InvalidBlobBase",
                "blob_bases",
            ),
            "copies": ("BlobIntake",),
            "objects": (
                "ExternalBlobSource",
                "external_bytes",
                "external_size",
            ),
        },
    )
