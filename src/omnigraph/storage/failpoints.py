"""Failpoints: named places where a test may make the process fail or die. Off unless armed.

A place belongs in the catalogue when the failure matrix has a row for it. `reach` costs one dictionary look-up while
nothing is armed. A child process is armed through its environment:
`OMNIGRAPH_FAILPOINTS="graph_publish.before_commit_append=kill"`; `=kill@3` dies at the third visit.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

ENVIRONMENT_VARIABLE = "OMNIGRAPH_FAILPOINTS"
Action = Literal["raise", "kill", "stop"] | Callable[[], None]
"""Fail, die, be paused (SIGSTOP), or do something else at this place, for example what a competing writer would do."""


class Point(StrEnum):
    """Every place that can fail on purpose. The comment says what is on disk when it is reached."""

    INIT_CLAIMED = "init.after_claim"  # the claim object, nothing else
    INIT_SOURCE_WRITTEN = "init.after_schema_pg_written"  # claim, _schema.pg
    INIT_CONTRACT_WRITTEN = "init.after_schema_contract_written"  # claim, all three schema files
    INIT_TABLES_CREATED = "init.after_tables_created"  # and every table at version 1; still no graph
    INIT_ACK_LOST = "init.manifest_create_ack_lost"  # the graph exists, the caller does not know yet
    LEASE_ACQUIRED = "lease.after_acquire"  # the lease is ours, nothing else
    MANIFEST_COMPACTING = "manifest.before_compaction"  # nothing yet
    MANIFEST_COMPACTED = "manifest.after_compaction"  # __manifest rewritten, same rows
    PUBLISH_LOADED = "publish.load_state_retryable_contention"  # nothing yet; the state was read
    PUBLISH_BEFORE = "graph_publish.before_commit_append"  # table commits may exist; the graph does not show them
    PUBLISH_AFTER = "graph_publish.after_manifest_commit"  # published; the caller does not know yet
    TABLE_STAGED = "table.after_stage"  # data files that nothing refers to
    TABLE_COMMITTING = "table.before_commit"  # the lease and the newest version were looked at for the last time
    TABLE_COMMITTED = "table.after_commit"  # the table has a version that the graph does not show
    FORK_CREATED = "table.after_fork"  # a lineage that no snapshot names
    BRANCH_CREATED = "branch_create.post_native"  # the branch exists
    BRANCH_DELETED = "branch_delete.post_native"  # the branch is gone, its forks are not
    BRANCH_FORKS_DELETING = "branch_delete.before_table_cleanup"  # before each fork is removed
    MUTATION_NOTHING = "mutation.nothing_staged"  # nothing at all: the write matched nothing and is about to say so
    MUTATION_STAGED = "mutation.post_stage_pre_effect_gate"  # staged files of every table; no lease, no sidecar
    MUTATION_FORKED = "mutation.post_fork_pre_commit"  # the first-touch forks; no sidecar yet
    MUTATION_ARMED = "mutation.post_sidecar_pre_table_commit"  # the sidecar; no table moved
    MUTATION_TABLE_COMMITTED = "mutation.post_table_commit"  # sidecar, and one more table moved
    MUTATION_BEFORE_PUBLISH = "mutation.post_finalize_pre_publisher"  # sidecar, every table moved, nothing published
    MERGE_BEFORE_CONFIRM = "branch_merge.post_effects_pre_confirm"  # sidecar, every table moved; not confirmed
    MERGE_CONFIRMED = "branch_merge.post_phase_b_pre_manifest_commit"  # the confirmed sidecar, nothing published
    LOAD_DECODED = "load.after_decode"  # a staging folder with spilled rows; no table is touched
    LOAD_CHECKED = "load.after_checks"  # the same
    LOAD_FRAGMENTS_WRITTEN = "load.after_fragments_written"  # and data files, all of them in the staging folder
    LOAD_UPSERT_WRITTEN = "load.after_upsert_written"  # the files of a merge in the staging folder, none in its table
    LOAD_BEFORE_TABLE_COMMIT = "load.before_table_commit"  # data files moved into one more table
    INDEX_BUILT = "index.after_build"  # one more index in a staging folder; nothing in its table
    INDEX_MOVED = "index.before_table_commit"  # the indexes of one more table in its folder; no version names them
    COLUMNS_WRITTEN = "columns.after_write"  # the files of new columns in a staging folder; none in the table
    ROWS_COPIED = "rows.after_copy"  # a table's rows in a staging folder; none in the table
    SCHEMA_LOCKED = "schema_apply.after_lock"  # the schema lock and its note, nothing else
    SCHEMA_STAGED = "schema_apply.after_stage"  # and the files of every table, in no version; no sidecar
    SCHEMA_ARMED = "schema_apply.post_sidecar_pre_effects"  # and the sidecar; no table moved
    SCHEMA_TABLE_MADE = "schema_apply.post_table_create"  # and one more new table that nothing shows
    SCHEMA_TABLE_COMMITTED = "schema_apply.post_table_commit"  # and one more table moved
    SCHEMA_BEFORE_FILES = "schema_apply.before_staging_write"  # every table done; no schema file is staged
    SCHEMA_FILE_STAGED = "schema_apply.after_one_staging_write"  # and one more schema file staged
    SCHEMA_FILES_STAGED = "schema_apply.after_staging_write"  # and all three; nothing published
    SCHEMA_PUBLISHED = "schema_apply.after_manifest_commit"  # published; the old schema files are still in place
    SCHEMA_FILE_MOVED = "schema_apply.after_rename"  # and one more schema file in its place
    SCHEMA_COLLECTING = "schema_apply.before_collect"  # all files in place; what is dropped for good is still there
    SCHEMA_DONE = "schema_apply.before_unlock"  # and no sidecar; the lock is still there
    COMPACTION_WRITTEN = "compaction.after_write"  # the files of one more table in a staging folder; none in the table
    CLEANUP_CONDEMNED = "cleanup.after_condemn"  # it is written down which versions of a table go; all are there
    CLEANUP_DECIDED = "cleanup.before_versions"  # the same; nobody named one of them meanwhile
    VERSIONS_REMOVED = "cleanup.versions_removed"  # some more version files of a table are gone, what they named is not
    CLEANUP_TABLE = "cleanup.table_gc"  # some more of what removed versions named is gone
    CLEANUP_FORK = "cleanup.reconcile_fork"  # before one more orphan fork is removed
    CLONE_CLAIMED = "clone.after_claim"  # the mark and the lock of a clone at its target, nothing else
    CLONE_FILE_COPIED = "clone.after_file"  # and one more file of a table or of __manifest
    CLONE_TABLE_FILLED = "clone.after_table"  # and one more table with its rows
    CLONE_REPLAYED = "clone.after_commit"  # __manifest, and one more commit of a branch
    CLONE_COPIED = "clone.before_schema_files"  # everything but the schema files: not a graph yet
    CLONE_FILE_WRITTEN = "clone.after_schema_file"  # and one more of them; with _schema.pg it is a graph
    SIDECAR_WRITE = "recovery.sidecar_write"  # nothing of this operation
    SIDECAR_CONFIRM = "recovery.sidecar_confirm"  # every table of a merge moved; its sidecar does not say so yet
    SIDECAR_DELETE = "recovery.sidecar_delete"  # resolved; the sidecar is still there
    SIDECAR_LIST = "recovery.sidecar_list"  # whatever was pending
    ROLL_FORWARD_PUBLISH = "recovery.before_roll_forward_publish"  # every table moved, nothing published
    TABLES_RESTORED = "recovery.post_table_restore_pre_publish"  # tables restored, their versions not published
    RECORD_AUDIT = "recovery.record_audit"  # published or already visible; the audit row is missing
    ORPHAN_AUDIT = "recovery.orphan_discard_audit_append"  # the discard is published; its audit row is missing


class InjectedFault(Exception):
    """Raised by an armed failpoint; stands for an I/O error at that place."""


@dataclass
class _Armed:
    action: Action
    visit: int | None  # None: every visit


_ACTIONS: dict[str, Action] = {"raise": "raise", "kill": "kill", "stop": "stop"}
_lock = threading.Lock()
_armed: dict[Point, _Armed] = {}
_visits: Counter[Point] = Counter()


def reach(point: Point) -> None:
    """Says that the code is at this place. Does nothing unless a test armed it."""
    if not _armed:
        return
    with _lock:
        _visits[point] += 1
        armed = _armed.get(point)
        due = armed is not None and armed.visit in (None, _visits[point])
    if armed is None or not due:
        return
    if callable(armed.action):
        armed.action()
    elif armed.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif armed.action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        raise InjectedFault(str(point))


@contextmanager
def armed(point: Point, action: Action = "raise", *, visit: int | None = 1) -> Iterator[None]:
    """Arms one failpoint for the block: it acts when it is reached for the `visit`-th time; None is every time."""
    with _lock:
        _visits[point] = 0
        _armed[point] = _Armed(action, visit)
    try:
        yield
    finally:
        with _lock:
            _armed.pop(point, None)


def visits(point: Point) -> int:
    """How often a place was reached since it was last armed."""
    return _visits[point]


def arm_from(text: str) -> None:
    """Arms what an environment variable asks for: `name=kill;other=raise@2`."""
    for item in filter(None, text.split(";")):
        name, _, action = item.partition("=")
        kind, _, visit = action.partition("@")
        if kind not in _ACTIONS:
            raise ValueError(f"{ENVIRONMENT_VARIABLE}: unknown action {kind!r} for {name!r}; use raise, kill or stop")
        _armed[Point(name)] = _Armed(_ACTIONS[kind], int(visit or 1))


arm_from(os.environ.get(ENVIRONMENT_VARIABLE, ""))
