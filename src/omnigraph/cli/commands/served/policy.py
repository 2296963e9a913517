"""`omnigraph policy`: check, test and explain a policy, applied to a cluster or in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli.catalogue import Flag
from omnigraph.cli.frame import OmniGroup, json_option
from omnigraph.cli.session import Session
from omnigraph.model.late_dataclass import dataclass

if TYPE_CHECKING:
    from omnigraph.model.errors import Json
    from omnigraph.policy import Action, CedarPolicy, ResourceKind

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_GRAPH = "default"


@dataclass(frozen=True, slots=True)
class Which:
    """Which policy is meant: a file, or one of a cluster by its name or by what it is bound to."""

    file: str | None
    bundle: str | None
    server_scope: bool

    def __post_init__(self) -> None:
        if self.file is not None and self.bundle is not None:
            raise click.UsageError("--policy names a file and --bundle a policy of a cluster; pass one of them")


@click.group("policy", cls=OmniGroup)
def command() -> None:
    """Check, test and explain policies."""


def _which(command: F) -> F:
    for decorate in (
        click.option("--server-scope", is_flag=True, help="The policy of the server, not one of a graph."),
        click.option("--bundle", metavar="NAME", help="The policy of this name, where the cluster has several."),
        click.option("--policy", "file", metavar="FILE", help="A policy file; no cluster is needed then."),
    ):
        command = decorate(command)
    return command


@command.command("validate", example="omnigraph policy validate --policy policies/catalog.yaml")
@_which
@json_option
@click.pass_obj
def validate(session: Session, file: str | None, bundle: str | None, server_scope: bool) -> None:
    """Check that a policy is valid.

    A policy of the server is checked as one: it may only have rules about the server.
    """
    name, policy = _compiled(session, Which(file, bundle, server_scope))
    actors = sorted(policy.bundle.actors)
    session.output.show(
        {
            "bundle": name,
            "kind": policy.kind,
            "actors": [*actors],
            "rules": [rule.id for rule in policy.bundle.rules],
        },
        [f"policy valid: bundle '{name}' [{len(actors)} actors]"],
    )


@command.command("test", example="omnigraph policy test --tests cases.yaml --policy policies/catalog.yaml")
@click.option("--tests", required=True, metavar="FILE", help="The cases: who asks what, and what is expected.")
@_which
@json_option
@click.pass_obj
def test(session: Session, tests: str, file: str | None, bundle: str | None, server_scope: bool) -> None:
    """Ask a policy every question of a file and compare its answers with those that are expected."""
    from omnigraph.cli.inputs import read_text
    from omnigraph.cli.refusals import ReportedFailure
    from omnigraph.policy import read_cases, run_cases

    _, policy = _compiled(session, Which(file, bundle, server_scope))
    cases = read_cases(read_text(tests), tests)
    mismatches = run_cases(policy, cases)
    failures: list[Json] = [{"id": each.case.id, "expect": each.case.expect, "got": each.got} for each in mismatches]
    lines = [str(each) for each in mismatches] or [f"policy tests passed: {len(cases)} cases"]
    session.output.show({"ok": not mismatches, "cases": len(cases), "mismatches": failures}, lines)
    if mismatches:
        raise ReportedFailure(f"{len(mismatches)} of {len(cases)} policy tests failed")


@command.command(
    "explain", example="omnigraph policy explain --actor ann --action change --branch main --policy p.yaml"
)
@click.option("--actor", required=True, metavar="ACTOR", help="Who asks.")
@click.option("--action", "word", required=True, metavar="ACTION", help="What for: read, change, branch-merge …")
@click.option("--branch", metavar="BRANCH", help="The branch that the request is about.")
@click.option("--target-branch", metavar="BRANCH", help="The branch that would be made, merged into or deleted.")
@click.option("--stored-query", metavar="NAME", help="For invoke-query: the stored query.")
@_which
@json_option
@click.pass_obj
def explain(
    session: Session,
    actor: str,
    word: str,
    branch: str | None,
    target_branch: str | None,
    stored_query: str | None,
    file: str | None,
    bundle: str | None,
    server_scope: bool,
) -> None:
    """Show how a policy decides one request, and by which rule. A denial is an answer, not a failure."""
    from omnigraph.policy import PolicyRequest

    action = _action(word)
    _, policy = _compiled(session, Which(file, bundle, server_scope))
    request = PolicyRequest(action=action, branch=branch, target_branch=target_branch, query=stored_query)
    decision = policy.authorize(actor, request)
    document: dict[str, Json] = {
        "decision": "allow" if decision.allowed else "deny",
        "actor": actor,
        "action": str(action),
        "branch": branch,
        "target_branch": target_branch,
        "matched_rule": decision.rule,
        "message": decision.message,
        "hint": _other_branch(action, branch, target_branch),
    }
    shown = {name: value for name, value in document.items() if value is not None}
    session.output.show(shown, (f"{name}: {value}" for name, value in shown.items()))


def _other_branch(action: Action, branch: str | None, target_branch: str | None) -> str | None:
    """Rules narrow an action by its branch or by its target: a request that gives the other one meets no such rule."""
    given = {"branch": branch, "target_branch": target_branch}
    wanted = action.scope_key
    if wanted is None or given[wanted] is not None or not any(given.values()):
        return None
    return f"rules look at the {wanted.replace('_', ' ')} of {action}: give --{wanted.replace('_', '-')}"


def _action(word: str) -> Action:
    """An action as the command line writes it, or as files do."""
    from omnigraph.policy import Action

    known = {str(action): action for action in Action}
    if word.replace("-", "_") not in known:
        listed = ", ".join(name.replace("_", "-") for name in known)
        raise click.UsageError(f"'{word}' is not an action; known are {listed}")
    return known[word.replace("-", "_")]


def _compiled(session: Session, which: Which) -> tuple[str, CedarPolicy]:
    """The policy and its name, compiled for what it is bound to."""
    from omnigraph.policy import compile_policy, parse_bundle, read_bundle

    graph = session.flags.get(Flag.GRAPH)
    if which.file is not None:
        bundle = read_bundle(which.file)
        rules = {rule.resource_kind for rule in bundle.rules}
        is_server = which.server_scope or bundle.kind == "server" or (bundle.kind is None and rules == {"server"})
        name = which.file
    else:
        from omnigraph.cluster import choose_policy

        chosen = choose_policy(
            session.serving_snapshot().policies, name=which.bundle, graph=graph, server=which.server_scope
        )
        name, is_server, bundle = chosen.name, chosen.is_for_server, parse_bundle(chosen.source, chosen.name)
    kind: ResourceKind = "server" if is_server else "graph"
    return name, compile_policy(bundle, graph or DEFAULT_GRAPH, kind=kind, file=name)
