"""The write path: how a change is checked and becomes a graph commit."""

from omnigraph.write.patterns import check_pattern

__all__ = ["check_pattern"]
