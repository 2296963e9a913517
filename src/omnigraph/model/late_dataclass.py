"""Dataclasses whose methods are made when they are first called.

The standard decorator compiles six methods for every frozen class that is imported. A short command imports some three
hundred such classes and uses a few dozen of them: compiling was a third of its time. This one is the same decorator to
type checkers and to its users; for frozen classes with slots it compiles the constructor, equality and the hash when
each is first looked up, and shares the other methods. `inspect.signature` and `help` look them up too, so they show the
real signature. Every other kind of class, and what inherits from a dataclass, goes to the standard decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass`, and late where the class is frozen and has slots."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        is_plain = options.keys() <= {"frozen", "slots", "kw_only"}
        inherits = any(map(dataclasses.is_dataclass, cls.__bases__))
        if is_plain and not inherits and options.get("frozen") and options.get("slots"):
            return _late(cls, options.get("kw_only", False))
        return dataclasses.dataclass(cls, **options)


Class = TypeVar("Class", bound=type)


def _late(cls: Class, kw_only: bool) -> Class:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard decorator describes a constructor that is not there
    written = {name for name, value in vars(cls).items() if value is not None}  # an own __eq__ leaves None for __hash__
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    made.__dataclass_params__.frozen = True  # what inherits from it must be so too
    methods = {
        "__init__": _AtFirstUse(made, "__init__", _init),
        "__eq__": _AtFirstUse(made, "__eq__", _eq),
        "__hash__": _AtFirstUse(made, "__hash__", _hash),
        "__repr__": _repr,
        "__setattr__": _refuse_set,
        "__delattr__": _refuse_delete,
        "__getstate__": _get_state,
        "__setstate__": _set_state,
    }
    for name, method in methods.items():
        if name not in written:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


class _AtFirstUse:
    """A placeholder for a method: the first lookup replaces it with the method."""

    __slots__ = ("_cls", "_make", "_name")

    def __init__(self, cls: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
        self._cls, self._name, self._make = cls, name, make

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        method: Any = self._make(self._cls)
        setattr(self._cls, self._name, method)
        return method if instance is None else method.__get__(instance, owner)


class _Factory:
    """The default of a field with a default factory; shown as the standard library shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _compiled(cls: Any, name: str, source: str, space: dict[str, Any]) -> Callable[..., Any]:
    exec(source, space)
    made: Callable[..., Any] = space[name]
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    return made


def _init(cls: Any) -> Callable[..., None]:
    """The constructor. It sets the slots themselves: the class refuses all other ways."""
    space: dict[str, Any] = {"__factory": _FACTORY}
    positional: list[str] = ["self"]
    named: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        space[f"__set_{name}"] = getattr(cls, name).__set__
        if field.default_factory is not dataclasses.MISSING:
            space[f"__make_{name}"] = field.default_factory
            value = f"(__make_{name}() if {name} is __factory else {name})" if field.init else f"__make_{name}()"
            parameter = f"{name}=__factory"
        elif field.default is not dataclasses.MISSING:
            space[f"__default_{name}"] = field.default
            value = name if field.init else f"__default_{name}"
            parameter = f"{name}=__default_{name}"
        elif field.init:
            parameter = name
        else:
            continue  # the class that declares such a field sets it
        if field.init:
            (named if field.kw_only else positional).append(parameter)
        body.append(f"  __set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("  self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *named] if named else [])])
    made = _compiled(cls, "__init__", f"def __init__({parameters}):\n" + "\n".join(body or ["  pass"]), space)
    made.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls) if field.init} | {
        "return": None
    }
    return made


def _eq(cls: Any) -> Callable[..., bool]:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    own, others = (f"({''.join(f'{which}.{name},' for name in names)})" for which in ("self", "other"))
    source = f"""def __eq__(self, other):
  if other.__class__ is not self.__class__:
    return NotImplemented
  return {own} == {others}"""
    return _compiled(cls, "__eq__", source, {})


def _hash(cls: Any) -> Callable[..., int]:
    hashed = [each for each in dataclasses.fields(cls) if (each.compare if each.hash is None else each.hash)]
    values = "".join(f"self.{field.name}," for field in hashed)
    return _compiled(cls, "__hash__", f"def __hash__(self):\n  return hash(({values}))", {})


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_set(self: Any, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
