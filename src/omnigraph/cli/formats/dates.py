"""Dates for people: changes have them as they are stored, as numbers; what a person reads has days and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.model.types import Scalar
from omnigraph.model.values import format_date, format_datetime

if TYPE_CHECKING:
    from omnigraph.language.schema import Catalog

_WRITERS: dict[Scalar, Callable[[int], str]] = {Scalar.DATE: format_date, Scalar.DATETIME: format_datetime}


def with_dates(change: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """A change object whose images have days and times as texts."""
    kind, name = change["kind"], change["type"]["name"]
    entity = (catalog.node_types if kind == "node" else catalog.edge_types).get(name)
    if entity is None:
        return dict(change)
    writers = {each.name: _WRITERS[each.type.scalar] for each in entity.properties if each.type.scalar in _WRITERS}
    images = {side: _with_dates(change[side], writers) for side in ("before", "after") if change.get(side)}
    return {**change, **images}


def _with_dates(image: Mapping[str, Any], writers: Mapping[str, Callable[[int], str]]) -> dict[str, Any]:
    properties = {name: _written(value, writers.get(name)) for name, value in image["properties"].items()}
    return {**image, "properties": properties}


def _written(value: Any, write: Callable[[int], str] | None) -> Any:
    if write is None or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_written(each, write) for each in value]
    return write(value)
