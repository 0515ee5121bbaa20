"""Shares of queues over time, and fairness over the last week, held against sums worked out by hand."""

from __future__ import annotations

import pytest

from vsched.lab.trace.shares import WEEK_SECONDS, SharesOverTime


def two_queues(
    *moments: tuple[float, tuple[int, int], tuple[int, int]], weights: tuple[int, int] = (1, 1)
) -> SharesOverTime:
    """Of a cluster of 10: moments with what a and b use, and what they wait for."""
    shares = SharesOverTime(dict(zip("ab", weights, strict=True)), 10.0)
    for now, used, waiting in moments:
        shares.sample(now, dict(zip("ab", used, strict=True)), dict(zip("ab", waiting, strict=True)))
    return shares


def test_lines_are_averages_as_parts_of_the_capacity() -> None:
    shares = two_queues((0, (10, 0), (0, 5)), (50, (5, 5), (0, 0)))
    assert shares.lines([0.0, 100.0, 200.0]) == {
        "a": {"used": [0.75, 0.5], "waiting": [0.0, 0.0]},
        "b": {"used": [0.25, 0.5], "waiting": [0.25, 0.0]},
    }


def test_a_moment_recorded_again_replaces_the_last_record() -> None:
    shares = two_queues((0, (10, 0), (0, 0)), (50, (0, 0), (0, 0)))
    shares.forget_last()
    shares.sample(50.0, {"a": 10}, {})
    assert shares.lines([0.0, 100.0])["a"]["used"] == [1.0]


@pytest.mark.parametrize(
    ("moments", "weights", "at", "index"),
    [
        pytest.param([(0, (5, 5), (5, 5))], (1, 1), 100, 1.0, id="1 where both get the half that they are due"),
        pytest.param([(0, (10, 0), (0, 10))], (1, 1), 100, 0.5, id="a half where one of two gets nothing"),
        pytest.param([(0, (10, 0), (0, 0))], (1, 1), 100, 1.0, id="1 where the other wants nothing"),
        # b held all at first and a all later: over both times each had its half.
        pytest.param([(0, (0, 10), (10, 0)), (50, (10, 0), (0, 10))], (1, 1), 100, 1.0, id="made good later"),
        # a has 8 of 10 for all of the time and b 2; due are 5 each, and a counts as content.
        pytest.param([(0, (8, 2), (0, 8))], (1, 1), 100, (1.4**2) / (2 * (1 + 0.4**2)), id="in part"),
        pytest.param([(0, (8, 2), (0, 8))], (4, 1), 100, 1.0, id="1 where the shares are those of the weights"),
    ],
)
def test_fairness_over_the_time_so_far_is(
    moments: list[tuple[float, tuple[int, int], tuple[int, int]]], weights: tuple[int, int], at: float, index: float
) -> None:
    assert two_queues(*moments, weights=weights).fairness([at]) == [pytest.approx(index)]


def test_what_was_more_than_a_week_ago_is_forgotten() -> None:
    shares = two_queues((0, (10, 0), (0, 10)), (WEEK_SECONDS, (5, 5), (5, 5)))
    found = shares.fairness([WEEK_SECONDS, 1.5 * WEEK_SECONDS, 2 * WEEK_SECONDS])
    assert found[0] == pytest.approx(0.5)
    assert 0.5 < found[1] < 1.0
    assert found[2] == pytest.approx(1.0)


def test_before_anything_happened_all_is_fair() -> None:
    assert two_queues().fairness([1.0]) == [1.0]
    assert two_queues((5.0, (10, 0), (0, 10))).fairness([5.0]) == [1.0]
