"""The reference pages are complete: every method of `Graph` with its options and an example, every error code."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import pytest

import omnigraph as og
from docs.manual import blocks_of, text_of

PYTHON, ERRORS = "docs/python.md", "docs/errors.md"
METHODS = [name for name in dir(og.Graph) if not name.startswith("_") and name not in ("init", "open")]


def section_of(title: str) -> str:
    found = re.search(rf"^### `{re.escape(title)}`$.*?(?=^##|\Z)", text_of(PYTHON), re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_a_graph_has_a_section_with_an_example(name: str) -> None:
    section = section_of(f"graph.{name}")
    assert "```python" in section, f"{PYTHON} has no section `graph.{name}` with an example"
    assert re.search(rf"\b\w+(\(\"draft\"\))?\.{name}\b", section.split("```python")[1])


@pytest.mark.parametrize("name", [*METHODS, "og.init", "og.open"])
def test_every_option_of_a_method_is_explained(name: str) -> None:
    section = section_of(name if "." in name else f"graph.{name}")
    home = getattr(og, name.removeprefix("og.")) if "." in name else inspect.getattr_static(og.Graph, name)
    if not callable(home):
        return
    options = [
        option.name
        for option in inspect.signature(home).parameters.values()
        if option.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    assert [option for option in options if not re.search(rf"[`\[]{option}\b|{option}=", section)] == []


def error_codes() -> Iterator[str]:
    for module in pkgutil.walk_packages(importlib.import_module("omnigraph").__path__, "omnigraph."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    pending = [og.OmniGraphError]
    while pending:
        for error in pending.pop().__subclasses__():
            if error.__module__.startswith("omnigraph."):
                pending.append(error)
                yield error.code


def test_every_error_code_is_explained_and_no_other() -> None:
    listed = [
        code
        for cell in re.findall(r"^\| (`.+?) \|", text_of(ERRORS), re.MULTILINE)
        for code in re.findall(r"`(\w+)`", cell)
    ]
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) == {*error_codes(), "usage"}


def test_the_families_of_errors_are_explained() -> None:
    families = {
        error.__name__ for error in og.OmniGraphError.__subclasses__() if error.__module__ == "omnigraph.model.errors"
    }
    table = text_of(ERRORS).split("## The input is wrong")[0]
    shown = {name: f"`og.{name}`" if hasattr(og, name) else f"`og.errors.{name}`" for name in families}
    assert {name for name in families if shown[name] not in table} == set()


def test_every_error_of_the_page_is_in_og_errors() -> None:
    named = re.findall(r"`og\.errors\.(\w+)`", text_of(ERRORS) + text_of(PYTHON))
    assert {name for name in named if not hasattr(og.errors, name)} == set()


def test_the_reference_shows_what_is_printed() -> None:
    assert len(blocks_of(PYTHON, "output")) > 20
