"""Rows without vectors: those that were there before a property with `@embed` was added. Only writes embed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from omnigraph.model.errors import Json
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass
from omnigraph.write.evolution.table_evolutions import TableEvolution
from omnigraph.write.intake import followers


@dataclass(frozen=True, slots=True)
class RowsWithoutVectors:
    """The stored rows of a type that get a vector property, and no vector in it."""

    key: TableKey
    vector: str
    """The name of the property."""
    rows: int

    @property
    def type(self) -> str:
        return str(self.key)

    def sentence(self) -> str:
        counted = "1 row" if self.rows == 1 else f"{self.rows} rows"
        was, has = ("was", "has") if self.rows == 1 else ("were", "have")
        return (
            f"{counted} of {self.key.type_name} {was} there before {self.vector} and {has} no vector, because only "
            "writes embed"
        )

    @property
    def hint(self) -> str:
        """Lines without the member are loaded as if it had never been stated, so that the text is embedded."""
        without = f"sed -n 's/,\"{self.vector}\":null//p'"
        pipeline = f"omnigraph export --type {self.key.type_name} | {without} | omnigraph load --data - --mode merge"
        return f"with an embedding provider, load them again: {pipeline}"

    def to_json(self) -> dict[str, Json]:
        return {
            "code": "rows_without_vectors",
            "type": self.type,
            "property": self.vector,
            "rows": self.rows,
            "message": self.sentence(),
            "hint": self.hint,
        }


def rows_without_vectors(
    evolutions: Iterable[TableEvolution], rows: Mapping[TableKey, int]
) -> Iterator[RowsWithoutVectors]:
    """Where a new property follows a text that stored rows have, and its values do not come back from the past."""
    for each in evolutions:
        stored = 0 if each.was is None else rows.get(each.was, 0)
        if each.entity is None or not stored:
            continue
        known = {*(each.sources or ()), *(column.name for column in each.filled)}
        for prop, embed in followers(each.entity):
            if prop.name not in known and embed.source in known:
                yield RowsWithoutVectors(each.key, prop.name, stored)
