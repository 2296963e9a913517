"""The two engines that write the rows of a schema change: this process, and Spark for what is very large. One result.

A change holds main while it writes, and this process writes millions of rows per second: so the size decides alone, and
a session that happens to run draws no small change to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from omnigraph.pipeline.local_limit import local_limit
from omnigraph.write.evolution import RowWork, RunTasks, run_here, write_piece

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from omnigraph.pipeline.spark import Amount
    from omnigraph.storage.bulk import WrittenFragment

LOCAL_MAX_VARIABLE = "OMNIGRAPH_LOCAL_REWRITE_MAX"
LOCAL_MAX_BYTES = 16 * 1024**3
"""Changes that write more run on Spark unless the caller says otherwise: one process would take minutes. On a single
machine Spark is not faster, and the limit is far beyond what most graphs have."""

Engine: TypeAlias = Literal["auto", "local", "spark"]


def runner_of_rows(engine: Engine, spark: SparkSession | str | None) -> RunTasks:
    """Who runs the row tasks of a change. Nothing is started before there are any."""
    if engine == "local":
        return run_here
    at_most = -1 if engine == "spark" or spark is not None else local_limit(LOCAL_MAX_VARIABLE, LOCAL_MAX_BYTES)
    return partial(_run, spark, at_most)


def _run(spark: SparkSession | str | None, here_at_most: int, work: RowWork) -> Sequence[Sequence[WrittenFragment]]:
    if not work.tasks or work.bytes <= here_at_most:
        return run_here(work)
    from omnigraph.pipeline.spark import Stage, run, warm_session

    stage = Stage(
        name="write", listener=work.listener, amount_of=amount_written, rows_total=work.rows, check=work.check
    )
    return run(warm_session(spark, _import_kernel), write_piece, work.tasks, stage=stage)


def amount_written(fragments: Sequence[WrittenFragment]) -> Amount:
    from omnigraph.pipeline.spark import Amount

    return Amount(sum(fragment.rows for fragment in fragments))


def _import_kernel(_: int) -> None:
    """A worker that finds this function has imported this module, and the kernel with it."""
