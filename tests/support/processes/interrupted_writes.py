"""Writes that stop where a test wants them to: sidecar written, some tables committed, published or not.

Run as a program it recovers a graph, so that a test can kill it on the way. Exits with 3 on a typed error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from omnigraph.model.errors import OmniGraphError
from omnigraph.model.identifiers import MAIN, TableKey, new_ulid
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.manifest import CommitIdentity, Published, PublishPlan, TablePin, head_of, publish
from omnigraph.storage.restore import version_row
from omnigraph.storage.tables import StagedEffect, stage_append
from omnigraph.write.recovery.recover import recover_graph
from omnigraph.write.recovery.sidecars import Sidecar, SidecarPin, write_sidecar

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
PERSON, KNOWS = TableKey("node", "Person"), TableKey("edge", "Knows")
BOTH = (PERSON, KNOWS)


def interrupted(
    storage: GraphStorage,
    *,
    branch: str = MAIN,
    commits: Sequence[TableKey] = BOTH,
    exact: bool = True,
    kind: str = "Mutation",
    name: str = "Eve",
    **members: Any,
) -> Sidecar:
    """A write of one Person and one Knows that got as far as committing the tables in `commits`."""
    loaded = storage.manifest.load(branch)
    effects = [_staged(storage, pin, branch, name) for pin in loaded.state.pins() if pin.table_key in BOTH]
    sidecar = Sidecar(
        operation_id=new_ulid(),
        started_at=time.time_ns() // 1000,
        branch=None if branch == MAIN else branch,
        actor_id="act-eve",
        writer_kind=kind,
        tables=tuple(_pin(storage, effect, exact) for effect in effects),
        identity=CommitIdentity(actor_id="act-eve", py={"kind": "mutation"}) if exact else None,
        head=head_of(loaded) if exact else None,
        **members,
    )
    write_sidecar(storage.objects, sidecar)
    for effect in effects:
        if effect.pin.table_key in commits:
            storage.table_commits.commit(effect)
    return sidecar


def move_on(storage: GraphStorage, version: int, name: str) -> None:
    """One more version of main's Person table on top of this one: some writers made several in one write."""
    shown = next(pin for pin in storage.manifest.load(MAIN).state.pins() if pin.table_key == PERSON)
    pin = TablePin(PERSON, shown.location, version, None, shown.row_count)
    storage.table_commits.commit(_staged(storage, pin, MAIN, name))


def publish_of(storage: GraphStorage, sidecar: Sidecar) -> Published:
    """The publish that an interrupted write had before it."""
    locations = storage.manifest.load(sidecar.branch_name).state.locations
    changes = tuple(
        version_row(storage, pin.table_key, locations[pin.table_key], pin.table_branch, pin.post_commit_pin)
        for pin in sidecar.tables
    )
    lineage = sidecar.identity or CommitIdentity(actor_id=sidecar.actor_id)
    return publish(storage.manifest, PublishPlan(branch=sidecar.branch_name, changes=changes, identity=lineage))


def _staged(storage: GraphStorage, pin: TablePin, branch: str, name: str) -> StagedEffect:
    if branch != MAIN and pin.lineage != branch:
        storage.lineages.create(pin.location, branch, pin.lineage, pin.version)
        pin = TablePin(pin.table_key, pin.location, pin.version, branch, pin.row_count)
    table = storage.tables.open(pin)
    row: dict[str, object] = {"id": name, "name": name, "age": 1}
    if pin.table_key == KNOWS:
        row = {"id": new_ulid(), "src": name, "dst": name, "since": None}
    return stage_append(table, pa.Table.from_pylist([row], schema=table.schema), storage.root.lance_options)


def _pin(storage: GraphStorage, effect: StagedEffect, exact: bool) -> SidecarPin:
    return SidecarPin(
        table_key=str(effect.pin.table_key),
        table_path=storage.root.join(effect.pin.location),
        expected_version=effect.pin.version,
        post_commit_pin=effect.commits_as,
        table_branch=effect.pin.lineage,
        transaction_id=effect.transaction_id if exact else None,
    )


def content(storage: GraphStorage, branch: str = MAIN) -> dict[str, list[str]]:
    """The ids that a reader of the branch sees, by table; edges by their source."""
    column = {"node": "id", "edge": "src"}
    return {
        str(pin.table_key): sorted(
            storage.tables.open(pin).read([column[pin.table_key.kind]])[column[pin.table_key.kind]].to_pylist()
        )
        for pin in storage.manifest.load(branch).state.pins()
    }


def main() -> int:
    try:
        for resolution in recover_graph(open_storage(sys.argv[1], durability="os")):
            print(resolution.outcome)
    except OmniGraphError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
