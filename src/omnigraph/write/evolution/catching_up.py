"""Catching up: a branch that has an older schema than main gets main's, as one commit that changes no entity.

Types that came later are shown as they were made, without rows. Tables whose columns differ are forked, if the branch
only inherits them, and their columns changed as `schema apply` changes them. Types that main dropped go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from omnigraph.history import Continued, continued
from omnigraph.language.schema import EdgeType, NodeType
from omnigraph.model.errors import Conflict
from omnigraph.model.identifiers import MAIN, new_ulid
from omnigraph.model.late_dataclass import dataclass
from omnigraph.storage import AcceptedSchema, GraphStorage, IsNull
from omnigraph.storage.bulk import StagingArea, stage_new_columns, staging_area
from omnigraph.storage.manifest import Change, ManifestState, TablePin, TableRegistration, TableTombstone
from omnigraph.storage.tables import StagedEffect, Table, stage_columns, table_schema
from omnigraph.write.changes import ChangeSet, StagedWork
from omnigraph.write.commit import Prepared, WriteBase, WriteRequest, write
from omnigraph.write.evolution.effects import remove_area
from omnigraph.write.evolution.row_tasks import RowWork, row_tasks, run_here
from omnigraph.write.evolution.table_evolutions import FIXED, Filled, TableEvolution

Stage = Callable[[TablePin], StagedEffect]


def catch_up(storage: GraphStorage, branch: str, schema: AcceptedSchema, actor_id: str | None = None) -> None:
    """Gives a branch a later schema. It does nothing if the branch has it already."""
    with ExitStack() as stack:
        run = _CatchUp(storage, schema, stack)
        request = WriteRequest(
            branch=branch,
            kind="schema_apply",
            writer_kind="Load",
            prepare=run.prepare,
            actor_id=actor_id,
            message=f"the schema of {MAIN}",
            prepares_again=True,
            publishes_empty=True,
        )
        write(storage, request, lambda: schema)


@dataclass(slots=True)
class _CatchUp:
    storage: GraphStorage
    schema: AcceptedSchema
    stack: ExitStack
    area: StagingArea | None = None

    def prepare(self, base: WriteBase) -> Prepared:
        known = continued(self.storage, base.schema, self.schema)
        pins, main = base.pins(), self.storage.manifest.load(MAIN).state
        works, adopted = [], list[Change]()
        for entity in self.schema.catalog.entities:
            pin = pins.get(entity.table_key)
            if pin is None:
                adopted += _shown_empty(main, entity, known)
            else:
                evolution = _evolution(entity, known, self.storage.tables.open(pin))
                if self._changes(evolution, pin):
                    self._refuse_missing(evolution, pin)
                    works.append(StagedWork(entity.table_key, self._staging(evolution)))
        declared = {entity.table_key for entity in self.schema.catalog.entities}
        adopted += [
            TableTombstone(table_key=str(key), table_version=pin.version + 1)
            for key, pin in pins.items()
            if key not in declared
        ]
        return Prepared(ChangeSet(works=tuple(works)), schema=self.schema, adopted=tuple(adopted))

    def _changes(self, evolution: TableEvolution, pin: TablePin) -> bool:
        assert evolution.entity is not None
        stored = self.storage.tables.open(pin).schema
        target = table_schema(evolution.entity)
        same = [(f.name, f.nullable) for f in stored] == [(f.name, f.nullable) for f in target]
        moved = any(new != old for new, old in (evolution.sources or {}).items())
        return not same or moved or bool(evolution.filled)

    def _refuse_missing(self, evolution: TableEvolution, pin: TablePin) -> None:
        """A branch that began before a property was made required may have entities that lack it."""
        assert evolution.entity is not None
        table, filled = self.storage.tables.open(pin), {each.name for each in evolution.filled if each.source is None}
        for field in table_schema(evolution.entity):
            source = (evolution.sources or {}).get(field.name)
            if field.nullable or field.name in filled:
                continue
            missing = pin.row_count if source is None else table.count(IsNull(source))
            if missing:
                raise Conflict(
                    f"{missing} entities of '{pin.table_key}' on the branch have no value for '{field.name}', "
                    "which main requires",
                    "give them one, or delete them, and merge again",
                )

    def _staging(self, evolution: TableEvolution) -> Stage:
        def stage(pin: TablePin) -> StagedEffect:
            assert evolution.entity is not None
            table, target = self.storage.tables.open(pin), table_schema(evolution.entity)
            sources = evolution.sources or {}
            if not evolution.filled:
                return stage_columns(table, target, sources)
            if self.area is None:
                self.area = self.stack.enter_context(staging_area(self.storage, new_ulid()))
                self.stack.callback(remove_area, self.area)
            work = RowWork(tasks=tuple(row_tasks(self.area.files, table, evolution, "columns")), check=self.area.check)
            written = [fragment for piece in run_here(work) for fragment in piece]
            names = [each.name for each in evolution.filled]
            return stage_new_columns(self.area, table, target, sources, names, written)

        return stage


def _evolution(entity: NodeType | EdgeType, known: Continued, table: Table) -> TableEvolution:
    rows, target = table.count(), table_schema(entity)
    sources = {column: column for column in FIXED[entity.kind]}
    filled = []
    for prop in entity.properties:
        source = known.properties.get((entity.table_key, prop.name))
        if source is not None:
            sources[prop.name] = source
            if rows and not prop.type.is_blob and table.schema.field(source).type != target.field(prop.name).type:
                filled.append(Filled(prop.name, source))
        elif prop.default is not None and rows:
            filled.append(Filled(prop.name, default=prop.default))
    return TableEvolution(entity.table_key, "project", entity, entity.table_key, sources, tuple(filled))


def _shown_empty(main: ManifestState, entity: NodeType | EdgeType, known: Continued) -> Iterator[Change]:
    """A type that came later, at the version that it was made with."""
    key = str(entity.table_key)
    was = known.types.get(entity.table_key)
    if was is not None and was != entity.table_key:
        raise Conflict(
            f"the branch has type '{was.type_name}' under its old name, main has it as '{entity.name}'",
            "make a new branch from main and bring the changes there",
        )
    born = [each for each in main.published.values() if each.table_key == key and not each.row_count]
    newest = main.newest.get(key)
    if not born or newest is None:
        raise Conflict(f"the first version of '{key}' is gone", "make a new branch from main")
    yield TableRegistration(table_key=key, location=main.locations[key])
    yield max(born, key=lambda each: each.table_version)
