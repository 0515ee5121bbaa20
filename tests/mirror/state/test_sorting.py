"""Many keys are sorted in steps as they would be at once."""

from __future__ import annotations

from collections.abc import Generator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.mirror.state.sorting import RUN, sorting


def with_steps(steps: Generator[None, None, list[str]]) -> tuple[list[str], int]:
    """The result, and how many steps it took."""
    taken = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, taken
        taken += 1


@given(st.lists(st.text("ab/", max_size=4)), st.integers(1, 70))
def test_keys_come_in_order_however_long_a_run_is(keys: list[str], run: int) -> None:
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
