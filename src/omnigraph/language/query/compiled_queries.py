"""Compiled queries, kept: a text that is asked again is not compiled again while the schema stays."""

from __future__ import annotations

import threading
from collections import OrderedDict

from omnigraph.language.query.compile import CompiledQuery, UnknownQuery, compile_query, parse_queries
from omnigraph.language.query.declarations import QueryKind
from omnigraph.language.query.params import refuse_shadowed_params
from omnigraph.language.schema import Catalog

KEPT_MAX = 512

_lock = threading.Lock()
_kept: OrderedDict[tuple[str, str | None, int], tuple[Catalog, CompiledQuery]] = OrderedDict()
"""By text, name and catalog. A catalog is kept with its queries, so its id stays its own."""


def compile_call(
    text: str, catalog: Catalog, kind: QueryKind, *, query_name: str | None, stated: frozenset[str]
) -> CompiledQuery:
    """The query that a call means. `stated` are the options that the call gives: none may be one of its parameters."""
    try:
        compiled = _compiled(text, catalog, query_name).expect(kind)
    except UnknownQuery:
        for declaration in parse_queries(text).declarations:
            refuse_shadowed_params(declaration.params, stated & {"query_name"})
        raise
    refuse_shadowed_params(compiled.params, stated)
    return compiled


def _compiled(text: str, catalog: Catalog, query_name: str | None) -> CompiledQuery:
    key = (text, query_name, id(catalog))
    with _lock:
        known = _kept.get(key)
        if known is not None:
            _kept.move_to_end(key)
            return known[1]
    compiled = compile_query(text, catalog, name=query_name)
    with _lock:
        _kept[key] = (catalog, compiled)
        if len(_kept) > KEPT_MAX:
            _kept.popitem(last=False)
    return compiled
