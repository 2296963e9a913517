"""Parameters that several operations share."""

from __future__ import annotations

from omnigraph.server.http import Parameter

BRANCH = Parameter("branch")
LIMIT = Parameter("limit", "uint", nullable=False)
CURSOR = Parameter("cursor", nullable=False)
KIND = Parameter("kind", enum=("node", "edge"), enum_name="EntityKindOutput", repeats=True, nullable=False)
TYPE = Parameter("type", repeats=True, nullable=False)
OP = Parameter("op", enum=("insert", "update", "delete"), enum_name="ChangeOpOutput", repeats=True, nullable=False)
DATES = Parameter("dates", enum=("raw", "iso"), nullable=False)
IF_COMMIT = Parameter("Omnigraph-If-Graph-Commit", place="header", required=True, nullable=False)
KEY = Parameter("Idempotency-Key", place="header", nullable=False)
TIMEOUT = Parameter("Omnigraph-Timeout", place="header", nullable=False)
PREFER = Parameter("Prefer", place="header", nullable=False)
