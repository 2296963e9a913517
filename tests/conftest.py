"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from omnigraph.graph import Graph
from omnigraph.storage.leases import s3 as lease_objects
from support.processes.writers import SCHEMA
from support.servers.s3_server import S3Server, seaweedfs
from support.short_leases import SHORT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One outcome per commit: random exploration belongs to `make fuzz`, which draws new cases every time.
settings.register_profile("suite", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("soak", derandomize=False, deadline=None, print_blob=True, max_examples=1_000_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# Every session that tests start: quick to be there rather than fast in the long run.
os.environ.setdefault("OMNIGRAPH_SPARK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
WARM_DAEMON = "support.servers.spark_daemon"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One real S3 server per test process, started when the first test asks for it."""
    with seaweedfs() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The S3 server, with this process's environment pointing at it."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process's leases on S3 last a second: for tests in which another process dies or pauses with one."""
    for name, value in SHORT.items():
        monkeypatch.setattr(lease_objects, name, value)


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.s3)])
def new_root(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """A maker of fresh graph addresses; the test runs once on local disk and once on S3."""
    if request.param == "local":
        return lambda name: str(tmp_path / name)
    server: S3Server = request.getfixturevalue("s3")
    prefix = tmp_path.name
    return lambda name: server.uri(f"{prefix}/{name}")


@pytest.fixture
def graph(tmp_path: Path, request: pytest.FixtureRequest) -> Graph:
    """An empty graph on local disk, with people who know each other or with the `SCHEMA` of the module."""
    return Graph.init(str(tmp_path / "g"), getattr(request.module, "SCHEMA", SCHEMA), durability="os")


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """One JVM per test process, started when the first test asks for it: small, and quick rather than fast."""
    from omnigraph.pipeline.spark.spark_session import session, stop_session

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_SUBMIT_ARGS", f"--conf spark.python.daemon.module={WARM_DAEMON} pyspark-shell")
        environment.setenv(
            "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        )
        started = session("local[2]")
    started.conf.set("spark.sql.shuffle.partitions", "2")
    started.conf.set("spark.sql.adaptive.enabled", "false")
    yield started
    stop_session()


@pytest.fixture
def spark(spark_session: SparkSession) -> SparkSession:
    return spark_session


@pytest.fixture(autouse=True)
def _no_spark_unless_asked_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that another test started must not draw the loads of this one to Spark."""
    if "spark_session" not in request.fixturenames and "pyspark" in sys.modules:
        monkeypatch.setattr("omnigraph.pipeline.load.engines._session_runs", lambda: False)
        monkeypatch.setattr("omnigraph.pipeline.export.run_export.running_session", lambda: None)
