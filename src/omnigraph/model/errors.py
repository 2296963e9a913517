"""Errors: one root, one family per reaction of the caller; facts as fields, the sentence made from them.

A face maps a *family* to its own numbers (HTTP status, exit code) in one table. The `code` of an error is
the snake_case name of its class and never changes. Every error survives pickling, because workers send
errors to the driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def _rebuild(cls: type[OmniGraphError], state: dict[str, Any]) -> OmniGraphError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    return error


class OmniGraphError(Exception):
    """The root. Catch this to catch everything that OmniGraph refuses on purpose.

    `str(error)` is the whole message as the command line shows it: the sentence, the place, and the hint. Its parts are
    `error.sentence()`, `error.hint`, `error.code` and `error.details()`.
    """

    code: ClassVar[str] = "error"
    """Stable machine-readable name; never reworded."""
    _hint: ClassVar[str | None] = None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = hint

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), dict(self.__dict__))

    def __str__(self) -> str:
        return self.render()

    def sentence(self) -> str:
        """One line for people: what is wrong, and where."""
        return self.message

    def render(self) -> str:
        """The whole message: the sentence, and the hint on a line of its own."""
        return f"{self.sentence()}\nhint: {self.hint}" if self.hint else self.sentence()

    @property
    def hint(self) -> str | None:
        """What to do next, if there is something to do."""
        return getattr(self, "advice", None) or self._hint

    def details(self) -> dict[str, Json]:
        """The facts of this error, ready for JSON."""
        facts = {name: getattr(self, name) for name in getattr(self, "__dataclass_fields__", ())}
        return {name: value for name, value in facts.items() if value is not None}


def sentence_of(error: BaseException) -> str:
    """What went wrong in one line, to be quoted in another message: a hint belongs to the outermost error alone."""
    text = error.sentence() if isinstance(error, OmniGraphError) else str(error)
    return text or type(error).__name__


# --- the families -----------------------------------------------------------------------------------------


class BadRequest(OmniGraphError):
    """The input is wrong; the same call can never succeed. Nothing was changed."""


class NotFound(OmniGraphError):
    """The named thing does not exist."""


class Conflict(OmniGraphError):
    """The graph is not in the state that the operation needs. Nothing was changed."""


class Denied(OmniGraphError):
    """Not authenticated, or not allowed."""


class Gone(OmniGraphError):
    """History that existed once and was reclaimed."""


class LimitExceeded(OmniGraphError):
    """A stated limit would be passed."""


class Unreachable(OmniGraphError):
    """The storage or a provider did not answer. The outcome of a write may be unknown."""


class Internal(OmniGraphError):
    """A broken invariant: corruption on disk, or a bug."""


# --- bad requests -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class InvalidBranchName(BadRequest):
    """A branch name that is not allowed."""

    name: str
    reason: str

    def sentence(self) -> str:
        return f"invalid branch name {self.name!r}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "use letters, digits, '.', '-' and '_', in segments separated by single '/'"


@dataclass(eq=False)
class InvalidValue(BadRequest):
    """A value that does not fit its declared type or form."""

    what: str
    value: str
    expected: str

    def sentence(self) -> str:
        return f"{self.what}: got {self.value}, expected {self.expected}"


class InvalidRoot(BadRequest):
    """An address that is not one of a graph's storage."""


class ConditionalPutsUnsupported(BadRequest):
    """The object store ignores conditional puts, so two writers could overwrite each other's commits."""

    _hint = "use a store that enforces If-None-Match and If-Match, or open the graph read-only"


class StorageReadOnly(BadRequest):
    """The storage refuses writes: permissions, or a read-only file system."""

    _hint = "check the permissions of the directory or bucket, or open the graph read-only"


class OpenedReadOnly(BadRequest):
    """A write on a handle that was opened for reading."""

    _hint = "open the graph without read_only=True"


@dataclass(eq=False)
class EmbeddingNotConfigured(BadRequest):
    """A text must be embedded, and no provider is configured or its key is missing."""

    provider: str
    reason: str
    remedy: str

    def sentence(self) -> str:
        return f"no embedding from provider '{self.provider}': {self.reason}"

    @property
    def hint(self) -> str | None:
        return self.remedy

    def details(self) -> dict[str, Json]:
        return {"provider": self.provider}


@dataclass(eq=False)
class EmbeddingModelMismatch(BadRequest):
    """The stored vectors are from another model than the configured one, so distances would be meaningless."""

    required: str
    configured: str

    def sentence(self) -> str:
        return f"the stored vectors are from model '{self.required}', but the embedding client uses '{self.configured}'"

    @property
    def hint(self) -> str | None:
        where = "OMNIGRAPH_EMBED_MODEL, or the profile of the graph's provider"
        return f"choose the model '{self.required}' ({where}), or pass the vector itself"


# --- not found --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class GraphNotFound(NotFound):
    """No graph at this address."""

    uri: str
    reason: str = "there is no __manifest"

    def sentence(self) -> str:
        return f"no graph at '{self.uri}': {self.reason}"

    @property
    def hint(self) -> str | None:
        return "check the path, or create the graph with `omnigraph init --schema <file.pg> <uri>`"


@dataclass(eq=False)
class BranchNotFound(NotFound):
    """No branch of this name."""

    branch: str
    remedy: str = "list the branches with `omnigraph branch list`"

    def sentence(self) -> str:
        return f"branch '{self.branch}' not found"

    @property
    def hint(self) -> str | None:
        return self.remedy

    def details(self) -> dict[str, Json]:
        return {"branch": self.branch}


@dataclass(eq=False)
class CommitNotFound(NotFound):
    """No commit of this id on any live branch."""

    commit: str

    def sentence(self) -> str:
        return f"commit '{self.commit}' not found"


@dataclass(eq=False)
class TypeNotFound(NotFound):
    """No node or edge type of this name."""

    type_name: str
    remedy: str | None = None

    def sentence(self) -> str:
        return f"type '{self.type_name}' not found"

    @property
    def hint(self) -> str | None:
        return self.remedy


class SchemaContractMissing(NotFound):
    """A graph whose accepted schema source is gone."""

    _hint = "restore _schema.pg, _schema.ir.json and __schema_state.json from a backup"


# --- conflicts --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class AlreadyInitialized(Conflict):
    """`init` on a root that is or was in use."""

    uri: str

    def sentence(self) -> str:
        return f"graph already initialized or initialization metadata exists at '{self.uri}'"

    @property
    def hint(self) -> str | None:
        return "open it instead, or choose another address; --force only replaces schema files that a failed init left"


@dataclass(eq=False)
class InitializationClaimed(Conflict):
    """Another process is creating a graph here, or died while it did."""

    uri: str
    attempt_id: str

    def sentence(self) -> str:
        return f"initialization of '{self.uri}' is claimed by attempt {self.attempt_id}"

    @property
    def hint(self) -> str | None:
        return "wait until it is done; if no other process is running, delete __init_claim.json and try again"


@dataclass(eq=False)
class ExpectedVersionMismatch(Conflict):
    """Another writer published this table after it was read. Nothing was published."""

    table_key: str
    expected: int
    actual: int

    def sentence(self) -> str:
        return (
            f"stale view of '{self.table_key}': expected manifest table version {self.expected} "
            f"but current is {self.actual} — refresh and retry"
        )


@dataclass(eq=False)
class ReadSetChanged(Conflict):
    """What this operation read has changed before its first effect. Nothing was changed."""

    member: str
    expected: str | None = None
    actual: str | None = None

    def sentence(self) -> str:
        return f"read set changed: {self.member} was {self.expected or 'absent'} and is now {self.actual or 'absent'}"

    @property
    def hint(self) -> str | None:
        return "read again and retry"


@dataclass(eq=False)
class RowLevelCasContention(Conflict):
    """The publish lost against concurrent writers too often. Nothing was published."""

    branch: str
    attempts: int

    def sentence(self) -> str:
        spent = f"exhausted {self.attempts - 1} retries against concurrent writers"
        return f"manifest publish on branch '{self.branch}' {spent}"

    @property
    def hint(self) -> str | None:
        return "retry; nothing was published"


@dataclass(eq=False)
class KeyConflict(Conflict):
    """A strict insert met an id that exists. Nothing was written."""

    table_key: str
    id: str | None = None

    def sentence(self) -> str:
        kind, _, name = self.table_key.partition(":")
        which = f"id '{self.id}'" if self.id is not None else "this id"
        return f"{kind} type '{name}' already has {which}"

    @property
    def hint(self) -> str | None:
        return "use merge mode to replace existing entities"


@dataclass(eq=False)
class BranchExists(Conflict):
    """A branch of this name exists, or its name overlaps with a live one."""

    branch: str
    existing: str

    def sentence(self) -> str:
        if self.branch == self.existing:
            return f"branch '{self.branch}' already exists"
        shared = f"overlaps with live branch '{self.existing}'"
        return f"branch '{self.branch}' {shared}: one name is a path prefix of the other"

    @property
    def hint(self) -> str | None:
        return "choose another name"


@dataclass(eq=False)
class BranchReplaced(Conflict):
    """The branch was deleted and made again under the same name while it was read."""

    name: str

    def sentence(self) -> str:
        return f"branch '{self.name}' was deleted and created again while it was read"

    @property
    def hint(self) -> str | None:
        return "read again: the new branch has other rows"


@dataclass(eq=False)
class GraphReplaced(Conflict):
    """Another graph was made at the address of the one that this handle was opened on."""

    uri: str

    def sentence(self) -> str:
        return f"the graph at '{self.uri}' was replaced by another one since it was opened"

    @property
    def hint(self) -> str | None:
        return "open it again; nothing was written"


@dataclass(eq=False)
class BranchHasDependants(Conflict):
    """A branch that other branches were made from or read through."""

    branch: str
    dependants: tuple[str, ...]

    def sentence(self) -> str:
        return f"branch '{self.branch}' has dependants: {', '.join(self.dependants)}"

    @property
    def hint(self) -> str | None:
        return "delete the dependants first"

    def details(self) -> dict[str, Json]:
        return {"branch": self.branch, "dependants": list(self.dependants)}


class SchemaContractDrift(Conflict):
    """The three accepted schema files disagree with each other."""

    _hint = "restore _schema.pg, _schema.ir.json and __schema_state.json from the same accepted schema"


class SchemaApplyInProgress(Conflict):
    """The schema lock branch exists."""

    _hint = "wait until the schema change is finished"


class TableDrift(Conflict):
    """The newest version of a table is not the published one, and no sidecar explains it."""

    _hint = "look at it with `omnigraph repair`"


class LeaseLost(Conflict):
    """The lease expired or was taken over before the publish. Nothing was published."""

    _hint = "retry"


class LeaseTimeout(Conflict):
    """Another writer holds the lease longer than we may wait."""

    _hint = "retry later; the holder may be a long write"


@dataclass(eq=False)
class PreconditionFailed(Conflict):
    """The head of the branch is not the commit that the caller expected."""

    branch: str
    expected: str
    actual: str | None = None

    def sentence(self) -> str:
        return (
            f"precondition failed on branch '{self.branch}': expected head {self.expected}, "
            f"actual {self.actual or 'absent'}"
        )


# --- format and corruption --------------------------------------------------------------------------------


@dataclass(eq=False)
class FormatTooOld(Conflict):
    """A graph of an earlier internal schema version."""

    uri: str
    stamp: int
    written_by: str

    def sentence(self) -> str:
        return f"graph '{self.uri}' has internal schema version {self.stamp} ({self.written_by}); this release serves 4"

    @property
    def hint(self) -> str | None:
        return (
            "rebuild it: export with the release that wrote it, `omnigraph init`, `omnigraph load --mode overwrite`; "
            "data, vectors and blobs survive, history and branches do not"
        )


@dataclass(eq=False)
class FormatTooNew(Conflict):
    """A graph of a later internal schema version."""

    uri: str
    stamp: int

    def sentence(self) -> str:
        return f"graph '{self.uri}' has internal schema version {self.stamp}, newer than this release, which serves 4"

    @property
    def hint(self) -> str | None:
        return "upgrade omnigraph to a release that serves this version"


@dataclass(eq=False)
class FormatStampUnreadable(Internal):
    """A stamp that is present and not a number."""

    uri: str
    raw: str

    def sentence(self) -> str:
        return f"graph '{self.uri}' carries an unreadable internal schema version {self.raw!r}"


@dataclass(eq=False)
class Corrupt(Internal):
    """Something on disk breaks a rule of the storage format."""

    path: str
    reason: str

    def sentence(self) -> str:
        return f"corrupt storage at '{self.path}': {self.reason}"

    @property
    def hint(self) -> str | None:
        return "nothing was changed; restore the file from a backup or another replica"


# --- the rest ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class HistoricalVersionReclaimed(Gone):
    """The version that a snapshot names was removed by clean-up."""

    path: str
    version: int

    def sentence(self) -> str:
        return f"version {self.version} of '{self.path}' was reclaimed"


@dataclass(eq=False)
class ResourceLimitExceeded(LimitExceeded):
    """A stated limit would be passed; nothing was changed."""

    resource: str
    limit: int
    actual: int

    def sentence(self) -> str:
        return f"resource limit exceeded: {self.resource} limit is {self.limit}, actual {self.actual}"


@dataclass(eq=False)
class SyncFailed(Unreachable):
    """The disk did not accept a file that had to be durable. The write was not confirmed."""

    path: str
    reason: str

    def sentence(self) -> str:
        return f"cannot make '{self.path}' durable: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "check the disk; the write was not confirmed"


@dataclass(eq=False)
class CommitNotDurable(Unreachable):
    """A commit is visible, but may not be on disk yet: a power cut could undo it."""

    commit_id: str
    reason: str

    def sentence(self) -> str:
        return f"commit {self.commit_id} is visible but not durable: {self.reason}"

    @property
    def hint(self) -> str | None:
        return (
            "check the disk, then look for the commit with `omnigraph commit show`; do not write it again before that"
        )


@dataclass(eq=False)
class EmbeddingProviderFailed(Unreachable):
    """The embedding provider refused, did not answer in time, or its answer is not an embedding."""

    provider: str
    status: int | None
    reason: str

    def sentence(self) -> str:
        status = "" if self.status is None else f" (HTTP {self.status})"
        return f"embedding provider '{self.provider}' failed{status}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "check the provider and its key, or pass the vector itself"

    def details(self) -> dict[str, Json]:
        facts: dict[str, Json] = {"provider": self.provider, "status": self.status}
        return {"embedding_provider": {name: value for name, value in facts.items() if value is not None}}


@dataclass(eq=False)
class RecoveryRequired(OmniGraphError):
    """An interrupted write must be resolved first, and could not be resolved here."""

    operation_id: str
    reason: str

    def sentence(self) -> str:
        return f"recovery required for operation {self.operation_id}: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "reopen the graph read-write; do not retry blindly"


@dataclass(eq=False)
class OutcomeUnknown(OmniGraphError):
    """A write may or may not have happened. Keep every file; the next open resolves it."""

    operation: str
    reason: str

    def sentence(self) -> str:
        return f"outcome of {self.operation} is unknown: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "reopen the graph and look at the commit list before retrying"


@dataclass(eq=False)
class InitializationIndeterminate(OmniGraphError):
    """The creation of a graph failed, and it is unknown whether the graph exists."""

    uri: str
    reason: str

    def sentence(self) -> str:
        return f"initialization of '{self.uri}' has an unknown outcome: {self.reason}"

    @property
    def hint(self) -> str | None:
        return "keep every file; open the graph to see whether it exists before you try again"
