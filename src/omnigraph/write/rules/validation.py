"""Validation: the one validator of mutations, loads and merges. It looks at the change and asks the view a few
questions; the cost follows the change. An overwrite alone has to look at the edge tables that it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from omnigraph.language.schema import Catalog, EdgeType, NodeType
from omnigraph.write.changes import ChangeSet, TableChange
from omnigraph.write.rules.cardinality import check_cardinality
from omnigraph.write.rules.committed_view import CommittedView
from omnigraph.write.rules.endpoints import check_endpoints
from omnigraph.write.rules.row_violations import RowViolation
from omnigraph.write.rules.uniqueness import check_unique
from omnigraph.write.rules.value_rules import check_values
from omnigraph.write.rules.violations import MAX_ERRORS_DEFAULT, Violation


def validate(
    changes: ChangeSet,
    view: CommittedView,
    catalog: Catalog,
    *,
    max_errors: int = MAX_ERRORS_DEFAULT,
    counts_view: CommittedView | None = None,
) -> list[Violation]:
    """The first violations of a change set, in the order of the checks; none means that it may be written.

    `counts_view` is what `@card` counts on, where that is newer than what the change was made from.
    """
    found = find_violations(changes, view, catalog, counts_view=counts_view)
    return [each.violation for each in islice(found, max_errors)]


def find_violations(
    changes: ChangeSet, view: CommittedView, catalog: Catalog, *, counts_view: CommittedView | None = None
) -> Iterator[RowViolation]:
    """Every violation, found lazily: values, uniqueness, endpoints, cardinality; types by name, nodes before edges."""
    nodes = sorted(catalog.nodes, key=lambda node: node.name)
    edges = sorted(catalog.edges, key=lambda edge: edge.name)
    changed = _changed(nodes, edges, changes)
    for entity, change in changed:
        yield from check_values(entity, change)
    for entity, change in changed:
        yield from check_unique(entity, change, view)
    for edge in edges:
        yield from check_endpoints(edge, changes, view)
    for edge in edges:
        yield from check_cardinality(edge, changes, counts_view or view)


def checked_columns(entity: NodeType | EdgeType, *, values: bool) -> frozenset[str]:
    """The columns that the rules of a type look at; `values` adds those of the rules of single values."""
    names = {"id", "src", "dst"} if isinstance(entity, EdgeType) else {"id"}
    names.update(name for group in entity.unique for name in group)
    if isinstance(entity, NodeType):
        names.update(entity.key or ())
    if values:
        names.update(prop.name for prop in entity.properties if prop.type.enum_values is not None)
        if isinstance(entity, NodeType):
            names.update(bounds.property for bounds in entity.ranges)
            names.update(check.property for check in entity.checks)
    return frozenset(names)


def _changed(
    nodes: list[NodeType], edges: list[EdgeType], changes: ChangeSet
) -> list[tuple[NodeType | EdgeType, TableChange]]:
    entities: list[NodeType | EdgeType] = [*nodes, *edges]
    pairs = ((entity, changes.tables.get(entity.table_key)) for entity in entities)
    return [(entity, change) for entity, change in pairs if change is not None]
