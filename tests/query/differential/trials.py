"""Trials: many random queries over one random graph, each answered by the engine and by the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from language.query.oracle import PINNED, Unanswerable, WholeAnswer, whole_answer
from omnigraph.graph import Graph
from omnigraph.language import CompileError
from omnigraph.language.query import ParameterError, QueryIR, compile_query
from omnigraph.language.query.ir import NOW
from query.differential.compare import difference
from query.differential.coverage import count_features
from query.differential.graphs import RandomGraph, random_graph
from query.differential.loading import load
from query.differential.queries import RandomQuery, random_query
from query.differential.shrink import shrink

MODES = ("indexed", "csr")
EXPLAIN_EVERY = 5
"""So many queries are also explained and analysed."""
Ask = Callable[[RandomQuery, str], list[list[Any]]]


def expected(query: RandomQuery, graph: RandomGraph) -> tuple[QueryIR, WholeAnswer] | None:
    """What the oracle says; None for one that is refused or is too large to think about."""
    try:
        compiled = compile_query(query.text, graph.catalog)
        assert isinstance(compiled.ir, QueryIR)
        return compiled.ir, whole_answer(compiled, query.given, graph.data)
    except (CompileError, ParameterError, Unanswerable):
        return None


def queries_of(graph: RandomGraph, count: int, seen: Counter[str]) -> Iterator[tuple[RandomQuery, WholeAnswer]]:
    """The queries that compile, with their answers; `seen` counts what occurs in them."""
    for seed in range(count):
        seen["drawn"] += 1
        query = random_query(graph, seed)
        answered = expected(query, graph)
        if answered is None:
            continue
        seen["answered"] += 1
        seen["with rows"] += bool(answered[1].kept)
        count_features(answered[0], graph.catalog, query.given, seen)
        yield query, answered[1]


def asker(graph: Graph) -> Ask:
    """Asks the engine, and gives the rows as lists in the order of the columns."""

    def ask(query: RandomQuery, mode: str) -> list[list[Any]]:
        result = graph.query(query.text, {**query.given, NOW: PINNED}, mode=mode)  # type: ignore[arg-type]
        return [[row[name] for name in result.columns] for row in result.rows()]

    return ask


@dataclass(frozen=True)
class Mismatch:
    """A query on which engine and oracle disagree, made small."""

    graph: RandomGraph
    query: RandomQuery
    mode: str
    wrong: str
    ask: Ask

    def __str__(self) -> str:
        answered = expected(self.query, self.graph)
        assert answered is not None
        return "\n".join(
            [
                f"graph seed {self.graph.seed}, mode {self.mode}: {self.wrong}",
                self.query.text,
                f"parameters: {self.query.given}",
                f"oracle: {answered[1].kept[:20]}",
                f"engine: {_attempt(self.ask, self.query, self.mode)}",
                "schema:",
                self.graph.schema,
                *(line.decode().rstrip() for line in self.graph.lines()),
            ]
        )


def mismatch(graph: RandomGraph, query: RandomQuery, answer: WholeAnswer, mode: str, ask: Ask) -> Mismatch | None:
    """The disagreement about one query in one mode, shrunk; an error of the engine is one too."""
    wrong = _wrong(query, answer, mode, ask)
    if wrong is None:
        return None

    def fails(candidate: RandomQuery) -> bool:
        answered = expected(candidate, graph)
        return answered is not None and _wrong(candidate, answered[1], mode, ask) is not None

    small = shrink(query, fails)
    answered = expected(small, graph)
    assert answered is not None
    return Mismatch(graph, small, mode, _wrong(small, answered[1], mode, ask) or wrong, ask)


def _wrong(query: RandomQuery, answer: WholeAnswer, mode: str, ask: Ask) -> str | None:
    try:
        return difference(ask(query, mode), answer)
    except Exception as error:  # whatever the engine raises is a finding
        return f"{type(error).__name__}: {error}"


def _attempt(ask: Ask, query: RandomQuery, mode: str) -> Any:
    try:
        return ask(query, mode)[:20]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def run_trials(graph_seed: int, queries: int, folder: Path, seen: Counter[str]) -> list[Mismatch]:
    """Everything about one random graph."""
    graph = random_graph(graph_seed)
    made = load(graph, folder / f"graph{graph_seed}.omni")
    ask = asker(made)
    found = []
    for query, answer in queries_of(graph, queries, seen):
        for mode in MODES:
            seen["asked"] += 1
            if (bad := mismatch(graph, query, answer, mode, ask)) is not None:
                found.append(bad)
                break
        if seen["answered"] % EXPLAIN_EVERY == 0:
            seen["explained"] += 1
            assert _explained_rows(made, query) == len(answer.kept) or found, query.text
        if len(found) >= 3:
            break
    made.close()
    return found


def _explained_rows(graph: Graph, query: RandomQuery) -> int | None:
    """The number of rows that an analysed plan reports."""
    plan = graph.explain(query.text, {**query.given, NOW: PINNED}, analyze=True)
    assert plan.text
    return plan.rows
