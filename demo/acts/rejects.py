"""Act 3: the rejected records are corrected and loaded. The reject file is JSON lines, so any tool can edit it."""

from __future__ import annotations

import json

import omnigraph as og
from demo.stage import Stage, say, step


def play(stage: Stage) -> None:
    graph = og.open(stage.uri, actor="demo")
    papers, edges = stage.lake / "rejected-papers.jsonl", stage.lake / "rejected-edges.jsonl"

    @step("Look at the rejected papers")
    def rejected() -> list[str]:
        return papers.read_text().splitlines()

    for line in rejected[:2]:
        say(line)
    say(f"… {len(rejected):,} in all")

    @step("Correct them, and load them; without rejects the reject file goes away")
    def corrected() -> og.LoadResult:
        papers.write_text("".join(corrected_paper(line) for line in rejected))
        return graph.load(papers, mode="append", on_error="skip", reject_file=papers, message="corrected papers")

    say(corrected.report)
    say(f"the reject file is still there: {papers.exists()}")

    @step("Load the edges that had been waiting for these papers")
    def waiting() -> og.LoadResult:
        return graph.load(edges, mode="append", message="edges of the corrected papers")

    say(waiting.report)


def corrected_paper(line: str) -> str:
    """A record with a title and a plausible year."""
    record = json.loads(line)
    record["data"].setdefault("title", "Untitled")
    record["data"]["year"] = min(record["data"]["year"], 2026)
    return json.dumps(record) + "\n"
