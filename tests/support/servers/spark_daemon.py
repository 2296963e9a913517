"""Spark's daemon of Python workers, with the libraries that every worker imports in it already: workers are its forks.

A session that a test process starts uses it (`spark.python.daemon.module`), because the tests start many workers.
"""

from __future__ import annotations

import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
