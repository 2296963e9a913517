"""The published type-error codes, each with its rule in one line. A code never changes its meaning."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T1": "a binding names no node type",
    "T2": "a property match names no property",
    "T3": "a literal does not fit the property it is matched with or assigned to",
    "T4": "a traversal names no edge type",
    "T5": "a variable's type does not fit this end of the edge",
    "T6": "a property access on an unbound variable, or of no such property",
    "T7": "the sides of a test, or a parameter and its place, have incompatible types",
    "T8": "an aggregate of something that it cannot aggregate",
    "T9": "a block without a variable of the outside, or an item that cannot stand beside an aggregate",
    "T10": "a mutation names no type",
    "T11": "a mutation names no property, or tests a Blob",
    "T12": "an insert misses a required property or endpoint",
    "T13": "a property is assigned twice",
    "T14": "a variable that must be a parameter is none",
    "T15": "wrong hop bounds, or wrong arguments of nearest",
    "T16": "an update of an edge type",
    "T17": "an order by nearest without limit",
    "T18": "an alias as sort key beside nearest",
    "T19": "wrong arguments of search or fuzzy",
    "T20": "wrong arguments of match_text or bm25",
    "T21": "wrong arguments of rrf, or an order by rrf without limit",
    "T22": "an undirected traversal of an edge whose ends have different types",
    "T23": "a wrong use of an edge variable",
    "T24": "a Blob is read by a query",
    "T90": "two output columns have the same name",
    "T91": "no output column has this name",
    "T92": "not something to sort by",
    "T93": "the arms of rrf rank different variables",
    "D2": "a mutation mixes inserts or updates with deletes",
}
