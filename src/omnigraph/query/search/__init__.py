"""Search: text matching, ranking by text and by vectors. The answers never depend on an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.search.fuzzy import fuzzy_matches as fuzzy_matches
    from omnigraph.query.search.hits import Hits as Hits
    from omnigraph.query.search.scoring import Ranking as Ranking
    from omnigraph.query.search.text import bm25 as bm25
    from omnigraph.query.search.text import text_matches as text_matches
    from omnigraph.query.search.vectors import nearest as nearest
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "fuzzy": ("fuzzy_matches",),
            "hits": ("Hits",),
            "scoring": ("Ranking",),
            "text": (
                "bm25",
                "text_matches",
            ),
            "vectors": ("nearest",),
        },
    )
