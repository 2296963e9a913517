"""Random graphs of every type survive every way out and back: lines, Parquet, CSV, and clones of both kinds."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any

import pytest

from omnigraph.graph import Graph
from support.graphs.library import base64_of, exports, logs
from support.size import sized

SCHEMA = """
node Thing {
  key: I64 @key
  s: String?  b: Bool?  i: I32?  l: I64?  u: U32?  w: U64?  f: F32?  d: F64?
  day: Date?  moment: DateTime?  kind: enum(red, green, "blue sky")?  v: Vector(3)?  blob: Blob?
  ss: [String]?  bs: [Bool]?  ns: [I64]?  ds: [F64]?  days: [Date]?  moments: [DateTime]?
}
node Loose { text: String }
edge Link: Thing -> Thing { weight: F64?  note: String?  scan: Blob? }
edge Mixed: Loose -> Thing
"""
SCHEMA = SCHEMA.replace('"blue sky"', "blue")
GRAPHS = sized(4, 60)
TEXTS = [
    "",
    " ",
    "null",
    "NULL",
    "a,b",
    'say "no"',
    "two\nlines",
    "\r\n",
    "\ttab",
    "über 🦊",
    "\u2028",
    "-0",
    "1e5",
    "\\n",
    "[]",
    "0",
]


class Dice:
    """Values of every type, the awkward ones often."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, count: int) -> int:
        return self._random.randrange(count)

    def text(self) -> str:
        if self._random.random() < 0.5:
            return self._random.choice(TEXTS)
        return "".join(self._random.choice(string.printable) for _ in range(self.below(12)))

    def whole(self, low: int, high: int) -> int:
        return self._random.choice([low, high, 0 if low <= 0 else low, self._random.randint(low, high)])

    def number(self) -> float:
        return self._random.choice([0.0, -0.0, 1e-300, 1.5e300, 0.1, -1 / 3, self._random.gauss(0, 1e6)])

    def small(self) -> float:
        return self._random.choice([0.0, -0.0, 0.5, -1.25, 3.0e10, self._random.randint(-999, 999) / 8])

    def values(self) -> dict[str, Any]:
        """The properties of a Thing; each is missing now and then."""
        whole = self.whole
        day = lambda: whole(-719162, 2932896)  # noqa: E731 - the years 1 to 9999
        moment = lambda: whole(-62135596800000, 253402300799999)  # noqa: E731
        several = lambda one: [one() for _ in range(self.below(4))]  # noqa: E731
        made: dict[str, Any] = {
            "s": self.text(),
            "b": bool(self.below(2)),
            "i": whole(-(2**31), 2**31 - 1),
            "l": whole(-(2**63), 2**63 - 1),
            "u": whole(0, 2**32 - 1),
            "w": whole(0, 2**64 - 1),
            "f": self.small(),
            "d": self.number(),
            "day": day(),
            "moment": moment(),
            "kind": self._random.choice(["red", "green", "blue"]),
            "v": [self.small() for _ in range(3)],
            "blob": base64_of(self._random.randbytes(self._random.choice([0, 1, 100, 70_000]))),
            "ss": several(self.text),
            "bs": several(lambda: bool(self.below(2))),
            "ns": several(lambda: whole(-(2**63), 2**63 - 1)),
            "ds": several(self.number),
            "days": several(day),
            "moments": several(moment),
        }
        return {name: value for name, value in made.items() if self._random.random() < 0.7}


def records(dice: Dice) -> list[bytes]:
    things, loose = dice.below(30), dice.below(5)
    lines: list[Any] = [{"type": "Thing", "data": {"key": n - 7, **dice.values()}} for n in range(things)]
    lines += [{"type": "Loose", "data": {"id": f"loose {n}", "text": dice.text()}} for n in range(loose)]
    for _ in range(dice.below(60) if things else 0):
        ends = {"from": str(dice.below(things) - 7), "to": str(dice.below(things) - 7)}
        data = {"note": dice.text(), "weight": dice.number()} if dice.below(2) else {"scan": base64_of(b"s")}
        lines.append({"edge": "Link", **ends, "data": data})
        if loose:
            lines.append({"edge": "Mixed", **ends, "from": f"loose {dice.below(loose)}", "data": {}})
    return [json.dumps(line).encode() for line in lines]


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_tx_O21_a_random_graph_is_equal_after_every_way_out_and_back(seed: int, tmp_path: Path) -> None:
    dice = Dice(seed)
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    graph.load(records(dice), mode="overwrite", engine="local")
    draft = graph.create_branch("draft")
    for target in (draft, graph, draft):
        if rows := records(dice):
            target.load(rows, mode="merge", engine="local")
    lines = list(graph.export(manifest=True))
    for form in ("lines", "jsonl", "parquet", "csv"):
        copy = Graph.init(str(tmp_path / form), SCHEMA, durability="os")
        if form == "lines":
            copy.load(lines, mode="overwrite", engine="local")
        else:
            graph.export_to(tmp_path / f"{form}-files", format=form, engine="local")  # type: ignore[arg-type]
            copy.load(tmp_path / f"{form}-files", mode="overwrite", engine="local")
        assert list(copy.export(manifest=False)) == lines[:-1], form
    for history in (True, False):
        clone = Graph.open(graph.clone(tmp_path / f"{history}", history=history, durability="os").target)
        assert exports(clone) == exports(graph)
        assert clone.verify().findings == ()
        assert not history or logs(clone) == logs(graph)
