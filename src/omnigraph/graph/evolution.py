"""Evolution: the methods of `Graph` that change its schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from omnigraph import history
from omnigraph.graph.choices import require_choice
from omnigraph.graph.handle import Handle
from omnigraph.graph.schema_text import compile_schema_text
from omnigraph.model.identifiers import MAIN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph.model.progress import ProgressListener
    from omnigraph.pipeline.evolution import Engine
    from omnigraph.write.evolution import RunTasks, SchemaPlan, SchemaReceipt, Unlocked


class Evolution(Handle):
    """Plan, apply, restore, unlock. Schemas change on main; a branch has the schema of its head."""

    def plan_schema(
        self,
        text: str,
        *,
        file: str | None = None,
        allow_data_loss: bool = False,
        allow_drop: Sequence[str] = (),
        enum_values: Mapping[str, Mapping[str, str]] | None = None,
    ) -> SchemaPlan:
        """The steps from the accepted schema to this text, and what they cost. Changes nothing.

        The options are those of `apply_schema`; `file` is the name that error messages show.

        >>> plan = graph.plan_schema(graph.schema_source.replace("age: I32?", "age: I32?  email: String?"))
        >>> print(plan.render())
        - add property 'Person.email' (String?) on node 'Person'

        Raises CompileError for a text that is not valid, and BadRequest for consent to a drop that does not happen.
        """
        from omnigraph.write.evolution import Consent, plan_change

        self._allow("read")
        consent = Consent(
            allow_data_loss=allow_data_loss, allow_drop=tuple(allow_drop), enum_values=dict(enum_values or {})
        )
        desired = compile_schema_text(text, file)
        pins = {pin.table_key: pin for pin in history.current_snapshot(self._storage, MAIN).tables}
        return plan_change(self._storage, pins, self._accepted, desired, consent)

    def apply_schema(
        self,
        text: str,
        *,
        file: str | None = None,
        allow_data_loss: bool = False,
        allow_drop: Sequence[str] = (),
        enum_values: Mapping[str, Mapping[str, str]] | None = None,
        wait: float = 0.0,
        message: str | None = None,
        engine: Engine = "auto",
        spark: SparkSession | str | None = None,
        progress: ProgressListener | None = None,
    ) -> SchemaReceipt:
        """Gives main this schema, as one commit, or changes nothing. Stored rows are carried over.

        What is dropped stays readable in earlier commits. With `allow_data_loss`, or for an entity that `allow_drop`
        names (`node:Person.age`, `edge:Knows`), it is gone for good, and so is the history of its table. `enum_values`
        names what values that an enum loses become: `{"node:Task.state": {"open": "todo"}}`. `wait` is how many seconds
        to wait for another schema change, and for branches in the way. `engine` says where rows are written: in this
        process (`local`), on Spark, with `spark` as the session or master, or, by default, on Spark when `spark` is
        given or more than `OMNIGRAPH_LOCAL_REWRITE_MAX` bytes (16 GB) are to be written. `progress` is called while
        rows are read or written; what it raises ends the change.

        >>> receipt = graph.apply_schema(graph.schema_source.replace("age: I32?", "age: I64  @default(0)"))
        >>> [step.kind for step in receipt.plan.steps]
        ['change_property_type', 'update_property_metadata']

        Raises CompileError, SchemaChangeUnsupported with every step that cannot be done, SchemaRowsRefused with the
        rows that break the new schema, SchemaBlockedByBranches, SchemaBlockedByTags, SchemaApplyInProgress,
        OpenedReadOnly, and on Spark JavaMissing, SparkMasterUnusable, SparkUnreachable and SparkJobFailed.
        """
        from omnigraph.write.evolution import Consent, SchemaChange, apply_schema

        self._allow("schema_apply", target_branch=MAIN)
        run = _runner(engine, spark)
        consent = Consent(
            allow_data_loss=allow_data_loss, allow_drop=tuple(allow_drop), enum_values=dict(enum_values or {})
        )
        change = SchemaChange(
            desired=compile_schema_text(text, file),
            consent=consent,
            actor_id=self._actor,
            message=message,
            wait_s=wait,
            progress=progress,
            run=run,
        )
        return apply_schema(self._storage, change)

    def restore_schema(
        self,
        entity: str,
        *,
        at: str,
        wait: float = 0.0,
        message: str | None = None,
        engine: Engine = "auto",
        spark: SparkSession | str | None = None,
        progress: ProgressListener | None = None,
    ) -> SchemaReceipt:
        """Brings back a type or a property that was dropped, as it was in an earlier commit, with its data.

        `entity` is `node:Person`, `edge:Knows` or `node:Person.age`; `at` names the commit. A property comes
        back nullable, because entities may have come that never had it. The other options are those of `apply_schema`.

        >>> before = graph.snapshot().commit_id
        >>> dropped = graph.apply_schema("node Person { name: String @key }  edge Knows: Person -> Person")
        >>> restored = graph.restore_schema("node:Person.age", at=before)
        >>> graph.query("query all() { match { $p: Person } return { $p.age } order { $p.age } }").rows()
        [{'p.age': 36}, {'p.age': 45}]

        Raises UnknownReference, TypeNotFound, BadRequest for what was not dropped, HistoricalVersionReclaimed for what
        is gone for good, SchemaRowsRefused for edges whose nodes are gone, and what `apply_schema` raises.
        """
        from omnigraph.write.evolution import SchemaChange, restore_schema

        self._allow("schema_apply", target_branch=MAIN)
        run = _runner(engine, spark)
        past = history.snapshot_at(self._storage, self._reference(at).commit)
        change = SchemaChange(
            desired=compile_schema_text(self._accepted.source),
            actor_id=self._actor,
            message=message,
            wait_s=wait,
            progress=progress,
            run=run,
        )
        return restore_schema(self._storage, entity, past, compile_schema_text, change)

    def unlock_schema(self) -> Unlocked:
        """Removes the lock of a schema change that another program left, and says whose it was.

        A change of ours that died needs nobody: whoever writes next finishes it or takes it back.

        >>> graph.unlock_schema().found
        False

        Raises SchemaApplyInProgress while the change is alive, and OpenedReadOnly.
        """
        from omnigraph.write.evolution import unlock_schema

        self._allow("schema_apply", target_branch=MAIN)
        return unlock_schema(self._storage)


def _runner(engine: Engine, spark: SparkSession | str | None) -> RunTasks:
    """Where the rows of a change are written."""
    from omnigraph.pipeline.evolution import runner_of_rows

    require_choice("engine", engine, ("auto", "local", "spark"))
    return runner_of_rows(engine, spark)
