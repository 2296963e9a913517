"""Progress: every stage tells its rows, exactly and while it runs, on both engines."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from omnigraph.graph import Graph
from omnigraph.model.progress import Progress
from omnigraph.pipeline.load import run_load as loading
from omnigraph.pipeline.spark.run_kernel import run
from omnigraph.pipeline.spark.stage_progress import Amount, Stage
from omnigraph.write.intake.line_files import line_source

cloudpickle.register_pickle_by_value(sys.modules[__name__])
SCHEMA = "node P { k: String @key  n: I32? }\nedge K: P -> P { w: I32? }"
PEOPLE = 300
ROWS = 2 * PEOPLE


def source(tmp_path: Path) -> Any:
    records: list[Any] = [{"type": "P", "data": {"k": f"p{n}", "n": n}} for n in range(PEOPLE)]
    records += [{"edge": "K", "from": f"p{n}", "to": "p0", "data": {"w": n}} for n in range(PEOPLE)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return line_source(tmp_path / "in.jsonl", split_bytes=4_000)


def last_of_each(seen: list[Progress]) -> dict[str, Progress]:
    return {step.stage: step for step in seen}


@pytest.mark.parametrize(
    ("engine", "stages"), [("local", ["decode", "check"]), ("spark", ["decode", "check", "write"])]
)
def test_every_stage_of_a_load_ends_with_all_of_its_rows(
    engine: Any, stages: list[str], graph: Graph, tmp_path: Path, request: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    monkeypatch.setattr(loading, "INDEX_FROM_ROWS", PEOPLE)
    items, seen = source(tmp_path), []
    graph.load(items, mode="append", engine=engine, progress=seen.append)
    last = last_of_each(seen)
    assert list(last) == [*stages, "commit", "index"]
    assert {step.rows for step in last.values()} == {ROWS}
    assert all(step.is_done and step.fraction == 1.0 for step in last.values())
    assert (last["decode"].bytes, last["decode"].bytes_total) == (items.size, items.size)
    assert last["decode"].tasks_total == len(items.items) > 4
    assert (last["index"].tasks_total > 1) is (engine == "spark")  # on executors, one task per index
    assert [step.rows for step in seen if step.stage == "decode"] == sorted(
        step.rows for step in seen if step.stage == "decode"
    )


def wait_for(item: tuple[int, str | None]) -> int:
    """Some work; where a file is named, only once it is there."""
    rows, file = item
    deadline = time.monotonic() + 60
    while file is not None and not Path(file).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return rows


def as_rows(result: int) -> Amount:
    return Amount(rows=result)


def test_rows_of_finished_tasks_are_told_while_others_still_run(spark: Any, tmp_path: Path) -> None:
    told_early, seen = tmp_path / "told", []

    def listen(step: Progress) -> None:
        seen.append(step)
        if (step.rows, step.tasks, step.tasks_total) == (30, 2, 3):  # rows and tasks come on two ways
            told_early.touch()

    items = [(10, None), (20, None), (3, str(told_early))]
    stage = Stage(name="work", listener=listen, amount_of=as_rows, rows_total=33)
    assert run(spark, wait_for, items, stage=stage) == [10, 20, 3]
    assert told_early.exists()
    early = next(step for step in seen if step.rows == 30)
    assert early.fraction == pytest.approx(30 / 33)
    assert (seen[-1].rows, seen[-1].tasks) == (33, 3)


def test_a_stage_that_is_over_before_anybody_looks_tells_its_beginning_and_its_end(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.pipeline.spark.stage_progress.POLL_S", 600.0)
    seen: list[Progress] = []
    run(spark, abs, [1, 2, 3], stage=Stage(name="work", listener=seen.append, amount_of=as_rows))
    assert [(step.tasks, step.tasks_total, step.rows) for step in seen] == [(0, 3, 0), (3, 3, 6)]


def fail_once(item: tuple[int, str]) -> int:
    rows, file = item
    if not Path(file).exists():
        Path(file).touch()
        raise RuntimeError("a task that is lost")
    return rows


def test_the_rows_of_an_attempt_that_was_lost_are_not_counted(spark: Any, tmp_path: Path) -> None:
    seen: list[Progress] = []
    stage = Stage(name="work", listener=seen.append, amount_of=as_rows)
    assert run(spark, fail_once, [(5, str(tmp_path / "a")), (6, str(tmp_path / "b"))], stage=stage) == [5, 6]
    assert max(step.rows for step in seen) == seen[-1].rows == 11


def test_a_frame_behind_a_shuffle_tells_its_rows(spark: Any, graph: Graph) -> None:
    import omnigraph.spark as ogs

    seen: list[Progress] = []
    frame = spark.range(40).selectExpr("concat('p', id % 20) as k").distinct()
    ogs.load(frame, graph, mode="append", type="P", progress=seen.append)
    last = last_of_each(seen)
    assert (last["decode"].rows, last["decode"].bytes_total) == (20, None)
    assert last["decode"].is_done


FACTS = [
    (Progress(stage="s"), 0.0, None, None),
    (Progress(stage="s", tasks=1, tasks_total=4, seconds=3.0), 0.25, None, 9.0),
    (Progress(stage="s", tasks=1, tasks_total=4, rows=10, rows_total=100, seconds=2.0), 0.1, 5.0, 18.0),
    (Progress(stage="s", tasks=3, tasks_total=4, rows=10, bytes=1, bytes_total=10, seconds=1.0), 0.1, 10.0, 9.0),
    (Progress(stage="s", tasks=4, tasks_total=4, rows=9, rows_total=10, seconds=3.0), 1.0, 3.0, 0.0),
]


@pytest.mark.parametrize(("step", "fraction", "rate", "left"), FACTS)
def test_how_far_how_fast_and_how_long_follow_from_the_counts(
    step: Progress, fraction: float, rate: float | None, left: float | None
) -> None:
    assert (step.fraction, step.rows_per_s) == (fraction, rate)
    assert step.remaining_s == (None if left is None else pytest.approx(left))
