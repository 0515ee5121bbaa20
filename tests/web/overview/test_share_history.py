"""Shares of queues over time, in memory of a fixed size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.web.overview.share_history import HOUR, QUEUES_MAX, SPANS, WEEK, HistorySpan, ShareHistory
from vsched.web.overview.share_series import QueueSeries, share_series
from vsched.web.overview.shares import WHOLE, QueueShares

BEGIN = 6_000_000.0
"""A time at which a step of either span begins."""
IDLE = QueueShares(0.0, 0.25, 0.0)


def busy(held: float = 0.5) -> QueueShares:
    return QueueShares(held, 0.25, 1.5)


def filled(seconds: float, every: float = 10.0, **queues: QueueShares) -> ShareHistory:
    history = ShareHistory()
    for at in np.arange(BEGIN, BEGIN + seconds, every).tolist():
        history.add(at, {WHOLE: IDLE, **queues})
    return history


def series(history: ShareHistory, span: HistorySpan, queue: str, points: int = 10_000) -> QueueSeries:
    [found] = share_series(history, span, points, queue).queues
    return found


def test_a_sample_is_due_in_every_step_and_once() -> None:
    history = ShareHistory()
    assert history.is_due(BEGIN)
    history.add(BEGIN + 3, {"q": busy()})
    assert not history.is_due(BEGIN + 9.9)
    assert history.is_due(BEGIN + 10)


def test_the_hour_has_every_sample_and_the_week_their_means() -> None:
    history = ShareHistory()
    for number in range(90):
        history.add(BEGIN + 10 * number, {"q": QueueShares(number / 100, None, 0.0)})
    hour, week = share_series(history, HOUR, 1000, "q"), share_series(history, WEEK, 1000, "q")
    assert (hour.begins, hour.step_seconds, len(hour.queues[0].held)) == (BEGIN, 10, 90)
    assert hour.queues[0].held[:3] == pytest.approx((0, 0.01, 0.02), abs=1e-4)
    assert hour.queues[0].deserved == (None,) * 90
    assert (week.begins, week.step_seconds) == (BEGIN, 600)
    assert week.queues[0].held == pytest.approx((0.295, 0.745), abs=1e-3)


def test_the_oldest_steps_are_forgotten() -> None:
    found = share_series(filled(2 * 3600.0, q=busy()), HOUR, 1000, "q")
    assert len(found.queues[0].held) == HOUR.steps
    assert found.begins == BEGIN + 3600


def test_time_without_sessions_is_unknown() -> None:
    history = ShareHistory()
    for at in (0, 10, 50):
        history.add(BEGIN + at, {"q": busy()})
    assert series(history, HOUR, "q").held == (0.5, 0.5, None, None, None, 0.5)


@pytest.mark.parametrize(
    ("shift", "points"),
    [
        pytest.param(-30, 6, id="a clock set back a little: those steps have their samples already"),
        pytest.param(-7200, 1, id="set back by more than there is: anew"),
        pytest.param(1e9, 1, id="a leap ahead by more than there is: anew"),
    ],
)
def test_a_clock_that_was_set(shift: float, points: int) -> None:
    history = filled(60.0, q=busy())
    history.add(BEGIN + 50 + shift, {"q": busy(0.125)})
    held = series(history, HOUR, "q").held
    assert len(held) == points
    assert held[-1] == (0.5 if points > 1 else 0.125)


def test_fewer_points_are_means_of_several_steps_that_stay_the_same_as_time_goes_on() -> None:
    history = ShareHistory()
    for number in range(60):
        history.add(BEGIN + 10 * number, {"q": QueueShares(float(number % 6), None, 0.0)})
    found = share_series(history, HOUR, 10, "q")
    assert (found.begins, found.step_seconds) == (BEGIN, 60)
    assert found.queues[0].held == (2.5,) * 10
    history.add(BEGIN + 600, {"q": QueueShares(0.0, None, 0.0)})
    later = share_series(history, HOUR, 10, "q")
    assert later.begins % later.step_seconds == 0
    assert len(later.queues[0].held) <= 10


def test_the_cluster_comes_first_and_what_is_unknown_all_the_time_is_left_out() -> None:
    history = filled(30.0, b=busy(), a=IDLE)
    found = share_series(history, HOUR, 60)
    assert [one.queue for one in found.queues] == ["", "a", "b"]
    assert share_series(ShareHistory(), HOUR, 60).queues == ()
    with pytest.raises(KeyError):
        share_series(history, HOUR, 60, "c")


def test_of_many_queues_the_busiest_may_be_chosen() -> None:
    waits = QueueShares(0.0, 0.25, 3.0)
    history = filled(50.0, a=IDLE, b=busy(0.1), c=waits, d=busy(0.2))
    assert [one.queue for one in share_series(history, HOUR, 60, most=2).queues] == ["", "c", "d"]
    assert [one.queue for one in share_series(history, HOUR, 60, most=4).queues] == ["", "a", "b", "c", "d"]


def test_of_too_many_queues_those_that_are_idle_for_longest_give_way() -> None:
    history = ShareHistory(queues_max=3)
    history.add(BEGIN, {"a": busy(), "b": IDLE, "c": busy()})
    history.add(BEGIN + 10, {"a": busy(), "b": IDLE, "c": IDLE, "d": busy(), "e": IDLE})
    names = [one.queue for one in share_series(history, HOUR, 60).queues]
    assert (names, history.left_out) == (["a", "c", "d"], 2)
    assert series(history, HOUR, "d").held == (None, 0.5)
    history.add(BEGIN + 20, {name: busy() for name in "acdf"})
    assert history.left_out == 1, "none of those that are there is idle"


def test_shares_beyond_what_is_kept_stay_finite() -> None:
    history = filled(10.0, q=QueueShares(0.0, 0.0, 1e12))
    assert series(history, HOUR, "q").waiting == (pytest.approx(60_000, rel=1e-3),)


def test_all_of_it_has_a_size_that_is_known() -> None:
    shares = {f"queue-{number}": busy() for number in range(QUEUES_MAX + 100)}
    history = ShareHistory()
    for span in SPANS.values():
        for step in range(span.steps + 5):
            if step % 50 == 0 or step > span.steps:
                history.add(BEGIN + step * span.step_seconds, shares)
    assert history.size_bytes == (QUEUES_MAX + 1) * (HOUR.steps + WEEK.steps) * 3 * 2
    assert history.left_out == 100


@settings(max_examples=examples(50))
@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=40), st.integers(1, 400))
def test_answers_are_never_longer_than_asked_for_and_end_with_the_last_step(steps: list[int], points: int) -> None:
    history = ShareHistory()
    for number in sorted(steps):
        history.add(BEGIN + 10 * number, {"q": busy()})
    for span in SPANS.values():
        found = share_series(history, span, points, "q")
        held = found.queues[0].held
        assert len(held) <= points
        assert held[-1] == 0.5
        end = found.begins + len(held) * found.step_seconds
        assert end - found.step_seconds <= BEGIN + 10 * max(steps) < end
