"""Commands on a graph: what each prints, beyond the numbered cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_init_json_names_the_graph_and_its_genesis_commit(omnigraph: Any) -> None:
    outcome = omnigraph("init --schema library.pg lib.omni --json")
    commits = json.loads(omnigraph("commit list lib.omni --json").stdout)["commits"]
    assert json.loads(outcome.stdout) == {
        "uri": "lib.omni",
        "graph_commit_id": commits[0]["graph_commit_id"],
        "graph_manifest_version": commits[0]["graph_manifest_version"],
    }


def test_init_does_not_name_its_target_on_stderr(omnigraph: Any) -> None:
    assert omnigraph("init --schema library.pg lib.omni").stderr == ""


def test_init_of_a_schema_that_does_not_compile_shows_the_place_and_creates_nothing(omnigraph: Any, desk: Path) -> None:
    (desk / "broken.pg").write_text("node Person {\n  name: Sting @key\n}\n")
    outcome = omnigraph("init --schema broken.pg g.omni")
    assert outcome.exit_code == 1
    assert "broken.pg:2" in outcome.stderr
    assert not (desk / "g.omni").exists()


def test_init_on_a_server_is_refused(omnigraph: Any) -> None:
    outcome = omnigraph("init --schema library.pg http://h/g")
    assert outcome.exit_code == 1
    assert "direct storage access" in outcome.stderr


def test_init_on_the_relative_path_of_a_cluster_graph_is_refused(
    omnigraph: Any, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "__cluster").mkdir()
    (desk / "__cluster" / "state.json").touch()
    outcome = omnigraph("init --schema library.pg graphs/x.omni")
    assert outcome.exit_code == 1
    assert "cluster apply" in outcome.stderr


def test_snapshot_names_tables_by_the_hash_of_their_type(omnigraph: Any, library: Path) -> None:
    datasets = json.loads(omnigraph("snapshot lib.omni --json").stdout)["datasets"]
    assert [dataset["type_name"] for dataset in datasets] == ["Cites", "Wrote", "Author", "Book"]
    for dataset in datasets:
        folder, _, name = dataset["dataset_path"].partition("/")
        assert (folder, len(name)) == (f"{dataset['entity_kind']}s", 16)


def test_snapshot_of_a_missing_branch_names_it(omnigraph: Any, library: Path) -> None:
    outcome = omnigraph("snapshot lib.omni --branch nope")
    assert outcome.exit_code == 1
    assert "'nope'" in outcome.stderr


def test_reading_a_missing_graph_names_it_and_creates_nothing(omnigraph: Any, desk: Path) -> None:
    outcome = omnigraph("snapshot nowhere.omni --json")
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout)["error"]["code"] == "graph_not_found"
    assert not (desk / "nowhere.omni").exists()


def test_read_commands_leave_the_graph_untouched(omnigraph: Any, library: Path) -> None:
    before = sorted(path.relative_to(library) for path in library.rglob("*"))
    for line in ("snapshot lib.omni", "branch list --uri lib.omni", "commit list lib.omni", "schema show lib.omni"):
        assert omnigraph(line).exit_code == 0
    assert sorted(path.relative_to(library) for path in library.rglob("*")) == before


def test_branch_from_a_missing_one_is_refused_by_name(omnigraph: Any, library: Path) -> None:
    outcome = omnigraph("branch create b --from nope --uri lib.omni")
    assert outcome.exit_code == 1
    assert "'nope'" in outcome.stderr


def test_deleted_branch_is_gone(omnigraph: Any, library: Path) -> None:
    omnigraph("branch create b --uri lib.omni")
    outcome = omnigraph("branch delete b --uri lib.omni --json")
    assert json.loads(outcome.stdout) == {"uri": "lib.omni", "name": "b", "actor_id": None}
    assert omnigraph("branch list --uri lib.omni").stdout == "main\n"
    assert omnigraph("branch delete b --uri lib.omni").exit_code == 1


def test_commit_list_takes_a_limit(omnigraph: Any, library: Path) -> None:
    assert len(omnigraph("commit list lib.omni --limit 1").stdout.splitlines()) == 1
    assert omnigraph("commit list lib.omni --limit 0").exit_code == 2


def test_commit_show_of_a_missing_commit_names_it(omnigraph: Any, library: Path) -> None:
    outcome = omnigraph("commit show 01J9Z8Q5W3V7C2B4N6M8K0H1G3 --uri lib.omni")
    assert outcome.exit_code == 1
    assert "01J9Z8Q5W3V7C2B4N6M8K0H1G3" in outcome.stderr


@pytest.mark.parametrize(("flag", "mode"), [("", "soft"), ("--allow-data-loss", "hard")])
def test_plan_of_a_drop_is_soft_unless_data_loss_is_allowed(
    flag: str, mode: str, omnigraph: Any, library: Path
) -> None:
    document = json.loads(omnigraph(f"schema plan --schema next.pg lib.omni {flag} --json").stdout)
    drops = [step["mode"] for step in document["steps"] if step["kind"] == "drop_property"]
    assert drops == [mode]


def test_plan_of_the_same_schema_has_no_steps(omnigraph: Any, library: Path) -> None:
    outcome = omnigraph("schema plan --schema library.pg lib.omni")
    assert outcome.stdout == "schema plan for lib.omni\nsupported: yes\nno schema changes\n"


def test_plan_with_a_missing_file_names_it(omnigraph: Any, library: Path) -> None:
    outcome = omnigraph("schema plan --schema nowhere.pg lib.omni")
    assert outcome.exit_code == 1
    assert "nowhere.pg" in outcome.stderr


def test_lint_against_a_graph_names_the_graph(omnigraph: Any, library: Path) -> None:
    document = json.loads(omnigraph("lint lib.omni --query library.gq --json").stdout)
    assert document["schema_source"] == {"kind": "graph", "uri": "lib.omni"}


def test_lint_with_a_missing_file_names_it(omnigraph: Any) -> None:
    outcome = omnigraph("lint --schema library.pg --query nowhere.gq")
    assert outcome.exit_code == 1
    assert "nowhere.gq" in outcome.stderr


def test_lint_error_leaves_the_report_on_stdout_and_one_line_on_stderr(omnigraph: Any) -> None:
    outcome = omnigraph("lint --schema library.pg --query unknown_property.gq")
    assert outcome.exit_code == 1
    assert outcome.stdout.startswith("ERROR")
    assert len(outcome.stderr.splitlines()) == 1


def test_version_has_a_json_form(omnigraph: Any) -> None:
    assert list(json.loads(omnigraph("version --json").stdout)) == ["version", "internal_schema_version"]
