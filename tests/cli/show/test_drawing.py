"""Bars, heat and amounts: what tables are drawn with."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cli.show.drawing import BLOCKS, PLAIN_BLOCKS, bar, cut, heat, look_for, short

PLAIN = look_for(100, wide=False, unicode=False)
FINE = look_for(100, wide=False, unicode=True)


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        pytest.param({"whole": 8, "used": 4}, "####....", id="a half"),
        pytest.param({"whole": 8, "used": 0}, "........", id="nothing"),
        pytest.param({"whole": 8000, "used": 1}, "#.......", id="little is seen"),
        pytest.param({"whole": 8, "used": 80}, "########", id="no more than all"),
        pytest.param({"whole": 8, "used": 2, "fair": 4}, "##..|...", id="less than fair"),
        pytest.param({"whole": 8, "used": 6, "fair": 2}, "##|###..", id="more than fair"),
        pytest.param({"whole": 8, "used": 2, "reserved": 5}, "##+++...", id="what is kept beyond what is held"),
        pytest.param({"whole": 8, "used": 6, "reserved": 5}, "######..", id="what is kept and held"),
        pytest.param({"whole": None, "used": 6}, "        ", id="nobody knows the whole"),
    ],
)
def test_bars(drawn: dict[str, Any], text: str) -> None:
    assert bar(PLAIN, **drawn).plain == text


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.none() | st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_bar_is_as_long_as_there_is_room(whole: float, held: float, fair: float | None, kept: float) -> None:
    assert bar(FINE, whole, held, fair=fair, reserved=kept).cell_len == FINE.cells


def test_where_there_is_no_room_for_bars_there_are_none() -> None:
    assert bar(look_for(80, wide=False, unicode=True), 8, 4, fair=2).plain == ""


def test_heat_says_how_much_of_each_is_taken() -> None:
    assert heat([0.0, 0.01, 0.5, 0.99, 1.0], 10).plain == f"·{BLOCKS[0]}{BLOCKS[4]}{BLOCKS[7]}{BLOCKS[7]}"
    assert heat([0.0, 0.5], 10, unicode=False).plain == f"_{PLAIN_BLOCKS[4]}"
    assert heat([0.0, 1.0, 1.0, 1.0], 2).plain == f"{BLOCKS[4]}{BLOCKS[7]}"


@given(st.lists(st.floats(0, 1), max_size=60), st.integers(1, 30), st.booleans())
def test_a_line_of_heat_fits_and_leaves_nobody_out(parts: list[float], width: int, unicode: bool) -> None:
    line = heat(parts, width, unicode=unicode)
    assert line.cell_len == min(len(parts), width)
    assert line.plain.isascii() or unicode


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("cpu", 1500, "1.5"),
        ("cpu", 12_345_000, "12.3k"),
        ("memory", 3 << 30, "3Gi"),
        ("memory", 1000 << 20, "0.977Gi"),
        ("pods", 110, "110"),
        ("pods", 115_000, "115k"),
        ("nvidia.com/gpu", 8000, "8"),
        ("cpu", None, "-"),
    ],
)
def test_amounts_in_few_digits(name: str, value: int | None, text: str) -> None:
    assert short(name, value) == text


@pytest.mark.parametrize(
    ("width", "unicode", "text"), [(6, True, "long …"), (6, False, "lon..."), (9, True, "long text")]
)
def test_texts_are_cut(width: int, unicode: bool, text: str) -> None:
    assert cut("long text", width, FINE if unicode else PLAIN) == text
