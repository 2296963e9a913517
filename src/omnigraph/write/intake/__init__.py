"""Intake: from lines, files and tables to decoded rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.intake.blob_values import blob_value as blob_value
    from omnigraph.write.intake.decode import Decoded as Decoded
    from omnigraph.write.intake.decode import DecodePlan as DecodePlan
    from omnigraph.write.intake.decode import Mask as Mask
    from omnigraph.write.intake.decode import concat_chunks as concat_chunks
    from omnigraph.write.intake.decode import decode_plan as decode_plan
    from omnigraph.write.intake.decode import missing_value as missing_value
    from omnigraph.write.intake.embedding import embedded_values as embedded_values
    from omnigraph.write.intake.embedding import followers as followers
    from omnigraph.write.intake.embedding import waits_for_provider as waits_for_provider
    from omnigraph.write.intake.embedding import without_outdated as without_outdated
    from omnigraph.write.intake.line_files import ENDINGS as ENDINGS
    from omnigraph.write.intake.line_files import LineItem as LineItem
    from omnigraph.write.intake.line_files import line_source as line_source
    from omnigraph.write.intake.read_item import ItemReading as ItemReading
    from omnigraph.write.intake.read_item import Part as Part
    from omnigraph.write.intake.read_item import ReadPlan as ReadPlan
    from omnigraph.write.intake.read_item import Refused as Refused
    from omnigraph.write.intake.records import Record as Record
    from omnigraph.write.intake.source_files import find_files as find_files
    from omnigraph.write.intake.sources import ItemSource as ItemSource
    from omnigraph.write.intake.sources import SourceItem as SourceItem
    from omnigraph.write.intake.sources import Unreadable as Unreadable
    from omnigraph.write.intake.sources import record_text as record_text
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "blob_values": ("blob_value",),
            "decode": (
                "DecodePlan",
                "Decoded",
                "Mask",
                "decode_plan",
                "concat_chunks",
                "missing_value",
            ),
            "embedding": (
                "embedded_values",
                "followers",
                "waits_for_provider",
                "without_outdated",
            ),
            "line_files": (
                "LineItem",
                "ENDINGS",
                "line_source",
            ),
            "read_item": (
                "ItemReading",
                "Part",
                "ReadPlan",
                "Refused",
            ),
            "records": ("Record",),
            "source_files": ("find_files",),
            "sources": (
                "ItemSource",
                "SourceItem",
                "Unreadable",
                "record_text",
            ),
        },
    )
