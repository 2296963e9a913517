"""Bundle: the rules of one policy file as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from omnigraph.model.late_dataclass import dataclass
from omnigraph.policy.actions import Action, ResourceKind, ScopeKey

Effect = Literal["allow", "forbid"]
Scope = Literal["any", "protected", "unprotected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Who may, or may not, do what, and on which branches."""

    id: str
    effect: Effect
    groups: tuple[str, ...]
    actions: tuple[Action, ...]
    scope: Scope | None = None
    scope_key: ScopeKey | None = None
    """Which branch of a request `scope` and `branches` look at."""
    branches: tuple[str, ...] = ()
    """Patterns, of which the branch must fit one; `*` stands for any characters. Empty: every branch."""
    queries: tuple[str, ...] = ()
    """The stored queries that a rule on `invoke_query` is about. Empty: all of them."""

    @property
    def resource_kind(self) -> ResourceKind:
        return self.actions[0].resource_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One policy file: groups of actors, protected branches, rules."""

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    protected_branches: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    kind: ResourceKind | None = None
    """What the file says that it is for; None where it does not say."""

    @property
    def actors(self) -> frozenset[str]:
        """Everyone who is in a group. Others are denied whatever they ask."""
        return frozenset(actor for members in self.groups.values() for actor in members)

    def groups_of(self, actor: str) -> list[str]:
        return sorted(name for name, members in self.groups.items() if actor in members)
