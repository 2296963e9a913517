"""Identifiers: ULIDs, table keys and the names that a branch may have."""

from __future__ import annotations

import pytest

from omnigraph.model.errors import InvalidBranchName, InvalidValue
from omnigraph.model.identifiers import (
    TableKey,
    UlidCounter,
    check_branch_name,
    check_new_branch_name,
    fnv1a64_hex,
    is_ulid,
    new_ulid,
    normalize_branch,
    overlapping,
    ulid_from,
)


def test_counted_ulids_are_well_formed_and_never_the_same_also_of_two_counters() -> None:
    counters = [UlidCounter(), UlidCounter()]
    ids = [counter.next() for counter in counters for _ in range(1000)]
    assert all(is_ulid(each) for each in ids)
    assert len(set(ids)) == len(ids)


def test_ulids_are_well_formed_and_sort_by_time() -> None:
    assert is_ulid(new_ulid())
    assert ulid_from(1, b"\0" * 10) < ulid_from(2, b"\0" * 10)
    assert not is_ulid("01arz3ndektsv4rrffq69g5fav")


def test_table_keys_name_their_place() -> None:
    assert TableKey.parse("node:Person") == TableKey("node", "Person")
    assert str(TableKey("edge", "Knows")) == "edge:Knows"
    assert fnv1a64_hex("") == "cbf29ce484222325"
    with pytest.raises(InvalidValue):
        TableKey.parse("table:Person")


@pytest.mark.parametrize("name", [pytest.param("__schema_apply_lock__", id="schema-H18")])
def test_the_lock_branch_cannot_be_made_by_a_user(name: str) -> None:
    with pytest.raises(InvalidBranchName):
        check_branch_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "main", "a//b", "/a", "a/", "a..b", "x.lock", "a b", "é", "a" * 201),
        *("./x", "x/.", "x/./y", ".", "__graph__", "a/" * 99 + "a", "a~queue", "a%2Fb", "a\\b", "a\nb"),
    ],
)
def test_a_bad_branch_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidBranchName):
        check_branch_name(name)


@pytest.mark.parametrize("name", ["__x", "__graph__", "__schema_apply_lock__", "__/a"])
def test_a_new_branch_has_no_name_of_the_system(name: str) -> None:
    with pytest.raises(InvalidBranchName):
        check_new_branch_name(name)


def test_good_branch_names_pass() -> None:
    assert check_branch_name(" review/new-1.x ") == "review/new-1.x"
    assert (normalize_branch(None), normalize_branch(" main ")) == ("main", "main")
    assert overlapping("a", ["z", "a/b"]) == "a/b"
    assert overlapping("a/b/c", ["z", "a/b"]) == "a/b"
    assert overlapping("a", ["a"]) == "a"
    assert overlapping("a", ["ab", "b/a"]) is None
