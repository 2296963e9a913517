"""LanceDB: text, vector and hybrid search over the people, with its own indexes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.peers.data import BenchData
from bench.peers.harness import Ask, main
from bench.peers.workloads import TEXTS


class LanceDb:
    """One table with a text index. Vectors are searched without an index, so that its answers are exact as ours are."""

    def prepare(self, data: BenchData) -> None:
        import lancedb
        from lancedb.index import FTS, BTree

        if data.store("lancedb.done").exists():
            return
        table = lancedb.connect(str(data.store("lancedb"))).create_table("people", data.people, mode="overwrite")
        table.create_index("about", config=FTS(with_position=False))
        table.create_index("name", config=BTree())
        data.store("lancedb.done").touch()

    def open(self, data: BenchData) -> Mapping[str, Ask]:
        import lancedb
        from lancedb.rerankers import RRFReranker

        table = lancedb.connect(str(data.store("lancedb"))).open_table("people")
        names, fuse = data.seed_names, RRFReranker()

        def point(n: int) -> int:
            found = table.search().where(f"name = '{names[n % len(names)]}'").select(["name", "age"]).to_arrow()
            return int(found["age"][0].as_py())

        def text(n: int) -> None:
            table.search(TEXTS[n % len(TEXTS)], query_type="fts").select(["name", "_score"]).limit(10).to_arrow()

        vectors = data.question_vectors

        def vector(n: int) -> None:
            table.search(vectors[n % len(vectors)]).select(["name", "_distance"]).limit(10).to_arrow()

        def hybrid(n: int) -> None:
            question: Any = table.search(query_type="hybrid").vector(vectors[n % len(vectors)])
            question.text(TEXTS[n % len(TEXTS)]).rerank(fuse).limit(10).to_arrow()

        return {"point": point, "text": text, "vector": vector, "hybrid": hybrid}


if __name__ == "__main__":
    main(LanceDb())
