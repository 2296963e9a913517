"""Field numbers: the schema of a table with the numbers that its data files know its columns by.

Lance finds a column in a file by the number of its field, not by its name. So a table gets another schema without a new
file when each kept column keeps its number: renamed, in another order, required or not any more. A column under a new
number is null in every file that there is. The library has no call for this: the schema is put together from the
messages that it pickles a schema as.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.storage.lance.messages import pieces, whole_number
from omnigraph.storage.lance.session import Dataset, LanceSchema

_ID, _PARENT = 3, 4
"""The numbers of a field and of the one above it, in Lance's message for a field."""
_ROOT = -1


def renumbered_schema(dataset: Dataset, target: pa.Schema, sources: Mapping[str, str]) -> Any:
    """The columns of `target` in its order, as a schema of this table.

    `sources` says which column of the table each of them is, under its present name. A column that it does not name is
    new, and gets a number that no column of the table has ever had.
    """
    known = dict(numbered_paths(dataset.lance_schema.fields()))
    following = int(dataset.max_field_id) + 1
    wanted = LanceSchema.from_pyarrow(target)
    pickled: Any = wanted.__reduce__()
    metadata, *messages = pickled[1]
    numbers: dict[str, int] = {}
    renumbered = []
    for (path, _), message in zip(numbered_paths(wanted.fields()), messages, strict=True):
        number = known.get(_stored_path(path, sources))
        if number is None:
            number, following = following, following + 1
        numbers[path] = number
        renumbered.append(_with_numbers(message, number, numbers.get(path.rpartition("/")[0], _ROOT)))
    return LanceSchema._from_protos(metadata, *renumbered)


def _stored_path(path: str, sources: Mapping[str, str]) -> str:
    """The path of a field in the table as it is; one that no column has for a new one."""
    column, slash, below = path.removeprefix("/").partition("/")
    return f"/{sources[column]}{slash}{below}" if column in sources else ""


def numbered_paths(fields: Sequence[Any], above: str = "") -> Iterator[tuple[str, int]]:
    """Every field with its number, depth first, by its path: `/tags/item`."""
    for each in fields:
        path = f"{above}/{each.name()}"
        yield path, int(each.id())
        yield from numbered_paths(each.children(), path)


# --- Lance's message for a field --------------------------------------------------------------------------


def _with_numbers(message: bytes, number: int, parent: int) -> bytes:
    kept = b"".join(piece for tag, piece in pieces(message) if tag not in (_ID, _PARENT))
    return kept + whole_number(_ID, number) + whole_number(_PARENT, parent)
