"""A minimal writer for storage tests: every commit adds one Person and one Knows edge, so a reader can tell half of it.

Run as a program it publishes a number of commits and prints the ids that were acknowledged, one per line.
"""

from __future__ import annotations

import sys

import pyarrow as pa

from omnigraph.model.identifiers import TableKey, new_ulid
from omnigraph.storage import GraphStorage, open_storage
from omnigraph.storage.manifest import CommitIdentity, Published, PublishPlan, TablePin, VersionIs, head_of, publish
from omnigraph.storage.tables import stage_append

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
PERSON, KNOWS = TableKey("node", "Person"), TableKey("edge", "Knows")


def write_pair(storage: GraphStorage, branch: str = "main", name: str | None = None) -> Published:
    """One commit with one row in each table, by the rules: lease, stage, fork, table commits, one publish."""
    name = name or new_ulid()
    with storage.leases.hold(branch, wait_s=600) as lease:
        loaded = storage.manifest.load(branch)
        pins = {pin.table_key: pin for pin in loaded.state.pins()}
        changes = []
        for key, row in ((PERSON, _person(name)), (KNOWS, _knows(name))):
            pin = _writable(storage, pins[key], branch)
            table = storage.tables.open(pin)
            rows = pa.Table.from_pylist([row], schema=table.schema)
            changes.append(storage.table_commits.commit(stage_append(table, rows, storage.root.lance_options)))
        plan = PublishPlan(
            branch=branch,
            changes=tuple(changes),
            requirements=(head_of(loaded), *(VersionIs(str(key), pins[key].version) for key in (PERSON, KNOWS))),
            identity=CommitIdentity(actor_id=name),
        )
        return publish(storage.manifest, plan, fence=lease.check)


def _writable(storage: GraphStorage, pin: TablePin, branch: str) -> TablePin:
    """The pin on the branch's own lineage; the first touch of a table on a branch forks it."""
    if branch == "main" or pin.lineage == branch:
        return pin
    storage.lineages.create(pin.location, branch, pin.lineage, pin.version)
    return TablePin(pin.table_key, pin.location, pin.version, branch, pin.row_count)


def _person(name: str) -> dict[str, object]:
    return {"id": name, "age": 1, "name": name}


def _knows(name: str) -> dict[str, object]:
    return {"id": new_ulid(), "src": name, "dst": name, "since": None}


def main() -> None:
    uri, branch, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    storage = open_storage(uri, durability="os")
    for _ in range(count):
        print(write_pair(storage, branch).commit.commit_id, flush=True)


if __name__ == "__main__":
    main()
