"""Pretty JSON is exactly what the standard library gives with an indent of two."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.model.errors import Json
from omnigraph.model.pretty_json import pretty

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_it_equals_the_standard_encoder(value: Json) -> None:
    assert pretty(value) == json.dumps(value, indent=2, ensure_ascii=False)
