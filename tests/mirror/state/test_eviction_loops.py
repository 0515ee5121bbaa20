"""Jobs that take from each other in turn, and how long they leave each other alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.mirror.state.eviction_loops import CEILING_SECONDS, FIRST_SECONDS, MEMORY_SECONDS, EvictionLoops


@pytest.mark.parametrize(
    ("takings", "seconds"),
    [
        pytest.param([("a", "b", 0)], 0, id="the first time"),
        pytest.param([("a", "b", 0), ("a", "b", 1)], 0, id="the same one takes again"),
        pytest.param([("a", "b", 0), ("b", "c", 1)], 0, id="the other one takes from a third"),
        pytest.param([("a", "b", 0), ("b", "a", 1)], 30, id="the other one takes back"),
        pytest.param([("a", "b", 0), ("b", "a", 1), ("b", "a", 1)], 0, id="and more in the same turn"),
        pytest.param([("a", "b", 0), ("b", "a", 1), ("a", "b", 40)], 60, id="then the first one again"),
        pytest.param([("a", "b", 0), ("b", "a", MEMORY_SECONDS + 1)], 0, id="so late that nobody remembers"),
        pytest.param([("a", "a", 0), ("a", "a", 1)], 0, id="a job takes from itself"),
        pytest.param([("", "a", 0), ("", "a", 1)], 0, id="for nobody"),
    ],
)
def test_how_long_jobs_leave_each_other_alone(takings: list[tuple[str, str, float]], seconds: float) -> None:
    loops = EvictionLoops()
    assert [loops.took(*each) for each in takings][-1] == seconds


def test_both_jobs_are_barred_until_the_time_is_over() -> None:
    loops = EvictionLoops()
    for taker, victim in (("a", "b"), ("b", "a"), ("c", "a"), ("a", "c")):
        loops.took(taker, victim, 100.0)
    assert loops.barred(100.0) == {"a": ("b", "c"), "b": ("a",), "c": ("a",)}
    assert loops.barred(100.0 + FIRST_SECONDS) == {}


@given(st.lists(st.floats(0.0, 5000.0), max_size=200))
def test_a_loop_turns_less_and_less(pauses: list[float]) -> None:
    """Jobs that take back as soon as they may, and some time later: the turns of a day are few."""
    loops, now, turns, until = EvictionLoops(), 0.0, 0, 0.0
    jobs = ["a", "b"]
    for pause in pauses:
        now = max(now, until) + min(pause, MEMORY_SECONDS)
        if now > CEILING_SECONDS:
            break
        seconds = loops.took(*jobs, now)
        jobs.reverse()
        turns, until = turns + (seconds > 0.0), now + seconds
    assert turns <= 13
