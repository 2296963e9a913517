"""A change shows days and moments as such to people, and as the numbers of the wire contract to programs."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from omnigraph.graph import Graph
from omnigraph.history.diff import Image

SCHEMA = """
node Person { name: String @key  born: Date?  seen: DateTime?  days: [Date]?  nick: String? }
edge Knows: Person -> Person { since: Date? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = Graph.init(str(tmp_path / "g"), SCHEMA, durability="os")
    data = {"name": "Ada", "born": "1815-12-10", "seen": "2020-01-02T03:04:05Z", "days": ["2001-02-03"], "nick": "<a>"}
    graph.load(
        [
            json.dumps({"type": "Person", "data": data}).encode(),
            json.dumps({"edge": "Knows", "from": "Ada", "to": "Ada", "data": {"since": "2020-01-01"}}).encode(),
        ],
        mode="merge",
    )
    return graph


def test_an_update_shows_days_before_and_after_and_its_json_has_numbers(graph: Graph) -> None:
    before = graph.snapshot().commit_id
    assert before is not None
    graph.mutate('query q() { update Person set { born: date("1815-12-11"), nick: null } where name = "Ada" }')
    (change,) = graph.diff(before)
    assert str(change) == "~ node Person Ada: born 1815-12-10 -> 1815-12-11, nick <a> -> null"
    html = change._repr_html_()
    assert "<td>born</td><td>1815-12-10</td><td>1815-12-11</td>" in html
    assert "<td>&lt;a&gt;</td>" in html
    assert change.before is not None
    assert change.before.values()["seen"] == dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert change.before.values()["days"] == [dt.date(2001, 2, 3)]
    members = change.to_json()
    assert [members[side]["properties"]["born"] for side in ("before", "after")] == [-56270, -56269]  # type: ignore[index,call-overload]


def test_inserts_and_deletes_are_shown_with_what_they_have(graph: Graph) -> None:
    first = graph.commits()[-1].commit_id
    node, edge = graph.diff(first)
    assert str(node).startswith("+ node Person Ada: born 1815-12-10, days [datetime.date(2001, 2, 3)], name Ada")
    assert str(edge).endswith(": from Ada, since 2020-01-01, to Ada")
    gone = next(iter(graph.diff("main", first)))
    assert str(gone).startswith("- node Person Ada: born 1815-12-10")


def test_a_number_that_no_calendar_has_stays_a_number() -> None:
    assert Image({"born": 2**40}, dates={"born": "date"}).values() == {"born": 2**40}
