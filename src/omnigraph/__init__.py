"""OmniGraph: a typed property graph on Lance, with branches, commits and merges over the whole graph.

import omnigraph as og
graph = og.init("people.omni", schema="people.pg")
graph = og.open("people.omni")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from omnigraph.graph import Graph
    from omnigraph.model.errors import OmniGraphError

__version__ = "0.1.0"
__all__ = ["Graph", "OmniGraphError", "__version__", "init", "open"]


def init(uri: str | PathLike[str], schema: str | PathLike[str], **options: Any) -> Graph:
    """Creates a graph. `schema` is the text of a `.pg` schema, or the path of a file that ends in `.pg`."""
    from omnigraph.graph.graph import Graph, read_schema

    text, file = read_schema(schema)
    return Graph.init(uri, text, schema_file=file, **options)


def open(uri: str | PathLike[str], **options: Any) -> Graph:  # noqa: A001 — the name people expect: `og.open(...)`
    """Opens a graph. See `Graph.open` for the options."""
    from omnigraph.graph import Graph

    return Graph.open(uri, **options)


def __getattr__(name: str) -> Any:
    """`og.Graph` and `og.OmniGraphError` on first use, so that `import omnigraph` stays cheap."""
    if name == "Graph":
        from omnigraph.graph import Graph

        return Graph
    if name == "OmniGraphError":
        from omnigraph.model.errors import OmniGraphError

        return OmniGraphError
    raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
