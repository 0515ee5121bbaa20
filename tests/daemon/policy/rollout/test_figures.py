"""What a rollout is judged by: quantiles to a few percent, and an hour that stays small."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.daemon.policy.rollout.figures import Counts, Window, figures_of, quantile, times_of
from vsched.settings.rollout import Measure

SECONDS = st.floats(1e-3, 1e6)


@given(st.lists(SECONDS, min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_quantile_is_that_of_the_sorted_times_to_three_percent(seconds: list[float], part: float) -> None:
    exact = sorted(seconds)[math.ceil(part * len(seconds)) - 1]
    assert quantile(times_of(seconds), part) == pytest.approx(exact, rel=0.03)


@given(st.lists(st.floats(0, 1e9), max_size=2000))
def test_there_are_few_classes_of_times(seconds: list[float]) -> None:
    assert len(times_of(seconds)) <= 473


def test_without_times_there_is_no_figure() -> None:
    assert figures_of(Window(), {}) == {Measure.EVICTIONS: 0, Measure.IN_VAIN: 0}


def test_pods_that_wait_count_with_their_age() -> None:
    window = Window().adding(0.0, Counts(waits=times_of([1.0] * 10)))
    assert figures_of(window, times_of([100.0] * 10))[Measure.WAIT] == pytest.approx(100.0, rel=0.03)


def test_what_is_older_than_an_hour_no_longer_counts() -> None:
    window = Window().adding(0.0, Counts(evictions=3)).adding(2999.0, Counts(evictions=4))
    assert figures_of(window, {})[Measure.EVICTIONS] == 7
    assert figures_of(window.adding(3600.0, Counts()), {})[Measure.EVICTIONS] == 4


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 9), SECONDS), max_size=40))
def test_an_hour_stays_small_and_is_read_back_as_it_was_written(happened: list[tuple[float, int, float]]) -> None:
    window = Window()
    for clock, evictions, seconds in sorted(happened):
        window = window.adding(clock, Counts(evictions, waits=times_of([seconds])))
    assert len(window.parts) <= 6
    assert msgspec.json.decode(msgspec.json.encode(window), type=Window) == window
