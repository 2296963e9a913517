"""Act 1: a small lake. Papers are JSON lines, authors CSV, the edges between them Parquet; some papers are broken."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from demo.stage import Stage, say, step

METHODS = ["Scalable", "Robust", "Private", "Adaptive", "Sparse", "Causal", "Neural", "Exact", "Streaming", "Quantum"]
SUBJECTS = ["graph", "vector", "protein", "climate", "market", "traffic", "language", "galaxy", "enzyme", "network"]
TASKS = ["search", "forecasting", "matching", "sampling", "compression", "clustering", "ranking", "simulation"]
COUNTRIES = ["BR", "CN", "DE", "FR", "GB", "IN", "JP", "KE", "US", "ZA"]
PAPER_FILES = 4
BROKEN = 40


def play(stage: Stage) -> None:
    @step("Make a lake of files, as other systems might leave them")
    def sizes() -> dict[str, int]:
        return make_lake(stage.lake, stage.rows)

    for name, rows in sizes.items():
        size = sum(file.stat().st_size for file in stage.lake.rglob("*") if name in str(file))
        say(f"{name:<16} {rows:>9,} rows {size / 1e6:>6.1f} MB")
    with (stage.lake / "papers" / "part-0.jsonl").open() as papers:
        say(f"a paper:  {papers.readline().strip()}")


def make_lake(lake: Path, rows: int) -> dict[str, int]:
    """Writes the files, the same ones for the same number of rows; gives the rows of each."""
    (lake / "papers").mkdir(parents=True)
    chance = random.Random(rows)
    papers, authors = rows * 3 // 10, rows // 10
    for part in range(PAPER_FILES):
        write_papers(lake / "papers" / f"part-{part}.jsonl", range(part, papers, PAPER_FILES), papers, chance)
    write_authors(lake / "authors.csv", authors, chance)
    wrote = {"author": [orcid(n % authors) for n in range(papers)], "paper": [doi(n) for n in range(papers)]}
    pq.write_table(pa.table(wrote), lake / "wrote.parquet")
    # A paper cites an older one, and old ones are cited most.
    cited = [doi(int(n * chance.random() ** 2)) for n in range(1, papers)]
    cites = {"citing": [doi(n) for n in range(1, papers)], "cited": cited}
    pq.write_table(pa.table(cites), lake / "cites.parquet")
    return {"papers": papers, "authors.csv": authors, "wrote.parquet": papers, "cites.parquet": papers - 1}


def write_papers(file: Path, numbers: range, count: int, chance: random.Random) -> None:
    with file.open("w") as out:
        for n in numbers:
            title = f"{chance.choice(METHODS)} {chance.choice(SUBJECTS)} {chance.choice(TASKS)}"
            paper: dict[str, object] = {"doi": doi(n), "title": title, "year": 1990 + n * 36 // count}
            if n % (count // BROKEN) == 7:
                paper["year"] = 20260  # beyond the range that the schema allows
            if n % (count // BROKEN) == 11:
                del paper["title"]  # which the schema requires
            out.write(json.dumps({"type": "Paper", "data": paper}) + "\n")


def write_authors(file: Path, count: int, chance: random.Random) -> None:
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["orcid", "full_name", "country"])
        rows.writerows([orcid(n), f"Author {n}", chance.choice(COUNTRIES)] for n in range(count))


def doi(number: int) -> str:
    return f"10.5555/{number:07}"


def orcid(number: int) -> str:
    return f"0000-{number:08}"
