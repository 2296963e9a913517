"""Arguments of Python callers: moments and parameters as the texts and JSON values that everything below takes."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from omnigraph.language.query import ParameterError
from omnigraph.model.errors import BadRequest, Json

_PLAIN = frozenset((str, int, float, bool, type(None)))
_ACCEPTED = "pass text, numbers, booleans, dates, None, and lists, tuples or numpy arrays of these"
_ALWAYS_STATED = frozenset(("mode", "use_index", "analyze"))
"""Options whose default is a value: whether the caller passed it cannot be seen."""
_ZONE = "add a time zone, such as tzinfo=datetime.UTC"


# --- moments ----------------------------------------------------------------------------------------------


def moment_text(moment: str | dt.date) -> str:
    """The moment of `as_of` as RFC 3339 text; a date is its midnight in UTC, as in texts."""
    if isinstance(moment, str):
        return moment
    if not isinstance(moment, dt.date):
        raise BadRequest(
            f"as_of must be a time, not {_kind(moment)}", "pass a datetime with a time zone, or RFC 3339 text"
        )
    text = _time_text(moment)
    if text is None:
        raise BadRequest("as_of has no time zone", _ZONE)
    return text


def _time_text(value: dt.date) -> str | None:
    """A date or a datetime as text; None for a datetime that does not say in which zone it is."""
    if not isinstance(value, dt.datetime):
        return value.isoformat()
    if value.utcoffset() is None:
        return None
    try:
        return value.astimezone(dt.UTC).isoformat(timespec="milliseconds")
    except OverflowError:  # outside the range of dates: the parser of the text reports it
        return value.isoformat(timespec="milliseconds")


# --- parameters -------------------------------------------------------------------------------------------


def json_params(params: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Json]:
    """The parameters of a call, given as a mapping, by name, or both."""
    if params is not None and not isinstance(params, Mapping):
        raise ParameterError(f"params: expected a mapping, got {_kind(params)}", 'pass {"name": value, …}')
    given = dict(params or {})
    for name in given:
        if not isinstance(name, str):
            raise ParameterError(f"params: names must be strings, got {_kind(name)}")
        if name in named:
            raise ParameterError(f"param '{name}': given both in params and by name", "pass it once")
    return {name: _json(name, value) for name, value in {**given, **named}.items()}


def _json(name: str, value: Any) -> Json:
    if type(value) in _PLAIN:
        plain: Json = value
        return plain
    if isinstance(value, list | tuple):
        if set(map(type, value)) <= _PLAIN:  # lists of keys are long
            return list(value)
        return [_json(name, item) for item in value]
    numpy = sys.modules.get("numpy")  # a numpy value can only come from a program that imported numpy
    if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
        return _from_numpy(name, value, numpy)
    if isinstance(value, dt.date):
        return _from_time(name, value)
    for kind in (str, int, float):  # subclasses, such as enums
        if isinstance(value, kind):
            converted: Json = str.__str__(value) if kind is str else kind(value)
            return converted
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    raise ParameterError(f"param '{name}': a parameter cannot be {_kind(value)}", _ACCEPTED)


def _from_time(name: str, value: dt.date) -> str | None:
    if value != value:  # pandas' "not a time" is a datetime, and unequal to itself
        return None
    text = _time_text(value)
    if text is None:
        raise ParameterError(f"param '{name}': {value} has no time zone", _ZONE)
    return text


def _from_numpy(name: str, value: Any, numpy: Any) -> Json:
    """Scalars and arrays. Times of numpy have no zone: they are UTC."""
    if value.dtype.kind == "M":
        texts = numpy.datetime_as_string(value, unit="ms")
        absent = numpy.isnat(value)
        if not value.shape:
            return None if absent else f"{texts}Z"
        return [None if gone else f"{text}Z" for text, gone in zip(texts.tolist(), absent.tolist(), strict=True)]
    plain = value.tolist()
    if isinstance(plain, numpy.generic):  # wider than any number of Python
        plain = float(plain)
    return _json(name, plain)


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


# --- options ----------------------------------------------------------------------------------------------


def given_options(params: Mapping[str, Any] | None, **options: Any) -> frozenset[str]:
    """The options that may have been meant as parameters. A call with a mapping of parameters has none of these."""
    if params is not None:
        return frozenset()
    return frozenset(name for name, value in options.items() if value is not None or name in _ALWAYS_STATED)
