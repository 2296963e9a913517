"""Sidecars: the bytes that other implementations read, and the ones that they write."""

from __future__ import annotations

import json
import pickle
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.model.errors import RecoveryRequired
from omnigraph.storage.failpoints import InjectedFault, Point, armed
from omnigraph.storage.layout import RECOVERY
from omnigraph.storage.manifest import CommitIdentity, HeadIs
from omnigraph.storage.objects.local import LocalObjects
from omnigraph.write.recovery.sidecars import (
    Sidecar,
    SidecarPin,
    SidecarRegistration,
    SidecarTombstone,
    SidecarUnreadable,
    decode,
    delete_sidecar,
    encode,
    list_sidecars,
    read_sidecar,
    sidecar_path,
    write_sidecar,
)
from support.graphs.rust_graphs import ARCHIVES

ID = "01JZ3V7C9J8Q2M4T6W8Y0A1B2C"
PLAIN = Sidecar(
    operation_id=ID,
    started_at=1751200000123456,
    branch="feature",
    actor_id="act-alice",
    writer_kind="Load",
    tables=(
        SidecarPin(
            table_key="node:Person",
            table_path="/data/g.omni/nodes/40d76f1f51639ec0",
            expected_version=5,
            post_commit_pin=6,
            table_branch="feature",
        ),
    ),
)
PLAIN_TEXT = """{
  "schema_version": 2,
  "operation_id": "01JZ3V7C9J8Q2M4T6W8Y0A1B2C",
  "started_at": "1751200000123456",
  "branch": "feature",
  "actor_id": "act-alice",
  "writer_kind": "Load",
  "tables": [
    {
      "table_key": "node:Person",
      "table_path": "/data/g.omni/nodes/40d76f1f51639ec0",
      "expected_version": 5,
      "post_commit_pin": 6,
      "table_branch": "feature"
    }
  ]
}"""
FULL = replace(
    PLAIN,
    writer_kind="SchemaApply",
    tables=(replace(PLAIN.tables[0], confirmed_version=7, transaction_id="f00d"),),
    merge_source_commit_id="01JZ3V7C9J8Q2M4T6W8Y0A1B2D",
    registrations=(SidecarRegistration(table_key="node:Place", table_path="nodes/13b3f5afa0862d1c"),),
    tombstones=(SidecarTombstone(table_key="edge:Old", tombstone_version=9),),
    identity=CommitIdentity(
        commit_id="01JZ3V7C9J8Q2M4T6W8Y0A1B2E", created_at=17, actor_id="ü", merged_parent_id="p", py={"kind": "load"}
    ),
    head=HeadIs(((3, "b203"),), None),
)


@pytest.fixture
def objects(tmp_path: Path) -> LocalObjects:
    return LocalObjects(str(tmp_path), durable=False)


def test_a_plain_sidecar_has_the_bytes_of_the_storage_format() -> None:
    assert encode(PLAIN).decode() == PLAIN_TEXT


@pytest.mark.parametrize("sidecar", [PLAIN, FULL, replace(FULL, branch=None, actor_id=None, tables=())])
def test_what_is_written_is_what_is_read(sidecar: Sidecar) -> None:
    assert decode(ID, encode(sidecar)) == sidecar


RUST = ("armed", "partial", "effects", "published", "merge", "schema-before")


@pytest.mark.parametrize("name", RUST)
def test_a_sidecar_of_the_rust_binary_is_written_back_byte_for_byte(name: str) -> None:
    with tarfile.open(ARCHIVES / f"crash-{name}.tar.gz") as archive:
        (member,) = [one for one in archive if "/__recovery/" in one.name and one.name.endswith(".json")]
        file = archive.extractfile(member)
        assert file is not None
        data = file.read()
    assert encode(decode(Path(member.name).stem, data)) == data


def test_unknown_members_are_kept_at_every_level() -> None:
    members = json.loads(encode(FULL))
    members["later"] = {"a": 1}
    members["py"]["phase"] = "armed"
    members["tables"][0]["hint"] = "x"
    members["tables"][0]["py"]["read_version"] = 5
    assert json.loads(encode(decode(ID, json.dumps(members).encode()))) == members


def test_main_by_name_is_main() -> None:
    members = json.loads(PLAIN_TEXT) | {"branch": "main"}
    assert decode(ID, json.dumps(members).encode()).branch is None


BROKEN = {
    "tx-C09": ({"schema_version": 3}, "schema_version 3"),
    "no-version": ({"schema_version": None}, "no schema_version"),
    "text-version": ({"schema_version": "2"}, "no schema_version"),
    "no-tables": ({"tables": None}, "missing or wrong"),
    "pin-without-key": ({"tables": [{}]}, "missing or wrong"),
    "pin-is-text": ({"tables": ["x"]}, "missing or wrong"),
    "foreign-operation": ({"operation_id": "other"}, "operation 'other'"),
    "unknown-kind": ({"writer_kind": "Repair"}, "'Repair'"),
    "time-is-text": ({"started_at": "soon"}, "missing or wrong"),
}


@pytest.mark.parametrize(("change", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_cannot_be_used_is_named_and_kept(
    objects: LocalObjects, change: dict[str, object], reason: str
) -> None:
    data = json.dumps(json.loads(PLAIN_TEXT) | change).encode()
    objects.write(sidecar_path(ID), data)
    with pytest.raises(SidecarUnreadable, match=reason) as caught:
        list_sidecars(objects)
    assert f"{RECOVERY}/{ID}.json" in str(caught.value)
    assert isinstance(caught.value, RecoveryRequired)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    found = objects.read(sidecar_path(ID))
    assert found is not None
    assert found.data == data


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff"], ids=["tx-C10", "tx-C10-cut", "list", "no-text"])
def test_bytes_that_are_no_sidecar_are_refused_and_kept(objects: LocalObjects, data: bytes) -> None:
    objects.write(sidecar_path(ID), data)
    with pytest.raises(SidecarUnreadable):
        list_sidecars(objects)
    assert objects.exists(sidecar_path(ID))


def test_sidecars_are_listed_in_order_of_time_and_other_files_are_ignored(objects: LocalObjects) -> None:
    assert list_sidecars(objects) == []
    ids = ["01JZ3V7C9J8Q2M4T6W8Y0A1B2D", ID, "01JZ3V7C9J8Q2M4T6W8Y0A1B2B"]
    for one in ids:
        write_sidecar(objects, replace(PLAIN, operation_id=one))
    objects.write(f"{RECOVERY}/note.txt", b"x")
    objects.write(f"{RECOVERY}/below/{ID}.json", b"x")
    assert [one.operation_id for one in list_sidecars(objects)] == sorted(ids)


class Vanishing(LocalObjects):
    """Lists a file whose writer finishes before anyone can read it."""

    def list_names(self, folder: str) -> list[str]:
        names = super().list_names(folder)
        self.delete(sidecar_path(ID))
        return names


def test_a_file_that_vanishes_between_list_and_read_was_finished_by_its_writer(tmp_path: Path) -> None:
    objects = Vanishing(str(tmp_path), durable=False)
    write_sidecar(objects, PLAIN)
    assert list_sidecars(objects) == []
    assert read_sidecar(objects, ID) is None


def test_deleting_twice_succeeds(objects: LocalObjects) -> None:
    write_sidecar(objects, PLAIN)
    delete_sidecar(objects, ID)
    delete_sidecar(objects, ID)
    assert list_sidecars(objects) == []


def test_a_second_write_replaces_the_first(objects: LocalObjects) -> None:
    write_sidecar(objects, PLAIN)
    write_sidecar(objects, FULL)
    assert list_sidecars(objects) == [FULL]


def test_tx_C04_a_failed_write_leaves_no_file(objects: LocalObjects) -> None:
    with armed(Point.SIDECAR_WRITE), pytest.raises(InjectedFault):
        write_sidecar(objects, PLAIN)
    assert list_sidecars(objects) == []


def test_tx_C08_a_listing_that_fails_is_loud(objects: LocalObjects) -> None:
    with armed(Point.SIDECAR_LIST), pytest.raises(InjectedFault):
        list_sidecars(objects)
    assert list_sidecars(objects) == []
