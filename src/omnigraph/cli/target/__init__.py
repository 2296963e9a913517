"""What a command acts on: scope flags, the operator's configuration, and when consent is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.cli.target.cluster_paths import refuse_cluster_managed as refuse_cluster_managed
    from omnigraph.cli.target.consent import is_local as is_local
    from omnigraph.cli.target.consent import require_consent as require_consent
    from omnigraph.cli.target.credentials import token_for as token_for
    from omnigraph.cli.target.credentials import write_token as write_token
    from omnigraph.cli.target.flag_rules import refusal_of as refusal_of
    from omnigraph.cli.target.operator_config import Alias as Alias
    from omnigraph.cli.target.operator_config import OperatorConfig as OperatorConfig
    from omnigraph.cli.target.operator_config import Profile as Profile
    from omnigraph.cli.target.operator_config import load_operator_config as load_operator_config
    from omnigraph.cli.target.scope import Address as Address
    from omnigraph.cli.target.scope import ClusterScope as ClusterScope
    from omnigraph.cli.target.scope import Scope as Scope
    from omnigraph.cli.target.scope import ServerScope as ServerScope
    from omnigraph.cli.target.scope import named_server as named_server
    from omnigraph.cli.target.scope import resolve_scope as resolve_scope
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "cluster_paths": ("refuse_cluster_managed",),
            "consent": ("is_local", "require_consent"),
            "credentials": ("token_for", "write_token"),
            "flag_rules": ("refusal_of",),
            "operator_config": ("Alias", "OperatorConfig", "Profile", "load_operator_config"),
            "scope": ("Address", "ClusterScope", "Scope", "ServerScope", "named_server", "resolve_scope"),
        },
    )
