"""A late dataclass behaves as the standard one does, and compiles nothing before it is used."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import pydoc
import sys
from dataclasses import field
from typing import Any, ClassVar

import pytest

import omnigraph
from omnigraph.model.late_dataclass import dataclass


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """All that our classes use."""

    kind: ClassVar[str] = "fact"
    name: str
    size: int = 0
    tags: tuple[str, ...] = ()
    notes: dict[str, int] = field(default_factory=dict, hash=False)
    seen: list[int] = field(default_factory=list, compare=False, repr=False)
    born: str = field(default="here", init=False)


@dataclass(frozen=True, slots=True)
class Late:
    """All that our classes use."""

    kind: ClassVar[str] = "fact"
    name: str
    size: int = 0
    tags: tuple[str, ...] = ()
    notes: dict[str, int] = field(default_factory=dict, hash=False)
    seen: list[int] = field(default_factory=list, compare=False, repr=False)
    born: str = field(default="here", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    left: int = 1
    right: int

    def __post_init__(self) -> None:
        if self.right < self.left:
            raise ValueError("the wrong way round")


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class OwnMethods:
    """What is written by hand stays."""

    value: int

    def __repr__(self) -> str:
        return f"<{self.value}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnMethods) and self.value % 10 == other.value % 10

    def __hash__(self) -> int:
        return self.value % 10


@dataclass(frozen=True, slots=True)
class OwnEquality:
    value: int
    set_value: int = 0
    make_value: list[int] = field(default_factory=list, hash=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnEquality)


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 1), {"tags": ("x",)}),
    (("b", 1, ("x",), {"n": 1}, [1, 2]), {}),
    ((), {"name": "a", "seen": [3]}),
]
BAD: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("a",), {"name": "b"}),
    (("a",), {"other": 1}),
    (("a",), {"born": "x"}),
]


@pytest.mark.parametrize(("args", "kwargs"), ARGUMENTS)
def test_instances_hold_and_show_what_standard_ones_do(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    late, standard = Late(*args, **kwargs), Standard(*args, **kwargs)
    assert dataclasses.asdict(late) == dataclasses.asdict(standard)
    assert repr(late) == repr(standard).replace("Standard", "Late")
    assert hash(late) == hash(standard)
    assert Late.__match_args__ == Standard.__match_args__  # type: ignore[attr-defined]


@pytest.mark.parametrize(("args", "kwargs"), BAD)
def test_calls_that_the_standard_one_refuses_are_refused_in_the_same_words(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(TypeError) as late:
        Late(*args, **kwargs)
    with pytest.raises(TypeError) as standard:
        Standard(*args, **kwargs)
    assert str(late.value) == str(standard.value).replace("Standard", "Late")


def test_equality_is_of_one_class_and_of_compared_fields() -> None:
    assert Late("a", seen=[1]) == Late("a", seen=[2])
    assert Late("a") != Late("a", 1)
    assert Late("a") != Standard("a")
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1
    assert OwnMethods(1) == OwnMethods(11)
    assert repr(OwnMethods(3)) == "<3>"
    assert hash(OwnEquality(1)) == hash(OwnEquality(1, 0, [2]))
    assert OwnEquality(1, 5).set_value == 5


def test_nothing_can_be_assigned_or_deleted_or_added() -> None:
    late: Any = Late("a")
    for change in (lambda: setattr(late, "name", "b"), lambda: delattr(late, "name"), lambda: setattr(late, "x", 1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert not hasattr(late, "__dict__")
    assert late == Late("a")


def test_copies_pickles_and_replacements_are_equal() -> None:
    late = Late("a", 1, ("t",), {"n": 1})
    assert copy.copy(late) == late
    assert copy.deepcopy(late) == late
    assert pickle.loads(pickle.dumps(late)) == late
    assert dataclasses.replace(late, size=2) == Late("a", 2, ("t",), {"n": 1})


def test_keyword_only_fields_and_the_check_after_construction() -> None:
    assert Named(right=2).left == 1
    with pytest.raises(ValueError, match="wrong way"):
        Named(right=0)
    with pytest.raises(TypeError):
        Named(1, 2)  # type: ignore[misc]


def test_it_matches_patterns() -> None:
    match Late("a", 5):
        case Late(name, size):
            assert (name, size) == ("a", 5)
        case _:
            pytest.fail("no match")


def test_a_class_that_is_never_used_has_compiled_nothing() -> None:
    @dataclass(frozen=True, slots=True)
    class Unused:
        value: int

    assert not inspect.isfunction(vars(Unused)["__init__"])
    Unused(1)
    assert inspect.isfunction(vars(Unused)["__init__"])
    assert not inspect.isfunction(vars(Unused)["__hash__"])


def test_signature_and_help_are_those_of_the_standard_one() -> None:
    assert str(inspect.signature(Late)) == str(inspect.signature(Standard))
    assert str(inspect.signature(Late.__init__)) == str(inspect.signature(Standard.__init__))
    assert "Late(name: 'str', size: 'int' = 0" in pydoc.plain(pydoc.render_doc(Late))


def test_every_dataclass_of_the_package_shows_its_fields_in_its_signature() -> None:
    for found in pkgutil.walk_packages(omnigraph.__path__, "omnigraph."):
        if found.name != "omnigraph.cli.__main__":
            importlib.import_module(found.name)
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("omnigraph.")]
    classes = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    late = [each for each in classes if each.__module__.startswith("omnigraph.") and dataclasses.is_dataclass(each)]
    assert len(late) > 200
    for each in late:
        if "__init__" in vars(each):
            shown = {name: part.default for name, part in inspect.signature(each).parameters.items()}
            fields = [field for field in dataclasses.fields(each) if field.init]
            assert set(shown) == {field.name for field in fields}, each
            for field_ in fields:
                if field_.default is not dataclasses.MISSING:
                    assert shown[field_.name] == field_.default, each
                elif field_.default_factory is dataclasses.MISSING:
                    assert shown[field_.name] is inspect.Parameter.empty, each


def test_other_kinds_of_classes_are_standard_ones() -> None:
    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        value: int

    @dataclass
    class Plain:
        value: int

    assert Ordered(1) < Ordered(2)
    plain = Plain(1)
    plain.value = 2
    assert plain == Plain(2)


def test_frozen_classes_inherit_from_it_and_others_cannot() -> None:
    @dataclass(frozen=True, slots=True)
    class More(Late):
        more: int = 7

    assert More("a", more=8).more == 8
    assert More("a") == More("a")
    assert More("a") != Late("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        More("a").more = 9  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Open", (Late,), {}))
