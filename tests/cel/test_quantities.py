"""Quantities in the form the server answers with."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.cel import words
from vsched.cel.quantities import NotAQuantity, amount, canonical, total

_CANONICAL = {
    "a fraction of a core is in milli-units": ("0.5", "500m"),
    "a JSON number is a quantity": (0.5, "500m"),
    "a whole JSON number too": (2, "2"),
    "ten to the ninth is one giga": ("1000000000", "1G"),
    "a thousand is one kilo": ("1000", "1k"),
    "1024 mebibytes are one gibibyte": ("1024Mi", "1Gi"),
    "half gibibytes are written in mebibytes": ("1.5Gi", "1536Mi"),
    "below 1024 a binary amount is plain": ("0.5Ki", "512"),
    "a fraction of a byte is shown rather than lost": ("1.3Ki", "1331200m"),
    "1500 milli is kept": ("1500m", "1500m"),
    "1000 milli is one": ("1000m", "1"),
    "an exponent stays an exponent": ("1e3", "1e3"),
    "trailing zeros go": ("1.0", "1"),
    "a plus sign goes": ("+5", "5"),
    "negative amounts are allowed": ("-1.5", "-1500m"),
    "less than a billionth is rounded up": ("0.0000000001", "1n"),
    "more than the server holds is cut": ("12E", "9223372036854775807"),
    "nothing is nothing": ("0Gi", "0"),
}


@pytest.mark.parametrize(("given_value", "expected"), _CANONICAL.values(), ids=_CANONICAL)
def test_canonical(given_value: str | float, expected: str) -> None:
    assert canonical(given_value) == expected


_REFUSED = {
    "letters are not a quantity": ("abc", words.WRONG_FORMAT),
    "nothing is not a quantity": ("", words.WRONG_FORMAT),
    "two points are not a number": ("1.2.3", words.WRONG_FORMAT),
    "kilo is a small k": ("1K", words.WRONG_SUFFIX),
    "a suffix needs a number": ("Gi", words.WRONG_NUMBER),
}


@pytest.mark.parametrize(("text", "message"), _REFUSED.values(), ids=_REFUSED)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(NotAQuantity) as error:
        canonical(text)
    assert str(error.value) == message


_SUFFIXES = st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2"])


@given(st.integers(-(10**9), 10**9), st.integers(0, 3), _SUFFIXES)
def test_the_canonical_form_means_the_same_and_is_final(number: int, places: int, suffix: str) -> None:
    text = f"{Decimal(number).scaleb(-places):f}{suffix}"
    once = canonical(text)
    assert canonical(once) == once
    assert amount(once) == amount(text)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=5))
def test_totals_are_exact(values: list[int]) -> None:
    assert amount(total([f"{value}m" for value in values])) * 1000 == sum(values)


def test_a_total_keeps_the_style_of_its_first_amount() -> None:
    assert total(["1Gi", "1Gi"]) == "2Gi"
    assert total(["0", "500m", "1500m"]) == "2"
