"""`python -m omnigraph.cli` is the console script `omnigraph`."""

from omnigraph.cli.main import run

run()
