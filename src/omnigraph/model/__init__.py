"""The shared vocabulary: types, values and their JSON, identifiers, errors.

`types` declares property types, `values` moves between stored values, JSON and text, `identifiers` has ULIDs, table
keys and branch names, and `errors` has every family that a caller can react to.
"""

from omnigraph.model.identifiers import EntityKind, TableKey, new_ulid
from omnigraph.model.types import INTEGER_BOUNDS, PropType, Scalar
from omnigraph.model.values import (
    canonical_text,
    coerce_json,
    coerce_text,
    format_date,
    format_datetime,
    json_value,
    node_id,
    parse_date,
    parse_datetime,
    to_single,
)

__all__ = [
    "INTEGER_BOUNDS",
    "EntityKind",
    "PropType",
    "Scalar",
    "TableKey",
    "canonical_text",
    "coerce_json",
    "coerce_text",
    "format_date",
    "format_datetime",
    "json_value",
    "new_ulid",
    "node_id",
    "parse_date",
    "parse_datetime",
    "to_single",
]
