"""The handle: which graph, which branch, who writes, and the accepted schema. Every method of `Graph` stands on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from omnigraph import history
from omnigraph.graph.gate import Gate
from omnigraph.model.errors import BranchNotFound
from omnigraph.model.identifiers import MAIN, normalize_branch
from omnigraph.storage import AcceptedSchema, ContractFiles, GraphStorage, accept_now, files_stamp, read_files

if TYPE_CHECKING:
    from omnigraph.graph.reading import Reader
    from omnigraph.history import Reference
    from omnigraph.language.schema import Catalog
    from omnigraph.policy import ActionName


class Kept:
    """What all handles of one graph share: the schema as it was last read, and the engine that answers queries."""

    def __init__(self) -> None:
        self.contract: tuple[tuple[tuple[int, ...], ...] | None, ContractFiles, AcceptedSchema] | None = None
        self.reader: Reader | None = None


class Handle:
    """One graph, bound to one branch and to who asks."""

    def __init__(
        self,
        storage: GraphStorage,
        branch: str = MAIN,
        actor: str | None = None,
        *,
        gate: Gate | None = None,
        kept: Kept | None = None,
    ) -> None:
        self._storage = storage
        self._branch = branch
        self._actor = actor
        self._gate = gate or Gate(actor)
        self._kept = kept or Kept()

    def _beside(self, branch: str) -> Self:
        """Another handle on the same graph, of the same caller."""
        return type(self)(self._storage, branch, self._actor, gate=self._gate, kept=self._kept)

    def _allow(self, action: ActionName, *, branch: str | None = None, target_branch: str | None = None) -> None:
        """Every method that acts asks here first, with names in their one form. Raises PolicyDenied."""
        if self._gate.authorizer is not None:
            self._gate.require(action, branch=branch, target_branch=target_branch)

    def authorize(
        self,
        action: ActionName,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
    ) -> None:
        """Asks the policy for something without doing it. Every method asks for itself; a server asks early, too.

        >>> graph.authorize("change", branch="main")

        Raises PolicyDenied, and PolicyEvaluationFailed if the policy could not decide.
        """
        self._gate.require(action, branch=_tidy(branch), target_branch=_tidy(target_branch), query=query)

    def allows(
        self,
        action: ActionName,
        *,
        branch: str | None = None,
        target_branch: str | None = None,
        query: str | None = None,
        on_some_branch: bool = False,
    ) -> bool:
        """Whether the policy would allow something. Without a policy everything is allowed.

        With `on_some_branch` the question is whether there is a branch at all on which it would.

        >>> graph.allows("schema_apply", target_branch="main")
        True

        Raises PolicyEvaluationFailed if the policy could not decide.
        """
        if on_some_branch:
            asked = self._gate.samples(action)
            return any(self.allows(action, branch=one, target_branch=other, query=query) for one, other in asked)
        decision = self._gate.decide(action, branch=_tidy(branch), target_branch=_tidy(target_branch), query=query)
        return decision is None or decision.allowed

    @property
    def uri(self) -> str:
        """The address of the graph, in full.

        >>> graph.uri
        '.../people.omni'
        """
        return self._storage.root.uri

    @property
    def branch_name(self) -> str:
        """The branch that this handle reads and writes unless a call names another.

        >>> graph.branch_name
        'main'
        """
        return self._branch

    @property
    def actor(self) -> str | None:
        """Who makes the commits of this handle.

        >>> og.open("people.omni", actor="ada").actor
        'ada'
        """
        return self._actor

    @property
    def schema(self) -> AcceptedSchema:
        """The schema of this handle's branch: source text, compiled form, catalog. On main it is the accepted one.

        >>> [entity.name for entity in graph.schema.catalog.entities]
        ['Person', 'Knows']

        Raises SchemaContractDrift if the schema files were changed by hand.
        """
        self._allow("read")
        return history.schema_on(self._storage, self._branch, self._accepted)

    @property
    def _accepted(self) -> AcceptedSchema:
        """The accepted schema, for methods that have asked already."""
        stamp, known = files_stamp(self._storage.objects), self._kept.contract
        if known is not None and stamp is not None and stamp == known[0]:
            return known[2]
        files = read_files(self._storage.objects)
        accepted = known[2] if known is not None and known[1] == files else accept_now(self._storage.objects, files)
        # The stamp was taken before the files were read: a change in between makes the next look read them again.
        self._kept.contract = (stamp, files, accepted)
        return accepted

    @property
    def schema_source(self) -> str:
        """The text of the accepted schema.

        >>> print(graph.schema_source)
        node Person { name: String @key  age: I32? }
        edge Knows: Person -> Person
        """
        return self.schema.source

    def _catalog_of(self, branch: str) -> Catalog:
        """What a branch declares: the schema of its head."""
        return history.schema_on(self._storage, branch, self._accepted).catalog

    def _named(self, branch: str | None) -> str:
        return self._branch if branch is None else normalize_branch(branch)

    def _reference(self, text: str | None) -> Reference:
        """What a text names; None is the head of this handle's branch, whatever the branch is called."""
        with self._hiding_names():
            return history.resolve(self._storage, f"branch:{self._branch}" if text is None else text, self._branch)

    def _require_branch(self, name: str) -> None:
        """Raises for a branch that does not exist, and suggests the one that was probably meant."""
        with self._hiding_names():
            try:
                self._storage.manifest.load(name)
            except BranchNotFound as error:
                from omnigraph.language import did_you_mean

                near = did_you_mean(name, history.branch_list(self._storage))
                raise BranchNotFound(name, near or error.remedy) from None

    @contextmanager
    def _hiding_names(self) -> Iterator[None]:
        """An error about a name that is not there suggests another one to those alone who may list the names."""
        try:
            yield
        except (BranchNotFound, history.TagNotFound, history.UnknownReference) as error:
            if not self._gate.may_list_names():
                del error.remedy  # what is left is the advice that everyone gets
            raise


def _tidy(branch: str | None) -> str | None:
    """A branch that a question names, in its one form; None stays none."""
    return None if branch is None else normalize_branch(branch)
