"""Policy tests: requests with the decision that is expected, kept beside a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from omnigraph.model.late_dataclass import dataclass
from omnigraph.policy.actions import Action
from omnigraph.policy.authorizer import Authorizer, PolicyRequest
from omnigraph.policy.strict_yaml import Member, read_document, require_version

Expected = Literal["allow", "deny"]
CASE = ("id", "actor", "action", "branch", "target_branch", "query", "expect")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCase:
    """One request, who makes it, and what the policy should say."""

    id: str
    actor: str
    request: PolicyRequest
    expect: Expected


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMismatch:
    """A case that the policy decides the other way."""

    case: PolicyCase
    got: Expected

    def __str__(self) -> str:
        return f"{self.case.id}: expected {self.case.expect.capitalize()} but got {self.got}"


def read_cases(text: str | bytes, file: str = "policy tests") -> list[PolicyCase]:
    """The cases of a file: `version: 1` and a list of `cases`. Raises InvalidPolicy with the case that is wrong."""
    members = read_document(text, file).members(("version", "cases"), ("version", "cases"))
    require_version(members)
    cases = [_case(item) for item in members["cases"].items()]
    for case_id, count in Counter(case.id for case in cases).items():
        if count > 1:
            members["cases"].at(f"case '{case_id}'").fail("two cases have this id")
    return cases


def _case(item: Member) -> PolicyCase:
    members = item.members(CASE, ("id", "actor", "action", "expect"))
    optional = {name: members[name].text() for name in ("branch", "target_branch", "query") if name in members}
    action = Action(members["action"].one_of([str(action) for action in Action]))
    return PolicyCase(
        id=members["id"].text(),
        actor=members["actor"].text(),
        request=PolicyRequest(action=action, **optional),
        expect="allow" if members["expect"].one_of(("allow", "deny")) == "allow" else "deny",
    )


def run_cases(policy: Authorizer, cases: Sequence[PolicyCase]) -> list[CaseMismatch]:
    """The cases that the policy decides otherwise than expected. All are run."""
    mismatches = []
    for case in cases:
        got: Expected = "allow" if policy.authorize(case.actor, case.request).allowed else "deny"
        if got != case.expect:
            mismatches.append(CaseMismatch(case=case, got=got))
    return mismatches
