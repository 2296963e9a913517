"""Predicates on the columns of a type, for reads in partitions. Values stay values: no SQL text is built from them."""

from omnigraph.storage import All, AnyOf, Compare, IsNull, Not, OneOf, Operator, Predicate, Value

__all__ = ["All", "AnyOf", "Compare", "IsNull", "Not", "OneOf", "Operator", "Predicate", "Value"]
