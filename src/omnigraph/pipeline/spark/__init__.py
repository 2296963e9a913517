"""Running on Spark: Java, the session, kernels as tasks, and their progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.pipeline.spark.java import JavaMissing as JavaMissing
    from omnigraph.pipeline.spark.java import SparkMasterUnusable as SparkMasterUnusable
    from omnigraph.pipeline.spark.java import SparkUnreachable as SparkUnreachable
    from omnigraph.pipeline.spark.run_kernel import SparkJobFailed as SparkJobFailed
    from omnigraph.pipeline.spark.run_kernel import attempt as attempt
    from omnigraph.pipeline.spark.run_kernel import collect as collect
    from omnigraph.pipeline.spark.run_kernel import run as run
    from omnigraph.pipeline.spark.run_kernel import warm_session as warm_session
    from omnigraph.pipeline.spark.spark_session import running_session as running_session
    from omnigraph.pipeline.spark.spark_session import session as session
    from omnigraph.pipeline.spark.spark_session import stop_session as stop_session
    from omnigraph.pipeline.spark.stage_progress import Amount as Amount
    from omnigraph.pipeline.spark.stage_progress import Stage as Stage
    from omnigraph.pipeline.spark.stage_progress import StageReport as StageReport
    from omnigraph.pipeline.spark.stage_progress import report_stage as report_stage
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "java": (
                "JavaMissing",
                "SparkMasterUnusable",
                "SparkUnreachable",
            ),
            "run_kernel": (
                "SparkJobFailed",
                "attempt",
                "collect",
                "run",
                "warm_session",
            ),
            "spark_session": (
                "running_session",
                "session",
                "stop_session",
            ),
            "stage_progress": (
                "Amount",
                "Stage",
                "StageReport",
                "report_stage",
            ),
        },
    )
