"""Parameters: JSON values bound to their declared types, before anything is planned or read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from omnigraph.language.diagnostics import did_you_mean
from omnigraph.language.query.ir import DATETIME, NOW, Param
from omnigraph.language.query.parse import (
    NULL,
    BoolLit,
    DateLit,
    DateTimeLit,
    FloatLit,
    IntegerLit,
    ListLit,
    LiteralValue,
    NullLit,
    StringLit,
)
from omnigraph.model.errors import BadRequest, InvalidValue, Json
from omnigraph.model.late_dataclass import dataclass
from omnigraph.model.types import INTEGER_BOUNDS, PropType, Scalar
from omnigraph.model.values import DATE_BOUNDS, SAFE_INTEGER_MAX, parse_datetime, to_single

_DECIMAL = re.compile(r"-?[0-9]{1,40}", re.ASCII)


class ParameterError(BadRequest):
    """A parameter that is missing, or whose value does not fit its declared type."""


@dataclass(frozen=True)
class BoundParams:
    """Every parameter with its typed value. Hashable, so that a plan can be cached by it."""

    values: tuple[tuple[str, LiteralValue], ...] = ()
    """Sorted by name; undeclared keys are among them where they are ignored."""

    @cached_property
    def by_name(self) -> Mapping[str, LiteralValue]:
        return dict(self.values)

    def __getitem__(self, name: str) -> LiteralValue:
        return self.by_name[name]

    def get(self, name: str) -> LiteralValue | None:
        return self.by_name.get(name)


def bind_params(
    params: tuple[Param, ...],
    given: Mapping[str, Json] | None,
    *,
    now: str | None = None,
    javascript_safe: bool = False,
    ignores_undeclared: bool = False,
) -> BoundParams:
    """Typed values for all declared parameters, or ParameterError.

    A name that the query does not declare is refused: with a typo in its name a filter would filter nothing.
    Where a protocol promises otherwise, `ignores_undeclared` only asks that its value could be one.

    In JavaScript-safe mode numbers that JavaScript cannot hold exactly are refused unless they come as decimal text,
    and integral floats count as integers. `now` is the time of the query; a value for `__nanograph_now` replaces it.
    """
    values = _require_object(given)
    bound: dict[str, LiteralValue] = {} if now is None else {NOW: DateTimeLit(now)}
    declared = {param.name for param in params}
    for param in params:
        if param.name not in values and not param.type.nullable:
            raise _missing(param, [key for key in values if key not in declared])
        binder = _Binder(param.name, javascript_safe)
        bound[param.name] = binder.bind(values.get(param.name), param.type)
    for key, value in values.items():
        if key == NOW and isinstance(value, str):
            _Binder(key, javascript_safe).bind(value, DATETIME)
            bound[key] = DateTimeLit(value)
        elif key not in declared:
            if not ignores_undeclared:
                raise _undeclared(key, sorted(declared))
            bound[key] = _Binder(key, javascript_safe).infer(value)
    return BoundParams(tuple(sorted(bound.items(), key=lambda pair: pair[0])))


def row_count(count: int | Param | None, bound: BoundParams) -> int | None:
    """The value of `limit` or `offset` for this run; None when there is none."""
    if not isinstance(count, Param):
        return count
    value = bound[count.name]
    if isinstance(value, NullLit):
        return None
    if not isinstance(value, IntegerLit) or value.value < 0:
        raise ParameterError(f"param '{count.name}': a limit or offset must be a non-negative integer")
    return value.value


def _require_object(given: Any) -> Mapping[str, Json]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"params: object expected, got {_kind(given)}", 'pass {"name": value, …}')
    for key in given:
        if not isinstance(key, str):
            raise ParameterError(f"params: names must be strings, got {_kind(key)}")
    return given


def _missing(param: Param, undeclared: list[str]) -> ParameterError:
    hint = did_you_mean(param.name, undeclared)
    if f"${param.name}" in undeclared:
        hint = f"remove the '$': the key is '{param.name}'"
    elif hint is not None:
        hint = f"you gave '{hint.split(chr(39))[1]}'; the parameter is called '{param.name}'"
    return ParameterError(f"param '{param.name}': parameter '{param.name}' not provided", hint or f"it is {param.type}")


def _undeclared(key: str, declared: list[str]) -> ParameterError:
    if key.removeprefix("$") in declared:
        hint = f"remove the '$': the key is '{key.removeprefix('$')}'"
    elif not declared:
        hint = "the query declares no parameters"
    else:
        hint = did_you_mean(key, declared) or f"the query declares: {', '.join(declared)}"
    return ParameterError(f"param '{key}': the query declares no parameter '{key}'", hint)


def _are_plain_texts(values: Sequence[Any]) -> bool:
    """Whether all are valid texts, checked at once: lists of keys are long."""
    if not all(type(value) is str for value in values):
        return False
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Binder:
    """Converts the value of one parameter."""

    name: str
    javascript_safe: bool

    def bind(self, value: Any, kind: PropType) -> LiteralValue:
        if value is None:
            if not kind.nullable:
                raise self.error(f"null for a required parameter of type {kind}", "declare it with '?' to allow null")
            return NULL
        if kind.is_vector:
            return self._vector(value, kind)
        if kind.is_list:
            if not isinstance(value, list | tuple):
                raise self.error(f"array expected, got {_kind(value)}")
            if kind.scalar is Scalar.STRING and _are_plain_texts(value):
                return ListLit(tuple(map(StringLit, value)))
            return ListLit(tuple(self._scalar(item, kind.scalar) for item in value))
        return self._scalar(value, kind.scalar)

    def infer(self, value: Any) -> LiteralValue:
        """An undeclared key: nothing reads it, but it must be JSON of a kind that a parameter could have."""
        if value is None:
            return NULL
        if isinstance(value, bool):
            return BoolLit(value)
        if isinstance(value, str):
            return StringLit(self._text(value, "string"))
        if isinstance(value, int):
            return IntegerLit(value)
        if isinstance(value, float):
            return FloatLit(value)
        if isinstance(value, list | tuple):
            return ListLit(tuple(self.infer(item) for item in value))
        raise self.error(f"a parameter cannot be {_kind(value)}")

    def error(self, message: str, hint: str | None = None) -> ParameterError:
        return ParameterError(f"param '{self.name}': {message}", hint)

    def _scalar(self, value: Any, scalar: Scalar) -> LiteralValue:
        if scalar.is_integer:
            return self._integer(value, scalar)
        if scalar.is_float:
            return FloatLit(self._single(value) if scalar is Scalar.F32 else self._float(value))
        if scalar is Scalar.BOOL:
            if not isinstance(value, bool):
                raise self.error(f"boolean expected, got {_kind(value)}")
            return BoolLit(value)
        what, make = _TEXT[scalar]
        text = self._text(value, what)
        if scalar in DATE_BOUNDS:
            self._require_date(text)
        return make(text)

    def _require_date(self, text: str) -> None:
        try:
            parse_datetime(text)
        except InvalidValue as error:
            raise self.error(f"'{text}' is not {error.expected}") from None

    def _text(self, value: Any, what: str) -> str:
        if not isinstance(value, str):
            raise self.error(f"{what} expected, got {_kind(value)}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.error("the text holds an unpaired surrogate") from None
        return value

    def _integer(self, value: Any, scalar: Scalar) -> IntegerLit:
        number: int
        if isinstance(value, str):
            if _DECIMAL.fullmatch(value) is None:
                raise self.error("expected an integer, got a string that is not a decimal number")
            number = int(value)
        elif isinstance(value, float) and self.javascript_safe and value.is_integer():
            number = int(value)
        elif isinstance(value, bool) or not isinstance(value, int):
            shown = value if isinstance(value, float) else _kind(value)
            raise self.error(f"integer expected, got {shown}")
        else:
            number = value
        if self.javascript_safe and not isinstance(value, str) and abs(number) > SAFE_INTEGER_MAX:
            raise self.error(
                f"{number} is outside the safe range of ±{SAFE_INTEGER_MAX}", "pass it as a decimal string"
            )
        low, high = INTEGER_BOUNDS[scalar]
        if not low <= number <= high:
            raise self.error(f"{number} is out of {scalar.value} range", f"{low} to {high}")
        return IntegerLit(number)

    def _single(self, value: Any) -> float:
        """A value of its declared type, so that it is the same number wherever the query uses it."""
        number = self._float(value)
        rounded = to_single(number)
        if math.isinf(rounded):
            raise self.error(f"{number} is out of F32 range", "-3.4028235e38 to 3.4028235e38")
        return rounded

    def _float(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"number expected, got {_kind(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error("expected a finite number")
        return number

    def _vector(self, value: Any, kind: PropType) -> ListLit:
        if not isinstance(value, list | tuple):
            raise self.error(f"array of {kind.dimension} numbers expected, got {_kind(value)}")
        if len(value) != kind.dimension:
            raise self.error(f"{kind.dimension} values expected, got {len(value)}")
        return ListLit(tuple(FloatLit(self._float(item)) for item in value))


_TEXT: dict[Scalar, tuple[str, Callable[[str], LiteralValue]]] = {
    Scalar.STRING: ("string", StringLit),
    Scalar.BLOB: ("string ('base64:…' or a URI)", StringLit),
    Scalar.DATE: ("date string", DateLit),
    Scalar.DATETIME: ("datetime string", DateTimeLit),
}


def _kind(value: Any) -> str:
    """The JSON kind of a value, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list | tuple):
        return "array"
    return "object" if isinstance(value, Mapping) else type(value).__name__


def refuse_shadowed_params(declared: Iterable[Param], options: frozenset[str]) -> None:
    """Raises when an option that was given is also a parameter of the query: either could have been meant."""
    for param in declared:
        if param.name in options:
            raise ParameterError(
                f"param '{param.name}': '{param.name}' is an option of this method and a parameter of this query",
                f'pass the parameters as a mapping: params={{"{param.name}": …}}',
            )
