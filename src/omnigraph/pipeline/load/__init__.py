"""Loads, from the source to the commit. Start with `run_load`; `engines` are this process and Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.pipeline.load.after_commit import log as log
    from omnigraph.pipeline.load.data_source_write import SpillingLoad as SpillingLoad
    from omnigraph.pipeline.load.data_source_write import StagedSource as StagedSource
    from omnigraph.pipeline.load.frame_sources import frame_source as frame_source
    from omnigraph.pipeline.load.run_load import Engine as Engine
    from omnigraph.pipeline.load.run_load import Load as Load
    from omnigraph.pipeline.load.run_load import LoadMode as LoadMode
    from omnigraph.pipeline.load.run_load import load as load
    from omnigraph.pipeline.load.sources import Source as Source
    from omnigraph.pipeline.load.sources import SourceFormat as SourceFormat
    from omnigraph.pipeline.load.spill import DecodeReceipt as DecodeReceipt
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "after_commit": ("log",),
            "data_source_write": (
                "SpillingLoad",
                "StagedSource",
            ),
            "frame_sources": ("frame_source",),
            "run_load": (
                "Engine",
                "Load",
                "LoadMode",
                "load",
            ),
            "sources": (
                "Source",
                "SourceFormat",
            ),
            "spill": ("DecodeReceipt",),
        },
    )
