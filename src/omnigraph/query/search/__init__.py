"""Search: text matching, ranking by text and by vectors. The answers never depend on an index."""

from omnigraph.query.search.fuzzy import fuzzy_matches
from omnigraph.query.search.hits import Hits
from omnigraph.query.search.text import bm25, text_matches
from omnigraph.query.search.vectors import nearest

__all__ = ["Hits", "bm25", "fuzzy_matches", "nearest", "text_matches"]
