"""The rules of recovery as tables: every row of the classification and of the decision."""

from __future__ import annotations

import pytest

from omnigraph.storage.restore import LineageVersion
from omnigraph.write.recovery.rules import Decision, Observed, PinState, Verdicts, classify, decide
from omnigraph.write.recovery.sidecars import SidecarPin

OURS = "ours"

# kind v | expected post confirmed | head manifest | what lies above the manifest's version, `*`: as planned | state
PLAIN = """
Mutation      2 | 4 5 - | 3 4 |                                 | InvariantViolation
Optimize      2 | 4 5 - | 3 4 |                                 | InvariantViolation
Mutation      2 | 4 5 - | 4 4 |                                 | NoMovement
BranchMerge   2 | 4 5 - | 4 4 |                                 | NoMovement
Mutation      2 | 4 5 - | 7 7 |                                 | NoMovement
Mutation      2 | 4 5 - | 5 4 | Append                          | RolledPastExpected
Load          2 | 4 5 - | 5 4 | Overwrite                       | RolledPastExpected
Mutation      1 | 4 5 - | 5 4 | Append                          | RolledPastExpected
Mutation      2 | 4 6 - | 5 4 | Append                          | UnexpectedAtP1
Mutation      2 | 3 5 - | 5 4 | Append                          | UnexpectedAtP1
Mutation      2 | 3 4 - | 5 4 | Append                          | UnexpectedAtP1
Mutation      2 | 4 5 - | 6 4 | Append Append                   | UnexpectedMultistep
Mutation      2 | 4 6 - | 6 4 | Append Append                   | UnexpectedMultistep
Load          2 | 4 5 - | 6 4 | Append CreateIndex              | RolledPastExpected
Load          2 | 4 5 - | 7 4 | Append CreateIndex CreateIndex  | RolledPastExpected
Load          2 | 4 5 - | 7 4 | Append CreateIndex Append       | UnexpectedMultistep
Load          2 | 4 5 - | 6 4 | CreateIndex CreateIndex         | UnexpectedMultistep
Load          2 | 4 5 - | 6 4 | Append unreadable               | UnexpectedMultistep
Load          2 | 3 4 - | 6 4 | Append CreateIndex              | UnexpectedMultistep
Load          2 | 4 5 - | 6 4 | Append Restore:4                | UnexpectedMultistep
BranchMerge   2 | 4 5 - | 5 4 | Append                          | IncompletePhaseB
BranchMerge   2 | 4 5 - | 9 4 | Append                          | IncompletePhaseB
BranchMerge   2 | 4 5 6 | 6 4 | Append Append                   | RolledPastExpected
BranchMerge   2 | 4 5 6 | 5 4 | Append                          | UnexpectedMultistep
BranchMerge   2 | 4 5 6 | 7 4 | Append Append Append            | UnexpectedMultistep
BranchMerge   2 | 3 5 6 | 6 4 | Append Append                   | UnexpectedMultistep
BranchMerge   1 | 4 5 - | 9 4 | Append                          | RolledPastExpected
BranchMerge   1 | 3 5 - | 5 4 | Append                          | UnexpectedAtP1
SchemaApply   2 | 4 5 - | 5 4 | Overwrite                       | RolledPastExpected
EnsureIndices 2 | 4 5 - | 8 4 | CreateIndex                     | RolledPastExpected
Optimize      2 | 4 5 - | 6 4 | Rewrite CreateIndex             | RolledPastExpected
Optimize      2 | 3 5 - | 5 4 | Rewrite                         | UnexpectedAtP1
Optimize      2 | 3 5 - | 6 4 | Rewrite Rewrite                 | UnexpectedMultistep
Optimize      2 | 4 5 - | 6 4 | Rewrite Restore:4               | UnexpectedMultistep
"""

PROVEN = """
Mutation      2 | 4 5 - | 5 4 | Append*                         | RolledPastExpected
Mutation      2 | 4 5 - | 6 4 | Append* CreateIndex             | RolledPastExpected
Mutation      2 | 4 5 - | 6 4 | Append* Restore:4               | UnexpectedMultistep
Mutation      2 | 4 5 - | 7 4 | Append* Restore:4 CreateIndex   | UnexpectedMultistep
Mutation      2 | 4 5 - | 5 4 | Append                          | ForeignCommit
Mutation      2 | 4 5 - | 6 4 | Append Append*                  | ForeignCommit
Mutation      2 | 4 5 - | 6 4 | Append* Append                  | ForeignCommit
Mutation      2 | 4 5 - | 7 4 | Append* Append Restore:4        | ForeignCommit
Mutation      2 | 4 5 - | 6 4 | Append* Restore:3               | ForeignCommit
Mutation      2 | 4 5 - | 6 4 | Append* unreadable              | ForeignCommit
Mutation      2 | 3 4 - | 5 4 | Append*                         | UnexpectedMultistep
Optimize      2 | 4 5 - | 5 4 | Rewrite                         | ForeignCommit
EnsureIndices 2 | 4 5 - | 5 4 | CreateIndex*                    | RolledPastExpected
BranchMerge   2 | 4 5 - | 5 4 | Update*                         | IncompletePhaseB
BranchMerge   2 | 4 5 5 | 5 4 | Update*                         | RolledPastExpected
Mutation      2 | 4 5 - | 4 4 |                                 | NoMovement
Mutation      2 | 4 5 - | 3 4 |                                 | InvariantViolation
"""


def rows_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def observed(numbers: str, versions: str, operations: str, *, proof: bool) -> Observed:
    expected, post, confirmed = numbers.split()
    head, manifest = (int(number) for number in versions.split())
    above = []
    for offset, operation in enumerate(operations.split()):
        name, _, restores = operation.rstrip("*").partition(":")
        transaction = OURS if operation.endswith("*") else f"foreign-{offset}"
        above.append(LineageVersion(manifest + 1 + offset, name, transaction, int(restores) if restores else None))
    pin = SidecarPin(
        table_key="node:Person",
        table_path="/g/nodes/x",
        expected_version=int(expected),
        post_commit_pin=int(post),
        confirmed_version=None if confirmed == "-" else int(confirmed),
        transaction_id=OURS if proof else None,
    )
    return Observed(pin, "nodes/x", head, manifest, tuple(above))


@pytest.mark.parametrize(
    ("row", "proof"), [(row, False) for row in rows_of(PLAIN)] + [(row, True) for row in rows_of(PROVEN)]
)
def test_a_pin_is_classified_as_the_table_says(row: str, proof: bool) -> None:
    writer, numbers, versions, operations, state = (part.strip() for part in row.split("|"))
    kind, file_version = writer.split()
    assert classify(observed(numbers, versions, operations, proof=proof), kind, int(file_version)) == state


def test_every_state_has_a_row() -> None:
    assert {row.rpartition("|")[2].strip() for row in rows_of(PLAIN + PROVEN)} == set(PinState)


# states of the pins | manifest past expected? visible? head holds? schema ready? | decision
DECISIONS = """
ForeignCommit RolledPastExpected        | -     - head schema | abort
InvariantViolation RolledPastExpected   | -     - head schema | abort
InvariantViolation NoMovement           | past  - head schema | abort
NoMovement NoMovement                   | past  - head schema | finish
NoMovement                              | past  - -    schema | finish
NoMovement NoMovement                   | -     - head schema | drop
NoMovement                              | -     - head -      | drop
NoMovement RolledPastExpected           | -     - head schema | roll back
NoMovement RolledPastExpected           | past  - head schema | roll back
RolledPastExpected UnexpectedAtP1       | -     - head schema | roll back
RolledPastExpected UnexpectedMultistep  | -     - head schema | roll back
RolledPastExpected IncompletePhaseB     | -     - head schema | roll back
RolledPastExpected RolledPastExpected   | -     - head schema | roll forward
                                        | -     - head schema | roll forward
RolledPastExpected                      | -     - head -      | roll back
                                        | -     - head -      | roll back
RolledPastExpected                      | -     - -    schema | roll back
RolledPastExpected                      | - visible -  schema | finish
NoMovement                              | - visible head schema | finish
ForeignCommit                           | past visible - schema | finish
                                        | - visible head -    | finish
"""


@pytest.mark.parametrize("manifest", [4, 5, 9])
def test_tables_that_did_not_move_are_no_sign_of_a_commit_that_has_a_name(manifest: int) -> None:
    """Another writer took over and published on top of what we had read: that is its commit, not ours."""
    seen = [observed("4 5 -", f"{manifest} {manifest}", "", proof=True)]
    verdicts = Verdicts(visible=False, names_commit=True)
    assert decide([PinState.NO_MOVEMENT], seen, verdicts) is Decision.DROP


@pytest.mark.parametrize("row", rows_of(DECISIONS))
def test_a_write_is_decided_as_the_table_says(row: str) -> None:
    names, facts, decision = (part.strip() for part in row.split("|"))
    states = [PinState(name) for name in names.split()]
    past, visible, head, schema = facts.split()
    seen = [observed("4 5 -", "5 5" if past == "past" else "4 4", "", proof=False) for _ in states]
    verdicts = Verdicts(visible=visible == "visible", head_holds=head == "head", schema_ready=schema == "schema")
    assert decide(states, seen, verdicts) == decision


def test_every_decision_has_a_row() -> None:
    assert {row.rpartition("|")[2].strip() for row in rows_of(DECISIONS)} == set(Decision)
