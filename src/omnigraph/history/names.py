"""Names of branches and tags: what they may not be, so that a reference always means one thing."""

from __future__ import annotations

from typing import Literal

from omnigraph.model.errors import BadRequest, InvalidBranchName, InvalidValue
from omnigraph.model.identifiers import MAIN, check_branch_name, check_new_branch_name, is_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.values import parse_datetime

Named = Literal["branch", "tag"]


@dataclass(eq=False)
class AmbiguousName(BadRequest):
    """A name that would be read as a commit id or as a time."""

    what: Named
    name: str
    reads_as: str

    def sentence(self) -> str:
        return f"a {self.what} cannot be named '{self.name}': that is {self.reads_as}"

    @property
    def hint(self) -> str | None:
        return f"put a word in front of it, for example 'at-{self.name}'"


@dataclass(eq=False)
class InvalidTagName(BadRequest):
    """A tag name that is not allowed."""

    name: str
    reason: str

    def sentence(self) -> str:
        return f"invalid tag name {self.name!r}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "use letters, digits, '.', '-' and '_', in segments separated by single '/'"


def check_new_branch(name: str) -> str:
    """The name, trimmed, if a new branch may have it."""
    trimmed = check_new_branch_name(name)
    _refuse_ambiguous("branch", trimmed)
    return trimmed


def check_new_tag(name: str) -> str:
    """The name, trimmed, if a new tag may have it. Tags follow the rules of branch names."""
    if name.strip() == MAIN:
        raise InvalidTagName(name, "'main' is a branch")
    try:
        trimmed = check_new_branch_name(name)
    except InvalidBranchName as error:
        raise InvalidTagName(name, error.reason) from error
    _refuse_ambiguous("tag", trimmed)
    return trimmed


def is_possible_name(text: str) -> bool:
    """Whether a branch or a tag can have this name at all."""
    if text == MAIN:
        return True
    try:
        check_branch_name(text)
    except InvalidBranchName:
        return False
    return True


def is_moment(text: str) -> bool:
    """Whether a text is a date or a time."""
    try:
        parse_datetime(text)
    except InvalidValue:
        return False
    return True


def _refuse_ambiguous(what: Named, name: str) -> None:
    if is_ulid(name.upper()):
        raise AmbiguousName(what, name, "the form of a commit id")
    if is_moment(name):
        raise AmbiguousName(what, name, "a time")
