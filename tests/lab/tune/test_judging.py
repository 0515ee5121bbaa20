"""Gains with their intervals, verdicts on overfitting, and the changes that a gain needs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.tune.periods import periods
from vsched.lab.tune.judging import GainEstimate, GainVerdict, gain, keeps_limits, needed, pareto, verdict
from vsched.lab.tune.objective import objective_of
from vsched.lab.tune.rewrite import TextChange

MEAN = objective_of('minimize: mean wait\nlimits: {max wait: "<= 1h"}\n', "o.yaml")


def test_a_gain_is_a_part_of_what_there_was_and_its_interval_follows_the_days() -> None:
    before = periods(waits=[[100.0] * 10] * 8)
    even = gain(MEAN, before, periods(waits=[[80.0] * 10] * 8), seed=1)
    assert (even.value, even.low, even.high) == pytest.approx((0.2, 0.2, 0.2)), "each day gains the same"
    once = gain(MEAN, before, periods(waits=[[0.0] * 10, *([100.0] * 10 for _ in range(7))]), seed=1)
    assert once.value == pytest.approx(0.125)
    assert once.low == 0.0, "it is the gain of one day, which may as well not come"
    assert once == gain(MEAN, before, periods(waits=[[0.0] * 10, *([100.0] * 10 for _ in range(7))]), seed=1)


def test_limits_are_of_the_whole_time() -> None:
    assert keeps_limits(MEAN, periods(waits=[[3600.0]] * 8))
    assert not keeps_limits(MEAN, periods(waits=[[1.0]] * 7 + [[3601.0]]))


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        pytest.param(GainEstimate(0.17, 0.1, 0.2), GainVerdict.HOLDS, id="most of it is left"),
        pytest.param(GainEstimate(0.05, 0.01, 0.1), GainVerdict.SHRINKS, id="less than half is left"),
        pytest.param(GainEstimate(0.17, -0.01, 0.3), GainVerdict.UNSURE, id="it may as well be none"),
        pytest.param(GainEstimate(0.0, 0.0, 0.0), GainVerdict.LOST, id="it is none"),
        pytest.param(GainEstimate(-0.1, -0.2, 0.1), GainVerdict.LOST, id="it is a loss"),
    ],
)
def test_a_gain_where_nothing_was_tuned(judged: GainEstimate, expected: GainVerdict) -> None:
    assert verdict(GainEstimate(0.18, 0.1, 0.2), judged) is expected


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(POINTS)
def test_nobody_beats_those_on_the_front_and_somebody_beats_or_equals_the_others(points: list[tuple[int, int]]) -> None:
    """The first is to be small, the second large."""
    front = pareto(points, [True, False])
    assert front
    for at, (small, large) in enumerate(points):
        better = [one for one in points if one[0] <= small and one[1] >= large and one != (small, large)]
        if at in front:
            assert not better
        else:
            assert better or points.index((small, large)) in front


def changes(count: int) -> tuple[TextChange, ...]:
    return tuple(TextChange("argument", "p", f"k{number}", "1") for number in range(count))


@given(st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.3]), min_size=1, max_size=6))
def test_changes_stay_if_undoing_them_loses_more_than_the_bound(worth: list[float]) -> None:
    all_of = changes(len(worth))

    def gain_with(several: Sequence[tuple[TextChange, ...]]) -> list[float | None]:
        return [sum(worth[all_of.index(one)] for one in some) for some in several]

    left = needed(all_of, gain_with, bound=0.2)
    kept = sum(worth[all_of.index(one)] for one in left)
    assert left
    assert kept >= 0.8 * sum(worth) - 1e-9
    if len(left) > 1:
        assert all(kept - worth[all_of.index(one)] < 0.8 * sum(worth) + 1e-9 for one in left)


def test_a_change_stays_where_a_limit_breaks_without_it() -> None:
    first, second = changes(2)

    def gain_with(several: Sequence[tuple[TextChange, ...]]) -> list[float | None]:
        return [1.0 if first in some else None for some in several]

    assert needed((first, second), gain_with, bound=0.5) == (first,)
