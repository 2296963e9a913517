"""`omnigraph log`: who changed what and when, commit by commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.frame import OmniCommand, json_option, uri_option
from omnigraph.cli.session import Session

if TYPE_CHECKING:
    from omnigraph.graph import Graph
    from omnigraph.history import LogEntry, PropertyBlame
    from omnigraph.model.errors import Json


class LogCommand(OmniCommand):
    """`--graph` without an id means `--full`; with one it is the global option that selects a graph."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        after = [*args[1:], "-"]
        is_alone = [word == "--graph" and follower.startswith("-") for word, follower in zip(args, after, strict=True)]
        return super().parse_args(
            ctx, ["--full" if alone else word for word, alone in zip(args, is_alone, strict=True)]
        )


@click.command("log", cls=LogCommand, example="omnigraph log --limit 10 --store lib.omni")
@click.argument("at", default="main", metavar="[AT]")
@click.option("--full", is_flag=True, help="Show the commits of merged branches, too, as a graph. Also --graph.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N commits.")
@click.option("--since", metavar="REF", help="Only commits from this time on, or that this commit does not contain.")
@click.option(
    "--before", metavar="REF", help="Only commits before this time, or that come after this commit in the log."
)
@click.option("--actor", multiple=True, metavar="ACTOR", help="Only commits of this actor; may be repeated.")
@click.option(
    "--kind", multiple=True, metavar="KIND", help="Only such commits: load, mutation, merge, …; may be repeated."
)
@click.option(
    "--type", "types", multiple=True, metavar="NAME", help="Only commits that changed this type; may be repeated."
)
@click.option("--message", metavar="TEXT", help="Only commits with this text in their message.")
@click.option("--entity", nargs=2, metavar="TYPE ID", help="Only changes of this entity, with what they changed.")
@click.option("--blame", is_flag=True, help="With --entity: the commit that each property has its value from.")
@uri_option
@json_option
@click.pass_obj
def command(
    session: Session,
    at: str,
    full: bool,
    limit: int | None,
    since: str | None,
    before: str | None,
    actor: tuple[str, ...],
    kind: tuple[str, ...],
    types: tuple[str, ...],
    message: str | None,
    entity: tuple[str, str] | None,
    blame: bool,
    uri: str | None,
) -> None:
    """Show the commits of a branch, newest first.

    AT is a branch, a tag, a commit or a time; main by default. A merge is one commit, unless --full shows what it
    brought.
    """
    filters: dict[str, Any] = {"actor": actor or None, "kind": kind or None, "type_name": types or None}
    filters |= {"message": message, "since": since, "before": before}
    if blame and (entity is None or full or limit or any(filters.values())):
        raise click.UsageError("--blame needs --entity TYPE ID, and no other option")
    with session.target(uri).open_for_reading() as graph:
        if entity is not None and blame:
            _show_blame(session, graph.blame(*entity, at))
        elif entity is not None:
            _show_entity(session, graph, at, entity, {**filters, "limit": limit})
        else:
            entries = graph.log(at, full=full, limit=limit, **filters)
            is_drawn = full and not any(filters.values())
            lines = _drawn(entries) if is_drawn else (_line(entry) for entry in entries)
            session.output.show({"commits": [entry.to_json() for entry in entries]}, lines)


def _line(entry: LogEntry) -> str:
    from omnigraph.cli.formats import printable
    from omnigraph.model.values import format_datetime

    words = [entry.commit_id, format_datetime(entry.created_at // 1000), entry.branch, entry.kind or "-"]
    if entry.actor_id is not None:
        words.append(f"actor={entry.actor_id}")
    if entry.message is not None:
        words.append(printable(entry.message))
    return " ".join(words)


def _drawn(entries: Iterable[LogEntry]) -> Iterator[str]:
    from omnigraph.cli.formats import commit_graph_lines

    return commit_graph_lines((entry.commit_id, entry.parents, _line(entry)) for entry in entries)


# --- one entity -------------------------------------------------------------------------------------------


def _show_entity(session: Session, graph: Graph, at: str, entity: tuple[str, str], filters: dict[str, Any]) -> None:
    """The commits that changed an entity, each with its change, also those that merges brought."""
    from omnigraph.cli.formats import property_lines, with_dates

    entries = graph.log(at, full=True, entity=entity, **filters)
    changes = {each.commit.commit_id: each.to_json() for each in graph.entity_log(*entity, at)}
    documents: list[Json] = []
    lines: list[str] = []
    for entry in entries:
        change: Any = changes[entry.commit_id]
        added = {name: change[name] for name in ("op", "before", "after", "merged_by") if name in change}
        documents.append({**entry.to_json(), **added})
        lines.append(_line(entry))
        lines += [f"    {line}" for line in property_lines(with_dates(change, graph.schema.catalog))]
    session.output.show({"commits": documents}, lines or [f"{entity[0]} '{entity[1]}' never existed"])


def _show_blame(session: Session, found: Iterable[PropertyBlame]) -> None:
    from omnigraph.cli.formats import table_lines
    from omnigraph.model.values import format_datetime

    rows: list[dict[str, Any]] = [each.to_json() for each in found]
    shown = [
        row | {"actor_id": row["actor_id"] or "", "created_at": format_datetime(row["created_at"] // 1000)}
        for row in rows
    ]
    lines = (line.rstrip() for line in table_lines(list(rows[0]), shown)) if rows else ["there is no such entity"]
    session.output.show({"properties": [*rows]}, lines)
