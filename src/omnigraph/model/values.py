"""Values: stored Python values, their spellings in JSON and text, and the checks between them.

A stored value is what every face and every kernel agrees on: `str` for String, enum and Blob, `bool`, `int` for
integers, `int` days for Date, `int` UTC milliseconds for DateTime, `float` (already rounded to its width) for F32 and
F64, a tuple of floats for Vector, a tuple of scalars for lists, and None.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

from omnigraph.model.errors import InvalidValue, Json
from omnigraph.model.types import INTEGER_BOUNDS, PropType, Scalar

SAFE_INTEGER_MAX = 2**53 - 1
"""The largest integer that JavaScript reads exactly."""

_MS_PER_DAY = 86_400_000
_FIRST_DAY = -719_162  # 0001-01-01
_LAST_DAY = 2_932_896  # 9999-12-31
_CALENDAR = "0001-01-01 to 9999-12-31"
_ARROW_INTEGERS = {Scalar.I32: "Int32", Scalar.I64: "Int64", Scalar.U32: "UInt32", Scalar.U64: "UInt64"}
DATE_BOUNDS = {
    Scalar.DATE: (_FIRST_DAY, _LAST_DAY),
    Scalar.DATETIME: (_FIRST_DAY * _MS_PER_DAY, (_LAST_DAY + 1) * _MS_PER_DAY - 1),
}
"""The days and milliseconds of the years 1 to 9999, which every surface accepts and every client can show."""

# --- dates ------------------------------------------------------------------------------------------------

_MOMENT = re.compile(
    r"(?:(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})|(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2}))"
    r"(?:[Tt ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?"
    r"(?: ?(?P<zone>[Zz]|[+-]\d{2}:?\d{2}))?)?",
    re.ASCII,
)
_DATE_FORMS = "a date such as 2026-01-02 or a timestamp such as 2026-01-02T03:04:05Z"


def parse_date(text: str) -> int:
    """Days since 1970-01-01. A timestamp keeps its UTC calendar date."""
    return _milliseconds(text) // _MS_PER_DAY


def parse_datetime(text: str) -> int:
    """UTC milliseconds since 1970. A date means midnight UTC, a timestamp without offset is UTC."""
    return _milliseconds(text)


def format_date(days: int) -> str:
    """`YYYY-MM-DD`, or the plain number outside of the years 1 to 9999, which only others can have stored."""
    if not _FIRST_DAY <= days <= _LAST_DAY:
        return str(days)
    year, month, day = _civil(days)
    return f"{year:04}-{month:02}-{day:02}"


def format_datetime(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`, or the plain number outside of the years 1 to 9999."""
    days, rest = divmod(ms, _MS_PER_DAY)
    if not _FIRST_DAY <= days <= _LAST_DAY:
        return str(ms)
    seconds, milliseconds = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{format_date(days)}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z"


def _milliseconds(text: str) -> int:
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(what="invalid date", value=_shown(text), expected=_DATE_FORMS)
    part = match.groupdict()
    year, month, day = (int(part[long] or part[short]) for long, short in (("year", "y"), ("month", "m"), ("day", "d")))
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    fits = 1 <= month <= 12 and 1 <= day <= _days_in_month(year, month) and hour < 24 and minute < 60 and second < 60
    if not fits:
        raise InvalidValue(what="invalid date", value=_shown(text), expected="a date that exists in the calendar")
    fraction = int((part["fraction"] or "").ljust(3, "0")[:3])
    clock = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
    moment = _days(year, month, day) * _MS_PER_DAY + clock - _zone_offset(part["zone"], text)
    low, high = DATE_BOUNDS[Scalar.DATETIME]
    if not low <= moment <= high:
        raise InvalidValue(what="invalid date", value=_shown(text), expected=f"a date from {_CALENDAR}, in UTC")
    return moment


def _zone_offset(zone: str | None, text: str) -> int:
    if zone is None or zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 23 or minutes > 59:
        raise InvalidValue(what="invalid date", value=_shown(text), expected="an offset below 24 hours")
    return (hours * 60 + minutes) * 60_000 * (-1 if zone[0] == "-" else 1)


def _days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date in the proleptic Gregorian calendar, whatever its year."""
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_index = (5 * day_of_year + 2) // 153
    month = month_index + (3 if month_index < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * month_index + 2) // 5 + 1


# --- text of keys and unique tuples -----------------------------------------------------------------------


def canonical_text(value: Any, type_: PropType) -> str:
    """The text that identifies a value inside a key or a unique tuple. Loads and mutations share it."""
    if value is None or type_.is_list or type_.is_vector or type_.is_blob:
        raise InvalidValue(what="value of a key", value=_shown(value), expected=f"one {type_} that is not null")
    if type_.scalar is Scalar.STRING:
        return str(value)
    if type_.scalar is Scalar.BOOL:
        return "true" if value else "false"
    if type_.scalar.is_float:
        return _plain_decimal(float(value), single=type_.scalar is Scalar.F32)
    return str(int(value))


def node_id(values: Sequence[str]) -> str:
    """The id of a keyed node from the canonical texts of its key: one text as it is, several as a JSON array."""
    if len(values) == 1:
        return values[0]
    return json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))


def _plain_decimal(value: float, *, single: bool) -> str:
    if not math.isfinite(value):
        raise InvalidValue(what="value of a key", value=repr(value), expected="a finite number")
    if value == 0:
        return "0"
    text = format(Decimal(_shortest_single(value) if single else repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _shortest_single(value: float) -> str:
    """The shortest decimal that a 32-bit float reads back as the same number; 9 digits always do."""
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        if to_single(float(text)) == value:
            return text
    return f"{value:.9g}"


def to_single(value: float) -> float:
    """Rounded to the nearest 32-bit float; infinite when it is too large for one."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


# --- JSON out ---------------------------------------------------------------------------------------------


def json_value(
    value: Any, type_: PropType, *, dates: Literal["iso", "raw"] = "iso", safe_integers: bool = False
) -> Json:
    """A stored value as it appears in results (`iso`) and exports (`raw`)."""
    if value is None:
        return None
    if type_.is_vector:
        return [float(x) if x is not None and math.isfinite(x) else None for x in value]
    if type_.is_list:
        element = PropType(type_.scalar, nullable=True, enum_values=type_.enum_values)
        return [json_value(item, element, dates=dates, safe_integers=safe_integers) for item in value]
    if type_.scalar.is_float:
        return _json_float(float(value))
    if type_.scalar in (Scalar.I64, Scalar.U64):
        return str(value) if safe_integers and abs(value) > SAFE_INTEGER_MAX else int(value)
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME) and dates == "iso":
        text = format_date(value) if type_.scalar is Scalar.DATE else format_datetime(value)
        return text if "-" in text[1:] else int(value)
    stored: Json = value
    return stored


def _json_float(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


# --- JSON and text in -------------------------------------------------------------------------------------


def coerce_json(value: Any, type_: PropType, where: str) -> Any:
    """The stored value of one JSON value, or InvalidValue. `where` names the property, such as `Person.age`."""
    if value is None:
        if type_.nullable:
            return None
        what = f"{where}: null for non-nullable property '{where.rpartition('.')[2]}'"
        raise InvalidValue(what=what, value="null", expected=str(type_))
    if type_.is_vector:
        return _coerce_vector(value, type_, where)
    if type_.is_list:
        if not isinstance(value, list | tuple):
            raise _wrong(where, value, f"an array of {type_.scalar.value}")
        element = PropType(type_.scalar, enum_values=type_.enum_values)
        return tuple(coerce_json(item, element, f"{where}[{index}]") for index, item in enumerate(value))
    return _coerce_scalar(value, type_, where)


def _coerce_scalar(value: Any, type_: PropType, where: str) -> Any:
    scalar = type_.scalar
    if scalar.is_integer:
        return _coerce_integer(value, scalar, where)
    if scalar.is_float:
        return _coerce_float(value, scalar, where)
    if scalar is Scalar.BOOL:
        if not isinstance(value, bool):
            raise _wrong(where, value, "true or false")
        return value
    if scalar in DATE_BOUNDS:
        return _coerce_date(value, scalar, where)
    return _coerce_string(value, type_, where)


def _coerce_integer(value: Any, scalar: Scalar, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(where, value, f"an integer ({scalar.value})")
    low, high = INTEGER_BOUNDS[scalar]
    if not low <= value <= high:
        raise _wrong(f"{where} exceeds {_ARROW_INTEGERS[scalar]} range", value, f"{low} to {high}")
    return value


def _coerce_float(value: Any, scalar: Scalar, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _wrong(where, value, f"a number ({scalar.value})")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if scalar is Scalar.F32:
        number = to_single(number)
    if not math.isfinite(number):
        raise _wrong(where, value, f"a finite number that fits {scalar.value}")
    return number


def _coerce_date(value: Any, scalar: Scalar, where: str) -> int:
    if isinstance(value, str):
        try:
            return parse_date(value) if scalar is Scalar.DATE else parse_datetime(value)
        except InvalidValue as error:
            raise _wrong(where, value, error.expected) from error
    unit = "days" if scalar is Scalar.DATE else "milliseconds"
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(where, value, f"{_DATE_FORMS}, or an integer number of {unit}")
    low, high = DATE_BOUNDS[scalar]
    if not low <= value <= high:
        raise _wrong(where, value, f"{low} to {high} {unit} since 1970 ({_CALENDAR}){_meant(value, scalar)}")
    return value


def _meant(value: int, scalar: Scalar) -> str:
    """A date without its dashes and quotes looks like a number of days."""
    if scalar is not Scalar.DATE or len(str(value)) != len("YYYYMMDD"):
        return ""
    try:
        return f'; that day is written "{format_date(parse_date(str(value)))}"'
    except InvalidValue:
        return ""


def _coerce_string(value: Any, type_: PropType, where: str) -> str:
    if not isinstance(value, str):
        forms = 'a string: "base64:…" or a URI' if type_.is_blob else "a string"
        raise _wrong(where, value, forms)
    if type_.enum_values is not None and value not in type_.enum_values:
        allowed = ", ".join(type_.enum_values)
        raise _wrong(f"invalid enum value '{value}' for {where} (expected: {allowed})", value, f"one of {allowed}")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise _wrong(where, value, "a string without unpaired surrogates")
    return value


def _coerce_vector(value: Any, type_: PropType, where: str) -> tuple[float, ...]:
    expected = f"an array of {type_.dimension} finite numbers"
    if not isinstance(value, list | tuple):
        raise _wrong(where, value, expected)
    if len(value) != type_.dimension:
        raise _wrong(f"{where} expects {type_.dimension} dimensions, got {len(value)}", value, expected)
    try:
        return tuple(_coerce_float(item, Scalar.F32, where) for item in value)
    except InvalidValue as error:
        raise _wrong(f"{where}: vector elements must be numeric", value, expected) from error


def coerce_text(text: str, type_: PropType, where: str) -> Any:
    """The stored value of a text, as `@default` has it. Lists, vectors and blobs have no text form."""
    scalar = type_.scalar
    if type_.is_list or type_.is_vector or type_.is_blob:
        raise _wrong(where, text, f"no text: {type_} has no literal form")
    if scalar is Scalar.BOOL:
        if text not in ("true", "false"):
            raise _wrong(where, text, "true or false")
        return text == "true"
    if scalar.is_integer and re.fullmatch(r"-?[0-9]{1,40}", text):
        return _coerce_integer(int(text), scalar, where)
    if scalar.is_float and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        return _coerce_float(float(text), scalar, where)
    if scalar.is_numeric:
        raise _wrong(where, text, f"a number ({scalar.value})")
    return _coerce_scalar(text, type_, where)


def _wrong(what: str, value: Any, expected: str) -> InvalidValue:
    return InvalidValue(what=what, value=_shown(value), expected=expected)


def _shown(value: Any) -> str:
    """A value for a message: as JSON, cut when it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= 80 else f"{text[:77]}..."
