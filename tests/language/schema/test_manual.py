"""The manual: every example compiles, every counter-example does not, and its tables name real things."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omnigraph.language import CompileError
from omnigraph.language.schema import compile_schema, format_schema, steps
from omnigraph.language.schema.annotations import KNOWN

_MANUAL = (Path(__file__).parents[3] / "docs" / "schema-language.md").read_text()
_BLOCKS = re.findall(r"^```pg( error)?\n(.*?)^```$", _MANUAL, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("mark", "text"), _BLOCKS)
def test_examples_of_the_manual_do_what_it_says(mark: str, text: str) -> None:
    if mark:
        with pytest.raises(CompileError):
            compile_schema(text)
        return
    compiled = compile_schema(text)
    assert compiled.warnings == ()
    assert compile_schema(format_schema(text)).ir == compiled.ir


def test_the_manual_shows_real_output() -> None:
    text = next(text for mark, text in _BLOCKS if mark and "Strin " in text)
    with pytest.raises(CompileError) as caught:
        compile_schema(text, file="people.pg")
    assert caught.value.render() in _MANUAL


def test_every_annotation_step_and_code_is_in_the_manual() -> None:
    classes = [item for item in vars(steps).values() if isinstance(item, type) and issubclass(item, steps.Step)]
    kinds = {item.kind for item in classes if hasattr(item, "kind")} - {"unsupported_change"}
    codes = {value for value in vars(steps).values() if isinstance(value, str) and value.startswith("OG-")}
    wanted = {f"`@{name}" for name in KNOWN} | {f"`{kind}`" for kind in kinds} | {f"`{code}`" for code in codes}
    assert {word for word in wanted if word not in _MANUAL} == set()
