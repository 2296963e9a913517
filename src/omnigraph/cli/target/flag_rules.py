"""Flag rules: which global flag applies to which command. Checked first, before config or storage."""

from __future__ import annotations

from collections.abc import Collection

from omnigraph.cli.catalogue import Capability, CommandFacts, Flag

PURPOSE: dict[Flag, str] = {
    Flag.SERVER: "which addresses a server",
    Flag.CLUSTER: "which addresses a cluster",
    Flag.GRAPH: "which selects a graph inside a server or cluster",
    Flag.STORE: "which addresses the storage of one graph",
    Flag.AS: "which names the actor of a direct write",
    Flag.PROFILE: "which selects a scope from the operator configuration",
}

REMEDY: dict[Capability, str] = {
    Capability.ANY: "",
    Capability.SERVED: "pass --server <name|url> or --profile <name>",
    Capability.DIRECT: "pass a storage URI",
    Capability.CONTROL: "pass --cluster <dir|uri> or a cluster profile",
    Capability.DECLARED: "pass --server <name|url> --graph <id>, or --cluster <dir|uri>",
    Capability.LOCAL: "it does not address a graph",
}


def refusal_of(facts: CommandFacts, given: Collection[Flag]) -> str | None:
    """Why the first flag that does not apply is refused, or None when all of them apply."""
    if facts.path == "alias":
        return _alias_refusal(given)
    for flag in Flag:
        if flag in given and flag not in facts.legal:
            return _message(facts, flag)
    return None


def _alias_refusal(given: Collection[Flag]) -> str | None:
    """An alias says itself where it goes, so every flag that says something else is named."""
    order = (Flag.SERVER, Flag.GRAPH, Flag.STORE, Flag.CLUSTER, Flag.PROFILE, Flag.AS)
    named = ", ".join(f"--{flag}" for flag in order if flag in given)
    return f"an alias says itself which server and graph it is for: {named} does not apply" if named else None


def _message(facts: CommandFacts, flag: Flag) -> str:
    message = f"`{facts.label}` is a {facts.capability} command; --{flag}, {PURPOSE[flag]}, does not apply"
    remedy = REMEDY[facts.capability]
    if facts.capability is Capability.DIRECT and Flag.CLUSTER in facts.legal:
        remedy += " or --cluster <dir> --graph <id>"
    return f"{message}: {remedy}" if remedy else message
