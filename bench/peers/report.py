"""The report: a table in Markdown and a chart in SVG, from what the peers said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from bench.peers.data import Size
from bench.peers.processes import Outcome
from bench.peers.workloads import WORKLOADS, Workload

COLOURS = ("#0b6e4f", "#7f8c8d", "#e07a5f", "#f2cc8f", "#3d405b", "#81b29a", "#6d597a")
LABELS, PLOT, BAR, GAP = 420, 520, 9, 14


def disagreements(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Questions on which the peers do not agree; ranked ones are left out, because each engine ranks in its way."""
    found = []
    for workload in WORKLOADS:
        said = {
            name: outcome.answers[workload.name]["answer"]
            for name, outcome in outcomes.items()
            if workload.name in outcome.answers
        }
        if not workload.ranks and len(set(said.values())) > 1:
            found.append(f"{workload.title}: {said}")
    return found


def markdown(size: Size, outcomes: Mapping[str, Outcome], limit_s: float, memory_mb: int) -> str:
    """Medians of warm runs in milliseconds, with the machine's doings around them."""
    names = list(outcomes)
    limits = f"at most {limit_s:,.0f} s a question and {memory_mb:,} MB an engine"
    lines = [
        f"{size.people:,} people, {size.edges:,} edges; milliseconds, median of warm runs; {limits}",
        "",
        f"| question | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for workload in WORKLOADS:
        cells = [_cell(outcomes[name], workload, limit_s) for name in names]
        if any(cell != "–" for cell in cells):
            lines.append(f"| {workload.title} | {' | '.join(cells)} |")
    lines.append(f"| cold process to first answer | {' | '.join(_number(outcomes[n].cold_ms) for n in names)} |")
    peaks = [f"{outcomes[name].peak_mb:,.0f}" if outcomes[name].peak_mb else "–" for name in names]
    lines.append(f"| peak memory, MB | {' | '.join(peaks)} |")
    for name in names:
        for reason in dict.fromkeys([*outcomes[name].failed.values(), outcomes[name].failure]):
            if reason:
                lines += ["", f"{name} failed: {reason.splitlines()[-1]}"]
    return "\n".join(lines)


def _cell(outcome: Outcome, workload: Workload, limit_s: float) -> str:
    if workload.name in outcome.too_slow:
        return f"> {limit_s:,.0f} s"
    if workload.name in outcome.out_of_memory:
        return "out of memory"
    if workload.name in outcome.failed:
        return "failed"
    found = outcome.answers.get(workload.name)
    return "–" if found is None else _number(found["ms"])


def _number(ms: float | None) -> str:
    if ms is None:
        return "–"
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def chart(size: Size, outcomes: Mapping[str, Outcome]) -> str:
    """Bars on a logarithmic scale; shorter is faster."""
    rows = [
        (
            workload,
            [(name, o.answers[workload.name]["ms"]) for name, o in outcomes.items() if workload.name in o.answers],
        )
        for workload in WORKLOADS
    ]
    rows = [(workload, bars) for workload, bars in rows if bars]
    values = [ms for _, bars in rows for _, ms in bars] or [1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    colours = dict(zip(outcomes, COLOURS, strict=False))
    parts, y = [], 62
    for workload, bars in rows:
        parts.append(_text(LABELS - 10, y + len(bars) * BAR / 2 + 4, workload.title, anchor="end"))
        for name, ms in bars:
            width = max(2.0, PLOT * (math.log10(ms) - low) / max(high - low, 1))
            parts.append(f'<rect x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR - 1}" fill="{colours[name]}"/>')
            parts.append(_text(LABELS + width + 4, y + BAR - 2, _number(ms), size=8))
            y += BAR
        y += GAP
    grid = [_gridline(LABELS + PLOT * place / max(high - low, 1), y, low + place) for place in range(high - low + 1)]
    legend = [
        f'<rect x="{LABELS + 95 * place}" y="24" width="10" height="10" fill="{colours[name]}"/>'
        + _text(LABELS + 95 * place + 14, 33, name)
        for place, name in enumerate(outcomes)
    ]
    title = _text(10, 16, f"{size.people:,} people, {size.edges:,} edges: milliseconds, logarithmic", size=13)
    width = LABELS + max(PLOT, 95 * len(outcomes)) + 60
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" font-family="sans-serif" font-size="11">'
        f'<rect width="{width}" height="{y}" fill="#ffffff"/>' + "".join([title, *legend, *grid, *parts]) + "</svg>\n"
    )


def _gridline(x: float, bottom: float, exponent: int) -> str:
    label = f"{10.0**exponent:g} ms"
    line = f'<line x1="{x:.1f}" y1="54" x2="{x:.1f}" y2="{bottom}" stroke="#dddddd"/>'
    return line + _text(x, 50, label, size=8, anchor="middle")


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="#222222">{escape(text)}</text>'
    )
