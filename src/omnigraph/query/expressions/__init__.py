"""Expressions: values, comparisons and conditions over the rows of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.expressions.comparisons import Operand as Operand
    from omnigraph.query.expressions.conditions import holds as holds
    from omnigraph.query.expressions.evaluation import Evaluation as Evaluation
    from omnigraph.query.expressions.pushdown import key_values as key_values
    from omnigraph.query.expressions.pushdown import predicate_of as predicate_of
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "comparisons": ("Operand",),
            "conditions": ("holds",),
            "evaluation": ("Evaluation",),
            "pushdown": (
                "key_values",
                "predicate_of",
            ),
        },
    )
