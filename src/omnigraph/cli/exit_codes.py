"""Exit codes: the one table from error family to number. Only the command line knows these numbers."""

from __future__ import annotations

from omnigraph.model import errors

SUCCESS = 0
FAILURE = 1
USAGE = 2
INTERRUPTED = 130

EXIT_CODES: tuple[tuple[type[errors.OmniGraphError], int, str], ...] = (
    (errors.PreconditionFailed, 4, "a conditional write lost: the head moved"),
    (errors.KeyConflict, 5, "a strict insert met an existing id"),
    (errors.ReadSetChanged, 5, "what the write read has changed"),
    (errors.ExpectedVersionMismatch, 5, "a table was published by someone else"),
    (errors.RowLevelCasContention, 5, "the publish lost against concurrent writers"),
    (errors.LeaseTimeout, 8, "another writer held the lease for too long"),
    (errors.BadRequest, 1, "the input is wrong"),
    (errors.NotFound, 1, "the named thing does not exist"),
    (errors.Conflict, 1, "the graph is not in the state that the command needs"),
    (errors.Gone, 1, "history that was reclaimed"),
    (errors.Internal, 1, "a broken invariant"),
    (errors.OutcomeUnknown, 1, "a write may or may not have landed"),
    (errors.InitializationIndeterminate, 1, "a graph may or may not have been created"),
    (errors.Denied, 3, "not authenticated or not allowed"),
    (errors.LimitExceeded, 6, "a stated limit would be passed"),
    (errors.RecoveryRequired, 7, "an interrupted write must be resolved first"),
    (errors.Unreachable, 8, "storage or a provider did not answer"),
)
"""Special cases first: the first row that fits an error gives its number."""

CONFLICTS = 5
CONFLICT_CODES = frozenset({"merge_conflicts", "revert_conflicts", "restore_refused"})
"""The errors that carry conflicts, by their codes: importing their classes would import the engine."""


def exit_code_of(error: errors.OmniGraphError) -> int:
    if error.code in CONFLICT_CODES:
        return CONFLICTS
    return next((code for family, code, _ in EXIT_CODES if isinstance(error, family)), FAILURE)
