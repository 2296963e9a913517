"""Sub-patterns: parts of a plan that ask the same thing under other names get the same number, and are worked out once.

Two kinds of part can be shared. The inside of `not` or of an alternative of `or` answers yes or no for the outer rows
that it looks at. A walk that is more than one look into an adjacency (several hops, or with conditions on arrival)
leads from nodes to nodes. Both depend on nothing but rows, so whoever asks second takes what the first found.

The canonical form of a part names its variables by the order in which they are met, and orders the conditions on one
variable. Equal forms mean equal answers; parts that merely happen to agree are not recognised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.language.query import (
    Bm25,
    Condition,
    Distance,
    EntityObject,
    Filter,
    Fuzzy,
    InList,
    MatchText,
    Nearest,
    NullTest,
    PropAccess,
    Rrf,
    Search,
    Variable,
)
from omnigraph.model.late_dataclass import dataclass
from omnigraph.query.plan.steps import (
    Absent,
    Close,
    Either,
    Hop,
    Intersect,
    Keep,
    Optionally,
    PlanStep,
    ScanNodes,
    Shared,
    Traverse,
)

USES_MAX = 2
"""A block that looks at more outer variables is not shared: two row numbers make one key."""

Form = Hashable
Types = Mapping[str, tuple[str, str]]


def with_shared(steps: tuple[PlanStep, ...], types: Types) -> tuple[PlanStep, ...]:
    """The same steps; those whose form occurs more than once know their number."""
    counts = Counter(part.form for part in _parts(steps, types))
    repeated = (form for form, count in counts.items() if count > 1)
    numbers = {form: number for number, form in enumerate(repeated)}
    return _numbered(steps, types, numbers) if numbers else steps


@dataclass(frozen=True, slots=True)
class _Part:
    """A part that could be shared: its form, and the outer variables by which it answers, in the form's order."""

    form: Form
    by: tuple[str, ...]


def _parts(steps: Iterable[PlanStep], types: Types) -> Iterator[_Part]:
    """Everything in the plan that could be shared, blocks within blocks too."""
    for step in steps:
        for part in _parts_of(step, types):
            if part is not None:
                yield part
        for inner in _insides(step):
            yield from _parts(inner, types)


def _parts_of(step: PlanStep, types: Types) -> tuple[_Part | None, ...]:
    match step:
        case Traverse():
            return (_walk_part(step),)
        case Absent(inner=inner, uses=uses):
            return (_block_part(inner, uses, types),)
        case Either(alternatives=alternatives, uses=all_uses):
            pairs = zip(alternatives, all_uses, strict=True)
            return tuple(_block_part(inner, uses, types) for inner, uses in pairs)
        case _:
            return ()


def _insides(step: PlanStep) -> tuple[tuple[PlanStep, ...], ...]:
    match step:
        case Absent(inner=inner) | Optionally(inner=inner):
            return (inner,)
        case Either(alternatives=alternatives):
            return alternatives
        case _:
            return ()


def _numbered(steps: tuple[PlanStep, ...], types: Types, numbers: dict[Form, int]) -> tuple[PlanStep, ...]:
    done: list[PlanStep] = []
    for step in steps:
        shared = tuple(_shared(part, numbers) for part in _parts_of(step, types))
        insides = tuple(_numbered(inner, types, numbers) for inner in _insides(step))
        match step:
            case Traverse():
                done.append(replace(step, shared=shared[0]))
            case Absent():
                done.append(replace(step, inner=insides[0], shared=shared[0]))
            case Either():
                done.append(replace(step, alternatives=insides, shared=shared))
            case Optionally():
                done.append(replace(step, inner=insides[0]))
            case _:
                done.append(step)
    return tuple(done)


def _shared(part: _Part | None, numbers: dict[Form, int]) -> Shared | None:
    number = None if part is None else numbers.get(part.form)
    return None if part is None or number is None else Shared(number, part.by)


# --- forms ------------------------------------------------------------------------------------------------


def _block_part(inner: tuple[PlanStep, ...], uses: tuple[str, ...], types: Types) -> _Part | None:
    """The inside of a block, if it can be shared."""
    if len(uses) > USES_MAX:
        return None
    names = _Names()
    form = tuple(_step_form(step, names) for step in inner)
    by = tuple(sorted(uses, key=names.place))
    return _Part(("block", form, tuple((names.place(name), types[name]) for name in by)), by)


def _walk_part(step: Traverse) -> _Part | None:
    """A walk, if sharing it saves more than a look into an adjacency."""
    hop = step.hop
    if hop.edge_binding is not None or hop.is_empty or (hop.is_single and not step.conditions):
        return None
    names = _Names()
    return _Part(("walk", _hop_form(hop, names), _tests_form(step.conditions, names)), (hop.src_var,))


class _Names:
    """Variables by the order in which they are met."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, name: str) -> int:
        return self._places.setdefault(name, len(self._places))

    def of(self, name: str) -> str:
        return str(self.place(name))


def _step_form(step: PlanStep, names: _Names) -> Form:
    match step:
        case ScanNodes(variable=variable, type_name=type_name, conditions=conditions):
            return ("scan", names.place(variable), type_name, _tests_form(conditions, names))
        case Traverse(hop=hop, conditions=conditions):
            return ("traverse", _hop_form(hop, names), _tests_form(conditions, names))
        case Close(hop=hop):
            return ("close", _hop_form(hop, names))
        case Intersect(hops=hops, conditions=conditions):
            return ("intersect", tuple(_hop_form(hop, names) for hop in hops), _tests_form(conditions, names))
        case Keep(condition=condition):
            return ("keep", renamed(condition, names))
        case Absent(inner=inner):
            return ("not", tuple(_step_form(each, names) for each in inner))
        case Either(alternatives=alternatives):
            return ("or", tuple(tuple(_step_form(each, names) for each in inner) for inner in alternatives))
        case Optionally(inner=inner, exports=exports):
            inside = tuple(_step_form(each, names) for each in inner)
            return ("maybe", inside, tuple(names.place(export.name) for export in exports))


def _hop_form(hop: Hop, names: _Names) -> Form:
    edge = None if hop.edge_binding is None else names.place(hop.edge_binding)
    ends = (names.place(hop.src_var), names.place(hop.dst_var), edge)
    return (*ends, hop.edge_type, hop.direction, hop.src_type, hop.dst_type, hop.min_hops, hop.max_hops)


def _tests_form(conditions: Sequence[Condition], names: _Names) -> Form:
    """Conditions on one variable, in whatever order they were written."""
    return tuple(sorted((renamed(each, names) for each in conditions), key=repr))


def renamed(part: Any, names: _Names) -> Any:
    """An expression or a condition with the names of the form; what names no variable stays."""
    match part:
        case PropAccess(variable=name) | EntityObject(variable=name):
            return replace(part, variable=names.of(name))
        case Variable(name=name):
            return replace(part, name=names.of(name))
        case Distance(src_var=source, dst_var=target):
            return replace(part, src_var=names.of(source), dst_var=names.of(target))
        case Filter(left=left, right=right):
            return replace(part, left=renamed(left, names), right=renamed(right, names))
        case NullTest(value=value):
            return replace(part, value=renamed(value, names))
        case InList(value=value, members=members):
            return replace(part, value=renamed(value, names), members=renamed(members, names))
        case (
            Nearest(field=field) | Bm25(field=field) | Search(field=field) | MatchText(field=field) | Fuzzy(field=field)
        ):
            return replace(part, field=renamed(field, names))
        case Rrf(primary=primary, secondary=secondary):
            return replace(part, primary=renamed(primary, names), secondary=renamed(secondary, names))
        case _:
            return part
