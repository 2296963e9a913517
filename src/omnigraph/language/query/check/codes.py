"""The published type-error codes, each with its rule in one line. A code never changes its meaning."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "T1": "a node type that does not exist",
    "T2": "a property match with a property that does not exist",
    "T3": "a literal does not fit the property that it is matched with or assigned to",
    "T4": "an edge type that does not exist",
    "T5": "a variable's type does not fit this end of the edge",
    "T6": "a property of an undefined variable, or a property that does not exist",
    "T7": "the two sides of a condition, or a parameter and its use, have incompatible types",
    "T8": "an aggregate of something that it cannot aggregate",
    "T9": "a block that uses no variable from outside, or an item that cannot be combined with an aggregate",
    "T10": "a mutation of a type that does not exist",
    "T11": "a mutation of a property that does not exist, or a condition on a Blob",
    "T12": "an insert without a required property or endpoint",
    "T13": "a property is assigned twice",
    "T14": "a variable where only a parameter is allowed",
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
    "T92": "something that cannot be sorted by",
    "T93": "the two rankings of rrf rank different variables",
    "D2": "a mutation mixes inserts or updates with deletes",
}
