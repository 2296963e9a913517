"""References: the texts by which callers name a commit, and the one rule of what they mean. Start at `resolve`.

A commit id is a commit. A time is the newest commit until then, on the branch of the caller. Anything else is a branch,
or else a tag. `branch:` and `tag:` in front of a name leave no doubt.
"""

from __future__ import annotations

from typing import Literal

from omnigraph.history.commits import commit_as_of, find_commit
from omnigraph.history.names import is_moment, is_possible_name
from omnigraph.history.tags import find_tag, require_tag, tag_names
from omnigraph.language import did_you_mean
from omnigraph.model.errors import BranchNotFound, CommitNotFound, Corrupt, Gone, Json, NotFound
from omnigraph.model.identifiers import MAIN, is_ulid, normalize_branch
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import GraphStorage
from omnigraph.storage.manifest import GraphCommit

ReferenceKind = Literal["commit", "time", "branch", "tag"]
BRANCH_MARK, TAG_MARK = "branch:", "tag:"


@dataclass(frozen=True, slots=True)
class Reference:
    """What a text names, and the commit that it stands for now."""

    kind: ReferenceKind
    name: str
    """Without a mark in front."""
    commit: GraphCommit

    @property
    def commit_id(self) -> str:
        return self.commit.commit_id


@dataclass(eq=False)
class UnknownReference(NotFound):
    """A text that names no commit."""

    reference: str
    remedy: str | None = None

    def sentence(self) -> str:
        return f"'{self.reference}' is not a branch, a tag, a commit id or a time"

    @property
    def hint(self) -> str | None:
        return self.remedy or "list the branches with `omnigraph branch list`"

    def details(self) -> dict[str, Json]:
        return {"reference": self.reference}


@dataclass(eq=False)
class TaggedCommitGone(Gone):
    """The commit of a tag is not in the graph any more."""

    tag: str
    commit_id: str

    def sentence(self) -> str:
        return f"tag '{self.tag}' names commit {self.commit_id}, which no branch has any more"

    @property
    def hint(self) -> str | None:
        return "another program deleted the branch that had it; delete the tag or move it to another commit"


def resolve(storage: GraphStorage, text: str, branch: str = MAIN) -> Reference:
    """What a text names. Times are looked up on `branch`."""
    text = text.strip()
    if text.startswith(BRANCH_MARK):
        return _branch(storage, text.removeprefix(BRANCH_MARK))
    if text.startswith(TAG_MARK):
        return _tag(storage, text.removeprefix(TAG_MARK))
    if is_ulid(text):
        return Reference("commit", text, find_commit(storage, text, branch))
    if is_moment(text):
        return Reference("time", text, commit_as_of(storage, branch, text))
    if is_possible_name(text):
        if _is_branch(storage, text):
            return _branch(storage, text)
        if find_tag(storage, text) is not None:
            return _tag(storage, text)
    raise UnknownReference(text, did_you_mean(text, [*storage.manifest.branches(), *tag_names(storage)]))


def _is_branch(storage: GraphStorage, name: str) -> bool:
    try:
        storage.manifest.identifier(name)
    except BranchNotFound:
        return False
    return True


def _branch(storage: GraphStorage, text: str) -> Reference:
    name = normalize_branch(text)
    try:
        head = storage.manifest.load(name).state.head
    except BranchNotFound as error:
        near = did_you_mean(name, storage.manifest.branches())
        raise BranchNotFound(name, near or error.remedy) from None
    if head is None:
        raise Corrupt(name, "the branch has no commit")
    return Reference("branch", name, head)


def _tag(storage: GraphStorage, name: str) -> Reference:
    tag = require_tag(storage, name)
    try:
        return Reference("tag", tag.name, find_commit(storage, tag.commit_id))
    except CommitNotFound as error:
        raise TaggedCommitGone(tag.name, tag.commit_id) from error
