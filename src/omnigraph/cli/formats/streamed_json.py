"""One JSON document with a long list, line by line: the same text as for the whole document, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from omnigraph.cli.output import to_json_text

if TYPE_CHECKING:
    from omnigraph.model.errors import Json


def json_stream(
    head: Mapping[str, Json], name: str, items: Iterable[Json], tail: Callable[[], Mapping[str, Json]] = dict
) -> Iterator[str]:
    """The lines of `head`, then the member `name` with the items, then what `tail` returns after the last of them.

    The first item is read before the first line is returned: what is refused at once leaves no part of a document.
    """
    rest = iter(items)
    waiting = next(rest, _END)
    yield f"{_members(head)},"
    if waiting is _END:
        closing = f'  "{name}": []'
    else:
        yield f'  "{name}": ['
        for item in rest:
            yield f"{_item(waiting)},"
            waiting = item
        yield _item(waiting)
        closing = "  ]"
    last = tail()
    yield f"{closing},\n{_members(last)[2:]}" if last else closing
    yield "}"


_END = object()


def _members(document: Mapping[str, Json]) -> str:
    return to_json_text(document).removesuffix("\n}")


def _item(item: object) -> str:
    """JSON text has no line ends within its strings, so every line of it may be moved to the right."""
    return "    " + json.dumps(item, indent=2, ensure_ascii=False).replace("\n", "\n    ")
