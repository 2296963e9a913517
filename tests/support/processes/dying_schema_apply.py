"""A program that changes the schema of a graph and dies where its environment says: `uri`, text, `hard` or `soft`."""

from __future__ import annotations

import sys

from omnigraph.graph import Graph

if __name__ == "__main__":
    uri, text, mode = sys.argv[1:4]
    Graph.open(uri).apply_schema(text, allow_data_loss=mode == "hard", message="dying")
    print("done", flush=True)
