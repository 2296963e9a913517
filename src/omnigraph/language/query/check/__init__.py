"""Checking: names and types of a parsed query are resolved, every mistake is reported at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.language.query.check.checked_clauses import CheckedBinding as CheckedBinding
    from omnigraph.language.query.check.checked_clauses import CheckedBlock as CheckedBlock
    from omnigraph.language.query.check.checked_clauses import CheckedMaybe as CheckedMaybe
    from omnigraph.language.query.check.checked_clauses import CheckedNot as CheckedNot
    from omnigraph.language.query.check.checked_clauses import CheckedOr as CheckedOr
    from omnigraph.language.query.check.checked_clauses import CheckedTraversal as CheckedTraversal
    from omnigraph.language.query.check.match import check_block as check_block
    from omnigraph.language.query.check.mentions import bound_variables as bound_variables
    from omnigraph.language.query.check.mutations import check_mutation as check_mutation
    from omnigraph.language.query.check.order import check_count as check_count
    from omnigraph.language.query.check.order import check_order as check_order
    from omnigraph.language.query.check.returns import check_items as check_items
    from omnigraph.language.query.check.scope import RefusalError as RefusalError
    from omnigraph.language.query.check.scope import Report as Report
    from omnigraph.language.query.check.scope import Scope as Scope
    from omnigraph.language.query.check.scope import Session as Session
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "checked_clauses": (
                "CheckedBinding",
                "CheckedBlock",
                "CheckedMaybe",
                "CheckedNot",
                "CheckedOr",
                "CheckedTraversal",
            ),
            "match": ("check_block",),
            "mentions": ("bound_variables",),
            "mutations": ("check_mutation",),
            "order": (
                "check_count",
                "check_order",
            ),
            "returns": ("check_items",),
            "scope": (
                "RefusalError",
                "Report",
                "Scope",
                "Session",
            ),
        },
    )
