"""Resolution: how a caller decides conflicts, for a whole kind at once or entity by entity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args

from omnigraph.merge.conflicts import ROW_CONFLICTS, MergeConflict, RowConflictKind
from omnigraph.model.errors import BadRequest, Json
from omnigraph.model.identifiers import TableKey
from omnigraph.model.late_dataclass import dataclass

Take = Literal["ours", "theirs", "base", "delete"]
"""ours: the target's image. theirs: the source's. base: that of the merge base. delete: the entity goes."""
Side = Literal["ours", "theirs"]
OnConflict = Side | Mapping[str, Side]
Callback = Callable[[MergeConflict], "Mapping[str, Any] | str | None"]
Resolve = Iterable[Mapping[str, Any]] | Callback
"""A list of resolutions, or a function that is shown each conflict and returns a resolution or None."""

_FORM = '{"entity_kind": "node", "type_name": "Person", "entity_id": "Ada", "take": "ours"}'
_MEMBERS = {"entity_kind", "type_name", "entity_id", "take", "properties", "from", "to"}


@dataclass(eq=False)
class InvalidResolution(BadRequest):
    """A resolution that cannot be read, or that names no conflict of this merge. Nothing was changed."""

    reason: str

    def sentence(self) -> str:
        return f"invalid resolution: {self.reason}"

    @property
    def hint(self) -> str | None:
        return f"a resolution looks like {_FORM}; take is one of ours, theirs, base, delete, or give properties instead"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What becomes of one entity: an image that there is, or these values over the image of ours or theirs."""

    take: Take | None = None
    properties: Mapping[str, Json] | None = None
    src: str | None = None
    dst: str | None = None


Entity = tuple[TableKey, str]


def read_resolutions(listed: Iterable[Mapping[str, Any]]) -> dict[Entity, Resolution]:
    """A list as it stands in a resolution file; an entity that is named twice is refused."""
    found: dict[Entity, Resolution] = {}
    if not isinstance(listed, Iterable):
        raise InvalidResolution(f"{listed!r} is neither a list of resolutions nor a function")
    for number, members in enumerate(listed, start=1):
        if not isinstance(members, Mapping):
            raise InvalidResolution(f"entry {number} is not an object")
        entity = _entity(number, members)
        if entity in found:
            raise InvalidResolution(f"entry {number} names {entity[0]} '{entity[1]}' a second time")
        found[entity] = read_resolution(members, f"entry {number}")
    return found


def read_resolution(members: Mapping[str, Any] | str, where: str) -> Resolution:
    """One resolution; a bare word is what to take."""
    if isinstance(members, str):
        return Resolution(take=_take(members, where))
    if not isinstance(members, Mapping):
        raise InvalidResolution(f"{where} is not an object and not a word")
    if unknown := sorted(set(members) - _MEMBERS):
        raise InvalidResolution(f"{where} has an unknown member '{unknown[0]}'")
    take, properties = members.get("take"), members.get("properties")
    ends = (members.get("from"), members.get("to"))
    states_values = properties is not None or ends != (None, None)
    if (take is not None) == states_values:
        raise InvalidResolution(f"{where} needs either 'take' or 'properties'")
    if take is not None:
        return Resolution(take=_take(take, where))
    if properties is not None and not isinstance(properties, Mapping):
        raise InvalidResolution(f"{where}: 'properties' is not an object")
    if any(end is not None and not isinstance(end, str) for end in ends):
        raise InvalidResolution(f"{where}: 'from' and 'to' are ids of nodes, as text")
    return Resolution(None, properties or {}, *ends)


def check_on_conflict(on_conflict: OnConflict | None) -> dict[RowConflictKind, Side]:
    """The side to take for each kind of row conflict that the caller decided."""
    if on_conflict is None:
        return {}
    if not isinstance(on_conflict, str | Mapping):
        raise BadRequest(
            f"on_conflict cannot be {on_conflict!r}", "use 'ours' or 'theirs', or one of them for each kind"
        )
    by_kind = dict.fromkeys(ROW_CONFLICTS, on_conflict) if isinstance(on_conflict, str) else dict(on_conflict)
    for kind, side in by_kind.items():
        if kind not in ROW_CONFLICTS:
            raise BadRequest(f"on_conflict cannot decide '{kind}'", f"it decides {', '.join(ROW_CONFLICTS)}")
        if side not in get_args(Side):
            raise BadRequest(f"unknown on_conflict '{side}'", "use 'ours' or 'theirs'")
    return {kind: by_kind[kind] for kind in ROW_CONFLICTS if kind in by_kind}


def _entity(number: int, members: Mapping[str, Any]) -> Entity:
    kind, name, entity_id = (members.get(each) for each in ("entity_kind", "type_name", "entity_id"))
    if kind not in ("node", "edge") or not isinstance(name, str) or not isinstance(entity_id, str):
        raise InvalidResolution(f"entry {number} does not name an entity")
    return TableKey("node" if kind == "node" else "edge", name), entity_id


def _take(word: object, where: str) -> Take:
    for known in get_args(Take):
        if word == known:
            taken: Take = known
            return taken
    raise InvalidResolution(f"{where}: 'take' is {word!r}")
