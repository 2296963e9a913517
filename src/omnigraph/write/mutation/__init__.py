"""Mutations: insert, update and delete statements to a change set and a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.write.mutation.run_mutation import Mutation as Mutation
    from omnigraph.write.mutation.run_mutation import count_of as count_of
    from omnigraph.write.mutation.run_mutation import digest as digest
    from omnigraph.write.mutation.run_mutation import mutate as mutate
    from omnigraph.write.mutation.statements import MutationRun as MutationRun
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "run_mutation": (
                "Mutation",
                "count_of",
                "digest",
                "mutate",
            ),
            "statements": ("MutationRun",),
        },
    )
