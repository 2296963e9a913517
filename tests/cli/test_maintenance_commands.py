"""Maintenance on the command line: cleanup and repair, what they show, what they ask for, how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance
import pytest

import omnigraph as og


@pytest.fixture
def aged(omnigraph: Any, library: Path) -> Path:
    """A library whose authors have six versions."""
    assert omnigraph("load --data seed.jsonl --mode append lib.omni").exit_code == 0
    with og.open("lib.omni") as graph:
        for year in range(1921, 1925):
            graph.mutate(f'query q() {{ update Author set {{ born: {year} }} where slug = "lem" }}')
    return library


def raw_authors(desk: Path) -> Any:
    with og.open("lib.omni") as graph:
        [pin] = [pin for pin in graph.snapshot().tables if pin.table_key.type_name == "Author"]
        return lance.dataset(f"{graph.uri}/{pin.path}")


def document(outcome: Any, exit_code: int = 0) -> Any:
    assert outcome.exit_code == exit_code, outcome.stderr
    return json.loads(outcome.stdout)


# --- cleanup ----------------------------------------------------------------------------------------------


def test_cleanup_needs_a_policy_shows_first_and_removes_when_confirmed(omnigraph: Any, aged: Path) -> None:
    """`cli-84`"""
    assert omnigraph("cleanup lib.omni").exit_code == 1
    assert "--keep" in omnigraph("cleanup lib.omni").stderr
    preview = omnigraph("cleanup lib.omni --keep 5 --grace 0")
    assert (preview.exit_code, preview.stdout) == (0, "")
    assert "would remove 1 versions" in preview.stderr
    assert "node type 'Author'" in preview.stderr
    assert "→" not in preview.stderr, "nothing is written, so no target is announced"
    done = document(omnigraph("cleanup lib.omni --keep 5 --grace 0 --confirm --json"))
    assert list(done) == [
        "uri",
        "keep_versions",
        "older_than_secs",
        "datasets",
        "since",
        "grace_secs",
        "confirm",
        "manifest",
    ]
    assert (done["keep_versions"], done["older_than_secs"]) == (5, None)
    assert [each["type_key"] for each in done["datasets"]] == ["node:Author", "node:Book", "edge:Cites", "edge:Wrote"]
    assert list(done["datasets"][0])[:4] == ["type_key", "bytes_removed", "old_versions_removed", "error"]
    assert (done["datasets"][0]["old_versions_removed"], done["datasets"][0]["error"]) == (1, None)
    bad = omnigraph("cleanup lib.omni --older-than 1h30m")
    assert (bad.exit_code, bad.stdout) == (1, "")
    assert "1h30m" in bad.stderr


def test_preview_as_json_is_the_same_document_and_removes_nothing(omnigraph: Any, aged: Path) -> None:
    preview = document(omnigraph("cleanup lib.omni --keep 1 --grace 0 --json"))
    assert preview["confirm"] is False
    done = document(omnigraph("cleanup lib.omni --keep 1 --grace 0 --confirm --json"))
    assert done["datasets"] == preview["datasets"]


def test_a_duration_is_a_number_and_a_unit(omnigraph: Any, aged: Path) -> None:
    for text, seconds in (("90", 90), ("90s", 90), ("15m", 900), ("6h", 21_600), ("7d", 604_800), ("2w", 1_209_600)):
        assert document(omnigraph(f"cleanup lib.omni --older-than {text} --json"))["older_than_secs"] == seconds


def test_readers_have_an_hour(omnigraph: Any, aged: Path) -> None:
    done = document(omnigraph("cleanup lib.omni --keep 1 --confirm --json"))
    assert sum(each["old_versions_removed"] for each in done["datasets"]) == 0
    assert done["grace_secs"] == 3600


def test_cleanup_names_its_target_and_says_what_went(omnigraph: Any, aged: Path) -> None:
    outcome = omnigraph("cleanup lib.omni --keep 1 --grace 0 --confirm")
    assert outcome.exit_code == 0
    assert outcome.stderr.startswith("omnigraph cleanup → lib.omni (direct, local)")
    assert "removed" in outcome.stdout
    assert omnigraph("--quiet cleanup lib.omni --keep 1 --grace 0 --confirm").stderr == ""


def test_cleanup_of_a_graph_elsewhere_needs_consent_too(omnigraph: Any, desk: Path) -> None:
    refused = omnigraph("cleanup s3://bucket/g.omni --keep 1 --confirm")
    assert refused.exit_code == 1
    assert "--yes" in refused.stderr


def test_a_table_that_fails_is_reported_and_exits_1(
    omnigraph: Any, aged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(aged.parent))
    from omnigraph.model.errors import OmniGraphError
    from omnigraph.storage.failpoints import Point, armed

    def fail() -> None:
        raise OmniGraphError("the disk is busy")

    with armed(Point.VERSIONS_REMOVED, fail):
        outcome = omnigraph("cleanup lib.omni --keep 1 --grace 0 --confirm --json")
    assert outcome.exit_code == 1
    assert [each["error"] for each in json.loads(outcome.stdout)["datasets"]].count("the disk is busy") == 1
    assert "the disk is busy" in outcome.stderr


# --- repair -----------------------------------------------------------------------------------------------


def test_repair_of_a_clean_graph_does_nothing(omnigraph: Any, aged: Path) -> None:
    """`cli-82`"""
    found = document(omnigraph("repair lib.omni --json"))
    assert list(found) == ["uri", "confirm", "force", "graph_manifest_version", "datasets"]
    assert found["graph_manifest_version"] is None
    assert {(each["classification"], each["action"]) for each in found["datasets"]} == {("no_drift", "no_op")}
    forced = omnigraph("repair lib.omni --force")
    assert (forced.exit_code, forced.stdout) == (2, "")
    assert "--confirm" in forced.stderr


def test_repair_refuses_what_it_cannot_vouch_for_until_it_is_forced(omnigraph: Any, aged: Path, desk: Path) -> None:
    """`cli-83`"""
    raw_authors(desk).delete("slug = 'lem'")
    refused = omnigraph("repair lib.omni --confirm --json")
    [drifted] = [each for each in document(refused, 1)["datasets"] if each["action"] != "no_op"]
    assert (drifted["classification"], drifted["action"], drifted["operations"]) == (
        "suspicious",
        "refused",
        ["Delete"],
    )
    assert drifted["lance_head_version"] == drifted["published_dataset_version"] + 1
    assert "node:Author" in refused.stderr
    forced = document(omnigraph("repair lib.omni --force --confirm --json"))
    assert forced["graph_manifest_version"] is not None
    assert [each["action"] for each in forced["datasets"]].count("forced") == 1


def test_repair_shows_a_compaction_and_publishes_it(omnigraph: Any, aged: Path, desk: Path) -> None:
    raw_authors(desk).optimize.compact_files()
    skipped = document(omnigraph("optimize lib.omni --json"))["datasets"][2]
    assert (skipped["type_key"], skipped["skipped"]) == ("node:Author", "drift_needs_repair")
    assert skipped["lance_head_version"] > skipped["published_dataset_version"]
    shown = omnigraph("repair lib.omni")
    assert shown.exit_code == 0
    assert shown.stderr.startswith("omnigraph repair → lib.omni (direct, local)")
    assert "verified_maintenance preview" in shown.stdout
    assert "verified_maintenance healed" in omnigraph("repair lib.omni --confirm").stdout
    assert "no_drift no_op" in omnigraph("repair lib.omni").stdout
