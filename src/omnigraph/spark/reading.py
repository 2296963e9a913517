"""Reading a type: a plan that names one version of its table, partitions of it, batches that are cast for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from omnigraph.graph import All, Graph, PartitionedRead, Predicate, plan_read
from omnigraph.model.late_dataclass import dataclass
from omnigraph.spark import options as chosen
from omnigraph.spark.boundary import boundary_schema, to_boundary
from omnigraph.spark.filters import predicate_of
from omnigraph.spark.read_commit import pinned_snapshot
from omnigraph.spark.stated_filters import stated_predicate


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What one DataFrame reads: made when it is planned, the same for all of its actions. Picklable."""

    source: PartitionedRead
    columns: tuple[str, ...]
    pushes: bool
    predicates: tuple[Predicate, ...] = ()
    """Of the option `filter`."""

    def schema(self) -> pa.Schema:
        """The columns as Spark sees them."""
        return boundary_schema(self.source.schema(), self.columns)


def read_plan(options: Mapping[str, str]) -> ReadPlan:
    """The plan that the options ask for: the version of the table is fixed here."""
    chosen.check(options, chosen.READ)
    with Graph.open(chosen.graph_uri(options), read_only=True) as graph:
        snapshot = pinned_snapshot(
            graph, branch=options.get("branch"), commit=options.get("commit"), timestamp=options.get("timestamp")
        )
        key = chosen.table_key(options, [pin.table_key for pin in snapshot.tables])
        source = plan_read(graph, snapshot, key)
    table = source.schema()
    columns = boundary_schema(table, chosen.columns(options)).names
    predicates = tuple(stated_predicate(term, table) for term in chosen.filter_terms(options))
    return ReadPlan(source, tuple(columns), chosen.truth(options, "pushdown"), predicates)


class FragmentGroup(InputPartition):
    """The fragments that one task reads."""

    def __init__(self, fragments: tuple[int, ...]) -> None:
        super().__init__(fragments)
        self.fragments = fragments


class TableReader(DataSourceReader):
    """Reads the rows of a plan. It has no `pushFilters`: a session that has not enabled them would refuse the query."""

    def __init__(self, plan: ReadPlan) -> None:
        self.plan = plan
        self.predicates: list[Predicate] = list(plan.predicates)

    def partitions(self) -> Sequence[InputPartition]:
        return [FragmentGroup(group) for group in self.plan.source.partitions()] or [FragmentGroup(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FragmentGroup)
        schema = self.plan.schema()
        predicate = All(tuple(self.predicates)) if self.predicates else None
        # A scan needs at least one column: `count()` counts ids.
        wanted = list(self.plan.columns) or ["id"]
        for batch in self.plan.source.read(partition.fragments, wanted, predicate):
            if batch.num_rows:
                yield to_boundary(batch, schema)


class PushingReader(TableReader):
    """The same, with filters that the storage applies. Needs `spark.sql.python.filterPushdown.enabled`.

    Spark 4.3 plans this once per frame and keeps the filters of the first query for all later ones, so it is right only
    for a frame that is used once. That is why it is off by default.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 — Spark's name
        table = self.plan.source.schema()
        for each in filters:
            predicate = predicate_of(each, table)
            if predicate is None:
                yield each
            else:
                self.predicates.append(predicate)
