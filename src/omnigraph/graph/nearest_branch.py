"""The nearest branch: the error about a branch that is not there, with the one that was probably meant."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.model.errors import BranchNotFound, OmniGraphError

if TYPE_CHECKING:
    from omnigraph.graph.versions import Versions


def with_nearest_branch(graph: Versions, error: BranchNotFound) -> BranchNotFound:
    """The error as `graph.branch` tells it to this caller; the same one, where that has nothing to say."""
    with suppress(OmniGraphError):
        try:
            graph.branch(error.branch)
        except BranchNotFound as told:
            return told
    return error
