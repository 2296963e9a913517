"""Policy: who may do what. A bundle is read, compiled to Cedar, and asked; `Graph` asks before it acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.policy.actions import Action as Action
    from omnigraph.policy.actions import ActionName as ActionName
    from omnigraph.policy.actions import ResourceKind as ResourceKind
    from omnigraph.policy.authorizer import Authorizer as Authorizer
    from omnigraph.policy.authorizer import Decision as Decision
    from omnigraph.policy.authorizer import Policy as Policy
    from omnigraph.policy.authorizer import PolicyRequest as PolicyRequest
    from omnigraph.policy.authorizer import ReadOnlyAuthorizer as ReadOnlyAuthorizer
    from omnigraph.policy.bundle import Bundle as Bundle
    from omnigraph.policy.bundle import Rule as Rule
    from omnigraph.policy.bundle_file import parse_bundle as parse_bundle
    from omnigraph.policy.bundle_file import read_bundle as read_bundle
    from omnigraph.policy.cases import CaseMismatch as CaseMismatch
    from omnigraph.policy.cases import PolicyCase as PolicyCase
    from omnigraph.policy.cases import read_cases as read_cases
    from omnigraph.policy.cases import run_cases as run_cases
    from omnigraph.policy.cedar import CedarPolicy as CedarPolicy
    from omnigraph.policy.cedar import compile_policy as compile_policy
    from omnigraph.policy.errors import InvalidPolicy as InvalidPolicy
    from omnigraph.policy.errors import PolicyDenied as PolicyDenied
    from omnigraph.policy.errors import PolicyEvaluationFailed as PolicyEvaluationFailed
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "actions": ("Action", "ActionName", "ResourceKind"),
            "authorizer": ("Authorizer", "Decision", "Policy", "PolicyRequest", "ReadOnlyAuthorizer"),
            "bundle": ("Bundle", "Rule"),
            "cases": ("CaseMismatch", "PolicyCase", "read_cases", "run_cases"),
            "cedar": ("CedarPolicy", "compile_policy"),
            "errors": ("InvalidPolicy", "PolicyDenied", "PolicyEvaluationFailed"),
            "bundle_file": ("parse_bundle", "read_bundle"),
        },
    )
