"""The command line: a thin face over `omnigraph.graph`. Start at `main.run`, then read `catalogue`."""
