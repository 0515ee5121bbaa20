"""Sorting in runs that are merged: the order is that of ``sorted``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.sorting import in_order


@given(st.lists(st.tuples(st.integers(0, 5), st.text(max_size=2))), st.integers(1, 5))
def test_whatever_comes_is_in_the_order_of_sorted(items: list[tuple[int, str]], run_length: int) -> None:
    assert in_order(iter(items), run_length) == sorted(items)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 9, 17])
def test_every_number_of_runs_is_merged(count: int) -> None:
    backwards = list(range(count, 0, -1))
    assert in_order(backwards, 4) == sorted(backwards)


def test_equal_things_keep_their_order() -> None:
    ones = [1.0, True, 1, 0.0, False]
    assert list(map(repr, in_order(ones, 2))) == list(map(repr, sorted(ones)))
