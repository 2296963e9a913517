"""`omnigraph init`: an empty graph from a schema."""

from __future__ import annotations

import click

from omnigraph.cli.frame import OmniCommand, json_option
from omnigraph.cli.session import Session


@click.command("init", cls=OmniCommand, example="omnigraph init --schema library.pg lib.omni")
@click.argument("uri", metavar="URI")
@click.option("--schema", "schema_file", required=True, metavar="FILE", help="The schema, a .pg file.")
@click.option("--force", is_flag=True, help="Replace orphan schema files; never an existing graph.")
@json_option
@click.pass_obj
def command(session: Session, uri: str, schema_file: str, force: bool) -> None:
    """Create an empty graph from a schema.

    Missing directories are created. A graph that exists is never overwritten, not even with --force.
    """
    from omnigraph.cli.inputs import compile_file
    from omnigraph.cli.target import Address, OperatorConfig, refuse_cluster_managed, resolve_scope
    from omnigraph.graph import Graph

    resolve_scope(Address(uri=uri), OperatorConfig(), session.capability, "init")
    refuse_cluster_managed(uri, "init")
    schema = compile_file(session, schema_file)
    with Graph.init(uri, schema.source, schema_file=schema_file, force=force) as graph:
        snapshot = graph.snapshot()
        session.output.show(
            {
                "uri": uri,
                "graph_commit_id": snapshot.commit_id,
                "graph_manifest_version": snapshot.version,
            },
            [f"initialized {uri}"],
        )
