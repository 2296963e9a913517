"""Boot: from flags and variables to a running server, and everything that changes while it runs."""

from __future__ import annotations

from omnigraph.server.boot.launch import DEFAULT_BIND as DEFAULT_BIND
from omnigraph.server.boot.launch import Launch as Launch
from omnigraph.server.boot.run import run_server as run_server
from omnigraph.server.boot.run import run_worker as run_worker
