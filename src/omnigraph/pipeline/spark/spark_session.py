"""Sessions: the one Spark session of this process, started late, quietly and fast, or the one that is running already.

A session of ours is a JVM beside this process. Its output goes to a file whose tail is shown when a job fails.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.model.errors import OmniGraphError
from omnigraph.pipeline.spark.java import (
    ClassArchive,
    SparkMasterUnusable,
    SparkUnreachable,
    class_archive,
    require_java,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
else:
    SparkSession = Any

MASTER_VARIABLE = "OMNIGRAPH_SPARK"
"""Names the master when a call does not."""
JAVA_OPTIONS_VARIABLE = "OMNIGRAPH_SPARK_JAVA_OPTIONS"
"""Options for the JVM of a session that we start, instead of the lean ones."""
LEAN_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Our JVM schedules tasks and touches no row: what it saves by compiling well and collecting in parallel it would take
from the workers beside it."""
TASK_ATTEMPTS = 4
"""A lost task is tried again; plain `local[N]` would not."""
LOG_TAIL_LINES = 30
CLOSING_S_MAX = 60.0
CONNECT_S_MAX = 5.0

_CONNECT_PACKAGES = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,(\d+))?\])?")
_LOG4J = """status = error
appender.e.type = Console
appender.e.name = e
appender.e.target = SYSTEM_ERR
appender.e.layout.type = PatternLayout
appender.e.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
rootLogger.level = warn
rootLogger.appenderRef.e.ref = e
"""
_log = logging.getLogger("omnigraph.pipeline")


@dataclass(slots=True)
class _Started:
    """A session that this process started and will stop."""

    spark: SparkSession
    scratch: Path
    gateway: Any = None
    archive: ClassArchive | None = None


_lock = threading.RLock()
_ours: _Started | None = None


def session(master: str | None = None) -> SparkSession:
    """The session to work with: one that runs already, else a new one on the master.

    The master is the argument, `OMNIGRAPH_SPARK`, or all cores of this machine: `local[*]`, `local[2]`,
    `local-cluster[2,1,1024]`, `spark://host:7077`, `yarn`, `k8s://…`, or `sc://host` for Spark Connect.
    """
    with _lock:
        running = running_session()
        return running if running is not None else _start(master or os.environ.get(MASTER_VARIABLE) or "local[*]")


def running_session() -> SparkSession | None:
    """The session that this process has, ours or the user's; None when there is none. Does not import pyspark."""
    module = sys.modules.get("pyspark.sql")
    if module is None:
        return _ours.spark if _ours is not None else None
    active: SparkSession | None = module.SparkSession.getActiveSession()
    if active is not None:
        return active
    context = sys.modules["pyspark"].SparkContext._active_spark_context
    return module.SparkSession.builder.getOrCreate() if context is not None else _connected()


def _connected() -> SparkSession | None:
    module = sys.modules.get("pyspark.sql.connect.session")
    return None if module is None else module.SparkSession.getActiveSession()


def stop_session() -> None:
    """Stops the session that we started. One that the user started is left alone."""
    global _ours
    with _lock:
        started, _ours = _ours, None
        if started is not None:
            _stop(started)


def log_tail(lines: int = LOG_TAIL_LINES) -> str:
    """The last lines that the JVM of our session wrote."""
    if _ours is None:
        return ""
    try:
        text = (_ours.scratch / "jvm.log").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


# --- starting ---------------------------------------------------------------------------------------------


def normal_master(master: str) -> str:
    """A local master with retries: `local[2]` becomes `local[2,4]`. Others stay as they are."""
    found = _LOCAL.fullmatch(master)
    if found is None:
        if not re.match(r"(local-cluster\[\d+,\d+,\d+\]|spark://.+|sc://.+|yarn|k8s://.+)$", master):
            raise SparkMasterUnusable(
                f"'{master}' is not a Spark master",
                "use local[*], local[2], local-cluster[2,1,1024], spark://host:7077, yarn, k8s://… or sc://host",
            )
        return master
    threads = found.group(1) or "1"
    count = (os.cpu_count() or 1) if threads == "*" else int(threads)
    return f"local[{count},{found.group(2) or TASK_ATTEMPTS}]"


def require_reachable(master: str) -> None:
    """Raises if no master answers at this address. Spark itself would try for a minute."""
    found = re.match(r"(spark|sc)://([^/;]+)", master)
    if found is None:
        return
    port = 7077 if found.group(1) == "spark" else 15002
    failures = []
    for address in found.group(2).split(","):
        host, _, given = address.rpartition(":") if ":" in address else (address, "", "")
        try:
            socket.create_connection((host, int(given or port)), timeout=CONNECT_S_MAX).close()
        except (OSError, ValueError) as error:
            failures.append(f"{address}: {error}")
        else:
            return
    raise SparkUnreachable(f"no Spark master answers at '{master}' ({'; '.join(failures)})")


def heap_mb() -> int:
    """Rows stay out of the JVM, so it needs little: an eighth of the machine, between one and four gigabytes."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (ValueError, OSError):
        total = 8192
    return max(1024, min(4096, total // 8))


def _start(master: str) -> SparkSession:
    global _ours
    wanted = normal_master(master)
    if master.startswith("sc://"):
        return _connect(master)
    java = require_java()
    require_reachable(master)
    scratch = Path(tempfile.mkdtemp(prefix="omnigraph-spark-"))
    try:
        _ours = _launch(wanted, scratch, java)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    atexit.register(stop_session)
    return _ours.spark


def _launch(master: str, scratch: Path, java: Any) -> _Started:
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYSPARK_PYTHON"] = sys.executable
    import pyspark
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession as Session

    extra = os.environ.get(JAVA_OPTIONS_VARIABLE, LEAN_JAVA_OPTIONS)
    archive = class_archive(java, pyspark.__version__, extra)
    archive.remove_dead_drafts()
    conf = SparkConf().setMaster(master).setAppName("omnigraph")
    for name, value in _settings(master, scratch, f"{archive.options()} {extra}").items():
        conf.set(name, value)
    with (scratch / "jvm.log").open("wb") as log, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="lance is not fork-safe")  # the fork becomes a JVM at once
        gateway = java_gateway.launch_gateway(  # type: ignore[no-untyped-call]
            conf, popen_kwargs={"stdout": log, "stderr": log}
        )
    try:
        spark = Session(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:
        tail = _tail_of(scratch)
        _end(gateway)
        raise SparkMasterUnusable(f"no Spark session on '{master}': {_first_line(error)}", tail or None) from error
    return _Started(spark, scratch, gateway, archive)


def _settings(master: str, scratch: Path, java_options: str) -> dict[str, str]:
    log4j = scratch / "log4j2.properties"
    log4j.write_text(_LOG4J, encoding="utf-8")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{heap_mb()}m",
        "spark.local.dir": str(scratch),
        "spark.speculation": "false",
        "spark.sql.shuffle.partitions": str(3 * (os.cpu_count() or 1)),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        "spark.task.maxFailures": str(TASK_ATTEMPTS),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j} {java_options}".strip(),
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _connect(master: str) -> SparkSession:
    """Spark Connect: the session lives in a server, this process speaks to it."""
    global _ours
    missing = [package for name, package in _CONNECT_PACKAGES.items() if not _has_module(name)]
    if missing:
        raise SparkMasterUnusable(
            f"'{master}' is a Spark Connect server, and this installation cannot connect to one",
            f"pip install 'omnigraph[connect]' (missing: {', '.join(missing)})",
        )
    require_reachable(master)
    from pyspark.sql import SparkSession as Session

    try:
        spark = Session.builder.remote(master).getOrCreate()
    except Exception as error:
        raise SparkMasterUnusable(f"no Spark session on '{master}': {_first_line(error)}") from error
    _ours = _Started(spark, Path(tempfile.mkdtemp(prefix="omnigraph-spark-")))
    atexit.register(stop_session)
    return spark


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


# --- stopping ---------------------------------------------------------------------------------------------


def _stop(started: _Started) -> None:
    try:
        started.spark.stop()
    except (OSError, RuntimeError, OmniGraphError) as error:
        _log.debug("stopping the session: %s", error)
    if started.gateway is not None:
        _end(started.gateway)
        from pyspark import SparkContext

        SparkContext._gateway = SparkContext._jvm = None
    if started.archive is not None:
        started.archive.keep()
    shutil.rmtree(started.scratch, ignore_errors=True)


def _end(gateway: Any) -> None:
    """Ends the JVM: it goes when its standard input closes, and may first write its class archive."""
    gateway.shutdown()
    if gateway.proc.stdin is not None:
        gateway.proc.stdin.close()
    try:
        gateway.proc.wait(CLOSING_S_MAX)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()


def _tail_of(scratch: Path) -> str:
    try:
        text = (scratch / "jvm.log").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-LOG_TAIL_LINES:])


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
