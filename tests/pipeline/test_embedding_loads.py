"""Embedding on write inside of Spark's tasks: the vectors of the local engine, whenever the provider was chosen."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from omnigraph.embeddings import config_from_profile
from omnigraph.graph import Graph
from omnigraph.pipeline.spark.task_environment import driver_settings, use_settings
from omnigraph.write.intake.line_files import line_source
from support.loads.both_engines import exported

SCHEMA = """
node Doc { slug: String @key  body: String?  emb: Vector(8)? @embed("body") }
node Strict { slug: String @key  body: String  emb: Vector(4) @embed("body") }
"""
VARIABLES = (
    "OMNIGRAPH_EMBED_PROVIDER",
    "OMNIGRAPH_EMBEDDINGS_MOCK",
    "OMNIGRAPH_EMBED_MODEL",
    "OMNIGRAPH_EMBED_BASE_URL",
)


@pytest.fixture(autouse=True)
def _nobody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def source(tmp_path: Path) -> Any:
    records = [{"type": "Doc", "data": {"slug": f"d{n}", "body": f"text number {n % 7}"}} for n in range(40)]
    records += [{"type": "Strict", "data": {"slug": f"s{n}", "body": f"strict {n}"}} for n in range(20)]
    records += [{"type": "Doc", "data": {"slug": "given", "body": "b", "emb": [1.0, 0, 0, 0, 0, 0, 0, 0]}}]
    records += [{"type": "Doc", "data": {"slug": "null", "body": None}}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return line_source(tmp_path / "in.jsonl", split_bytes=700)


@pytest.mark.parametrize("provider", ["mock", "offline"])
def test_a_load_on_spark_embeds_as_the_local_engine_does(
    provider: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", provider)  # the session runs already
    found = {}
    for engine in ("local", "spark"):
        graph = Graph.init(str(tmp_path / engine), SCHEMA, durability="os")
        assert graph.load(source(tmp_path), mode="append", engine=engine, spark=spark).engine == engine
        found[engine] = exported(graph)
    assert found["spark"] == found["local"]
    vectors = {each["data"]["slug"]: each["data"]["emb"] for each in found["spark"]}
    assert vectors["d1"] == vectors["d8"] != vectors["d2"]
    assert (vectors["given"][0], vectors["null"]) == (1.0, None)


def test_a_load_on_spark_embeds_with_the_provider_of_its_handle(spark: Any, tmp_path: Path) -> None:
    found = {}
    for engine in ("local", "spark"):
        Graph.init(str(tmp_path / engine), SCHEMA, durability="os")
        graph = Graph.open(str(tmp_path / engine), embedding=config_from_profile({"kind": "offline"}))
        graph.load(source(tmp_path), mode="append", engine=engine, spark=spark)
        found[engine] = exported(graph)
    assert found["spark"] == found["local"]
    assert all(each["data"]["emb"] for each in found["spark"] if each["data"]["slug"] != "null")


def test_tasks_embed_nothing_when_the_driver_chose_nobody(spark: Any, tmp_path: Path) -> None:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    lines = [b'{"type": "Doc", "data": {"slug": "a", "body": "b"}}']
    graph.load(lines, mode="append", engine="spark", spark=spark)
    assert [each["data"]["emb"] for each in exported(graph)] == [None]


def test_the_key_of_a_provider_travels_only_when_that_provider_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    monkeypatch.setenv("GEMINI_API_KEY", "two")
    monkeypatch.setenv("AWS_REGION", "here")
    settings = driver_settings()
    assert settings["AWS_REGION"] == "here"
    assert not {"OPENAI_API_KEY", "GEMINI_API_KEY"} & set(settings)
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "gemini")
    settings = driver_settings()
    assert settings["GEMINI_API_KEY"] == "two"
    assert "OPENAI_API_KEY" not in settings


def test_a_workers_own_environment_is_back_after_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "the machine's")
    monkeypatch.setenv("AWS_REGION", "there")
    before = dict(os.environ)
    with use_settings({"AWS_REGION": "here", "OMNIGRAPH_EMBED_PROVIDER": "mock"}):
        assert (os.environ["AWS_REGION"], os.environ["OMNIGRAPH_EMBED_PROVIDER"]) == ("here", "mock")
        assert "OMNIGRAPH_EMBED_MODEL" not in os.environ
    assert dict(os.environ) == before
