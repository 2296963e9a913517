"""The face for Spark users: `format("omnigraph")`, views for SQL, loads of DataFrames. Start with `session`."""

from omnigraph.spark.frames import load, session, stop_session
from omnigraph.spark.read_commit import pin
from omnigraph.spark.views import create_views, register

__all__ = ["create_views", "load", "pin", "register", "session", "stop_session"]
