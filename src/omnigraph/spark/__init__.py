"""The face for Spark users: `format("omnigraph")`, views for SQL, pins, loads of DataFrames. Start with `register`."""

from omnigraph.spark.frames import load
from omnigraph.spark.read_commit import pin
from omnigraph.spark.views import create_views, register

__all__ = ["create_views", "load", "pin", "register"]
