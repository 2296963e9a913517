"""OmniGraph: a typed property graph on Lance, with branches, commits and merges over the whole graph."""

__version__ = "0.1.0"
