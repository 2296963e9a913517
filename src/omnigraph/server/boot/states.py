"""Runtime states: whether callers must say who they are, and whether the server may start like this at all."""

from __future__ import annotations

import logging

from omnigraph.server.auth import TokenSet
from omnigraph.server.boot.launch import BootRefused, Launch
from omnigraph.server.observe import event
from omnigraph.server.serving import Serving


def is_open_state(serving: Serving, tokens: TokenSet, launch: Launch) -> bool:
    """True for a server that asks nobody for a token. Raises BootRefused for a state that is not one."""
    if len(tokens):
        if not serving.has_policy:
            event("default-deny: no policy is configured, so callers may only read", level=logging.WARNING)
        return False
    if serving.has_policy:
        raise BootRefused(
            "a policy file is configured but no bearer tokens are, so every request would 401",
            "configure tokens: `serve --token-file FILE`, or OMNIGRAPH_SERVER_BEARER_TOKENS_FILE",
        )
    if not launch.unauthenticated:
        raise BootRefused(
            "neither bearer tokens nor a policy are configured",
            "configure them, or pass --unauthenticated to let everyone on this machine do everything",
        )
    if not launch.is_loopback:
        raise BootRefused(
            f"a server without tokens listens on this machine only, and '{launch.host}' is not on it",
            "bind 127.0.0.1, or configure bearer tokens",
        )
    event("UNAUTHENTICATED: everyone who reaches this address may do everything", level=logging.WARNING)
    return True
