"""Faces: a folder offers its names in its `__init__.py`, and other folders take them from there."""

from __future__ import annotations

import ast
import importlib

import pytest

from house.sources import Module, imports, modules

NAMES_MAX = 60
OPEN_ROOMS = ("omnigraph.model",)
"""The shared vocabulary: its modules are its face."""

FACES = [module for module in modules().values() if module.is_face]


def late_table(face: Module) -> dict[str, tuple[str, ...]]:
    """The table that a face gives to `late_names`, if it has one."""
    for node in ast.walk(face.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "late_names":
            table: dict[str, tuple[str, ...]] = ast.literal_eval(node.args[1])
            return table
    return {}


@pytest.mark.parametrize("face", [face for face in FACES if late_table(face)], ids=lambda face: face.name)
def test_what_a_face_offers_late_is_what_it_shows_to_type_checkers(face: Module) -> None:
    table = late_table(face)
    shown = {(f"{each.module}", name) for each in imports(face) if each.for_types_only for name in each.names}
    assert shown == {(f"{face.name}.{module}", name) for module, names in table.items() for name in names}
    opened = importlib.import_module(face.name)
    for names in table.values():
        for name in names:
            assert getattr(opened, name) is not None
    assert set(dir(opened)) >= {name for names in table.values() for name in names}


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
def test_a_face_reads_like_a_table_of_contents(face: Module) -> None:
    offered = [each for each in imports(face) if not each.module.startswith("omnigraph.model.late")]
    names = [name for each in offered for name in each.names]
    assert len(set(names)) <= NAMES_MAX


def test_a_name_of_a_face_is_not_the_name_of_one_of_its_modules() -> None:
    """Otherwise what `from folder import name` gives depends on what was imported before."""
    known = modules()
    for face in FACES:
        for names in late_table(face).values():
            assert [name for name in names if f"{face.name}.{name}" in known] == []


def test_folders_use_each_others_faces() -> None:
    known, around = modules(), []
    for module in known.values():
        for each in imports(module):
            target = known.get(each.module)
            if target is None or target.is_face or target.folder in OPEN_ROOMS:
                continue
            is_inside = module.folder == target.folder or module.folder.startswith(f"{target.folder}.")
            if not is_inside:
                around.append(f"{module.name}:{each.line} imports from {each.module}")
    assert around == []
