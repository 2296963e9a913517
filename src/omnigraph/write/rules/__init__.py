"""Rules: what the schema demands of a change. `validation` puts them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.rules.canonical_text import Codes as Codes
    from omnigraph.write.rules.canonical_text import canonical_column as canonical_column
    from omnigraph.write.rules.canonical_text import last_rows as last_rows
    from omnigraph.write.rules.canonical_text import repeats as repeats
    from omnigraph.write.rules.canonical_text import tuple_codes as tuple_codes
    from omnigraph.write.rules.committed_view import CommittedView as CommittedView
    from omnigraph.write.rules.composite_keys import refuse_foreign_ids as refuse_foreign_ids
    from omnigraph.write.rules.key_columns import SLICE_ROWS as SLICE_ROWS
    from omnigraph.write.rules.key_columns import Mask as Mask
    from omnigraph.write.rules.key_columns import Rows as Rows
    from omnigraph.write.rules.key_columns import members as members
    from omnigraph.write.rules.key_columns import part_bytes as part_bytes
    from omnigraph.write.rules.key_columns import part_count as part_count
    from omnigraph.write.rules.key_columns import part_numbers as part_numbers
    from omnigraph.write.rules.key_columns import take_rows as take_rows
    from omnigraph.write.rules.patterns import check_pattern as check_pattern
    from omnigraph.write.rules.row_violations import RowViolation as RowViolation
    from omnigraph.write.rules.row_violations import ViolationLog as ViolationLog
    from omnigraph.write.rules.row_violations import row_violation as row_violation
    from omnigraph.write.rules.uniqueness import both_lines as both_lines
    from omnigraph.write.rules.uniqueness import property_names as property_names
    from omnigraph.write.rules.uniqueness import repeated_in_change as repeated_in_change
    from omnigraph.write.rules.uniqueness import tuple_texts as tuple_texts
    from omnigraph.write.rules.uniqueness import unique_message as unique_message
    from omnigraph.write.rules.validation import checked_columns as checked_columns
    from omnigraph.write.rules.validation import find_violations as find_violations
    from omnigraph.write.rules.validation import validate as validate
    from omnigraph.write.rules.value_rules import check_values as check_values
    from omnigraph.write.rules.violations import MAX_ERRORS_DEFAULT as MAX_ERRORS_DEFAULT
    from omnigraph.write.rules.violations import ValidationFailed as ValidationFailed
    from omnigraph.write.rules.violations import Violation as Violation
    from omnigraph.write.rules.violations import refuse as refuse
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "canonical_text": (
                "Codes",
                "canonical_column",
                "last_rows",
                "repeats",
                "tuple_codes",
            ),
            "committed_view": ("CommittedView",),
            "composite_keys": ("refuse_foreign_ids",),
            "row_violations": (
                "ViolationLog",
                "RowViolation",
                "row_violation",
            ),
            "key_columns": (
                "Mask",
                "Rows",
                "SLICE_ROWS",
                "take_rows",
                "members",
                "part_bytes",
                "part_count",
                "part_numbers",
            ),
            "patterns": ("check_pattern",),
            "uniqueness": (
                "both_lines",
                "property_names",
                "repeated_in_change",
                "tuple_texts",
                "unique_message",
            ),
            "validation": (
                "checked_columns",
                "find_violations",
                "validate",
            ),
            "value_rules": ("check_values",),
            "violations": (
                "MAX_ERRORS_DEFAULT",
                "ValidationFailed",
                "Violation",
                "refuse",
            ),
        },
    )
