"""Refusals: the errors that the command line itself raises. Everything else comes from below as it is."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.model.errors import BadRequest, Conflict, NotFound


class FlagNotApplicable(BadRequest):
    """A global scope flag that means nothing to this command."""


class AddressConflict(BadRequest):
    """Two ways to name the target that exclude each other."""


class NoGraphAddressed(BadRequest):
    """Neither the command line nor the operator configuration names a target."""


class WrongScope(BadRequest):
    """The target is of a kind that this command cannot work on."""


class UndeclaredName(NotFound):
    """A server, cluster or profile that the operator configuration does not declare."""


class InvalidProfile(BadRequest):
    """A profile that does not bind exactly one server, cluster or store."""


class InvalidOperatorConfig(BadRequest):
    """A config.yaml that cannot be read or does not hold what it must."""


class InvalidCredentials(BadRequest):
    """Credentials that cannot be read, written, or trusted."""


class ConfirmationRequired(BadRequest):
    """A destructive command on a target that is not local, without consent."""


class ClusterManaged(Conflict):
    """A path that a cluster owns; only the cluster's own commands may change it."""


@dataclass(eq=False)
class UnreadableFile(BadRequest):
    """A file named on the command line that cannot be read or written."""

    path: str
    reason: str

    def sentence(self) -> str:
        return f"cannot read '{self.path}': {self.reason}"


@dataclass(eq=False)
class UnwritableFile(BadRequest):
    """A file that the command must write and cannot."""

    path: str
    reason: str

    def sentence(self) -> str:
        return f"cannot write '{self.path}': {self.reason}"


class BlobReadFailed(NotFound):
    """A Blob value that cannot be read where it was looked for."""


class InvalidParams(BadRequest):
    """A query or its parameters, as given on the command line, that cannot be read."""


class ReportedFailure(BadRequest):
    """The command printed its full report on stdout, and the report is bad news: one line on stderr, exit 1."""
