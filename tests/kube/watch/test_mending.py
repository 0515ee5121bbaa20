"""JSON that no decoder takes as a whole: what becomes of it, and that good JSON stays as it is."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kube.watch.mending import DEEPEST, mended

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(JSON)
def test_good_json_stays_as_it_is(value: Any) -> None:
    text = orjson.dumps(value)
    assert mended(text) == text


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        pytest.param(b'{"a": NaN, "b": [-Infinity]}', {"a": "NaN", "b": ["-Infinity"]}, id="numbers that are none"),
        pytest.param(b'{"NaN": "NaN [{", "b": 1}', {"NaN": "NaN [{", "b": 1}, id="text stays text"),
        pytest.param(rb'["\ud800", "\ud83d\ude00", "a\\"]', ["�", "\U0001f600", "a\\"], id="half a surrogate pair"),
        pytest.param(rb'["x\q", 1]', ["�", 1], id="an unknown escape"),
        pytest.param(
            b'{"deep": ' + b"[" * 5000 + b'"]"' + b"]" * 5000 + b', "b": [[1]]}',
            {"deep": "@", "b": [[1]]},
            id="what lies too deep is left out, what follows is not",
        ),
        pytest.param(
            b'{"deep": ' + b'{"a":' * 5000 + b"{}" + b"}" * 5000 + b', "b": 1}',
            {"deep": "@", "b": 1},
            id="maps that lie too deep likewise",
        ),
    ],
)
def test_what_is_bad_is_made_good(bad: bytes, good: dict[str, Any]) -> None:
    found = orjson.loads(mended(bad))
    if isinstance(good, dict) and "deep" in good:
        inner, depth = found.pop("deep"), 1
        while inner is not None:
            inner, depth = inner[0] if isinstance(inner, list) else inner["a"], depth + 1
        assert depth == DEEPEST
        good = {key: value for key, value in good.items() if key != "deep"}
    assert found == good


@given(st.binary(max_size=60))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    mended(data)
