"""Quantities as exact integers, and back."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.errors import BadQuantity
from vsched.model.amounts.quantity import UNLIMITED, format_bytes, format_milli, parse_quantity

MILLI: dict[str, tuple[str, int]] = {
    "whole": ("2", 2000),
    "milli": ("250m", 250),
    "fraction": ("0.5", 500),
    "fraction without a whole part": (".5", 500),
    "whole part without a fraction": ("5.", 5000),
    "sign": ("+3", 3000),
    "finer than milli is rounded up": ("100u", 1),
    "nano is rounded up": ("1n", 1),
    "negative is rounded away from zero": ("-1n", -1),
    "binary suffix": ("1Ki", 1024000),
    "decimal suffix": ("1k", 1000000),
    "exponent": ("1e3", 1000000),
    "negative exponent": ("12E-1", 1200),
    "E is exa where no exponent follows": ("1E", UNLIMITED),
    "beyond all bounds": ("9" * 90, UNLIMITED),
    "zero": ("0", 0),
}


@pytest.mark.parametrize(("text", "expected"), MILLI.values(), ids=MILLI)
def test_milli_units(text: str, expected: int) -> None:
    assert parse_quantity(text, 1000) == expected


@pytest.mark.parametrize(("text", "expected"), [("1Gi", 1 << 30), ("1.5Gi", 3 << 29), ("1G", 10**9), ("100m", 1)])
def test_bytes(text: str, expected: int) -> None:
    assert parse_quantity(text) == expected


@pytest.mark.parametrize(
    "text", ["", " ", "1 Gi", "1gi", "GiB", "1e", "--1", "1.2.3", "0x10", "NaN", "9" * 9999, "1_0"]
)
def test_what_is_no_quantity_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(BadQuantity) as caught:
        parse_quantity(text)
    assert len(str(caught.value)) < 300


@given(st.decimals(min_value=0, max_value=10**9, places=6, allow_nan=False), st.sampled_from([1, 1000]))
def test_amounts_are_rounded_up_to_the_base_unit(value: Decimal, scale: int) -> None:
    assert parse_quantity(f"{value:f}", scale) == int((value * scale).to_integral_value(ROUND_UP))


@given(st.integers(0, 1 << 60))
def test_what_is_written_reads_back(value: int) -> None:
    assert parse_quantity(format_milli(value), 1000) == min(value, UNLIMITED)
    assert parse_quantity(format_bytes(value)) == value
