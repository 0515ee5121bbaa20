"""Sorting in runs that are merged: the order is that of ``sorted``."""

from __future__ import annotations

from collections.abc import Generator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.sorting import RUN, in_order, sorting


def with_steps(steps: Generator[None, None, list[str]]) -> tuple[list[str], int]:
    """The result, and how many steps it took."""
    taken = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, taken
        taken += 1


@given(st.lists(st.tuples(st.integers(0, 5), st.text(max_size=2))), st.integers(1, 70))
def test_whatever_comes_is_in_the_order_of_sorted(items: list[tuple[int, str]], run: int) -> None:
    assert in_order(iter(items), run) == sorted(items)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 9, 17])
def test_every_number_of_runs_is_merged(count: int) -> None:
    backwards = list(range(count, 0, -1))
    assert in_order(backwards, 4) == sorted(backwards)


@given(st.lists(st.sampled_from([1.0, True, 1, 0.0, False, 0])), st.integers(1, 70))
def test_equal_things_keep_their_order(ones: list[float], run: int) -> None:
    assert list(map(repr, in_order(ones, run))) == list(map(repr, sorted(ones)))


@given(st.lists(st.text("ab/", max_size=4)), st.integers(1, 70))
def test_it_takes_steps_where_there_is_more_than_one_run(keys: list[str], run: int) -> None:
    found, steps = with_steps(sorting(keys, run))
    assert found == sorted(keys)
    assert (steps > 0) == (len(keys) > run)


@pytest.mark.parametrize("scattered", [pytest.param(True, id="in-any-order"), pytest.param(False, id="in-order")])
def test_no_step_is_about_many_of_a_hundred_thousand_keys(scattered: bool) -> None:
    keys = sorted(f"team-{number % 10}/job-{number}" for number in range(100_000))
    if scattered:
        Random(7).shuffle(keys)
    found, steps = with_steps(sorting(keys))
    assert found == sorted(keys)
    assert steps >= 2 * (len(keys) // RUN)
