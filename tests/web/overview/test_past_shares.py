"""Shares of the hours before a daemon began, worked out from the usage history."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.mirror.accounts.history import HistoryBook
from vsched.model.amounts.resources import CPU, MEMORY, ResourceAxis
from vsched.model.history.records import HOUR_SECONDS, NO_HISTORY, Holder, UsageHistory
from vsched.model.queues.queue import ROOT, Queue
from vsched.web.overview.past_shares import HourlyShares, hourly_shares
from vsched.web.overview.share_history import HOUR, QUEUES_MAX, WEEK, ShareHistory
from vsched.web.overview.share_series import share_series
from vsched.web.overview.shares import WHOLE, QueueShares

BEGIN = 6_001_200.0
"""A time at which an hour begins."""
TREE = {name: Queue(name, parent=parent) for name, parent in [(ROOT, ""), ("team", ROOT), ("a", "team"), ("b", "team")]}
NOW = QueueShares(0.125, 0.5, 0.75)


def counted(hours: float = 2.5) -> UsageHistory:
    """So many hours: ``a`` holds a quarter of the cluster, and a queue that is gone an eighth."""
    book = HistoryBook()
    book.advance(BEGIN)
    held = {
        Holder("a", "one", "ann"): {CPU: 500, MEMORY: 1},
        Holder("a", "two"): {CPU: 500, MEMORY: 1},
        Holder("gone", "one"): {CPU: 100, MEMORY: 500},
    }
    book.see(ResourceAxis(), {CPU: 4000, MEMORY: 4000}, held)
    book.advance(BEGIN + hours * HOUR_SECONDS)
    return book.publish()


def restored(now: float, past: HourlyShares, *names: str, rows: int = QUEUES_MAX) -> ShareHistory:
    history = ShareHistory(rows)
    history.add(now, {WHOLE: NOW, **dict.fromkeys(names, NOW)})
    assert history.restore(past)
    return history


def test_a_queue_counts_with_those_below_it_by_its_dominant_resource() -> None:
    found = hourly_shares(counted(), TREE)
    assert found.begins.tolist() == [BEGIN, BEGIN + 3600, BEGIN + 7200]
    assert found.ends.tolist() == [BEGIN + 3600, BEGIN + 7200, BEGIN + 9000]
    shares = {"a": 0.25, "team": 0.25, ROOT: 0.25, "gone": 0.125, WHOLE: 1100 / 4000}
    assert found.held.keys() == shares.keys()
    for name, share in shares.items():
        assert found.held[name] == pytest.approx(share)


def test_where_nothing_is_counted_nothing_is_restored() -> None:
    found = hourly_shares(NO_HISTORY, TREE)
    assert (len(found.ends), found.held) == (0, {})
    week = share_series(restored(BEGIN, found, "a"), WEEK, 1008)
    assert (week.begins, week.hourly, [len(one.held) for one in week.queues]) == (BEGIN, (), [1, 1])


def test_the_week_has_what_was_held_and_the_hour_and_all_else_stays_unknown() -> None:
    history = restored(BEGIN + 3 * 3600, hourly_shares(counted(), TREE), "a", "b")
    week = share_series(history, WEEK, 1008)
    assert (week.begins, week.step_seconds) == (BEGIN, 600)
    assert week.hourly == (True,) * 15 + (False,) * 4
    found = {one.queue: one for one in week.queues}
    assert found["a"].held == (0.25,) * 15 + (None,) * 3 + (0.125,)
    assert found["b"].held == (None,) * 18 + (0.125,)
    assert found["gone"].held == (0.125,) * 15 + (None,) * 4
    assert found["a"].deserved == (None,) * 18 + (0.5,)
    assert found["a"].waiting == (None,) * 18 + (0.75,)
    hour = share_series(history, HOUR, 1000)
    assert (hour.hourly, [one.held for one in hour.queues]) == ((), [(0.125,)] * 3)


def test_fewer_points_are_hourly_if_a_step_of_them_is() -> None:
    week = share_series(restored(BEGIN + 3 * 3600, hourly_shares(counted(), TREE), "a"), WEEK, 4, "a")
    assert week.hourly == (True, True, True, False)


def test_what_was_seen_itself_stays() -> None:
    history = ShareHistory()
    for at in range(0, 7200, 10):
        history.add(BEGIN + 3600 + at, {WHOLE: NOW, "a": NOW})
    before = share_series(history, WEEK, 1008, "a").queues[0]
    assert history.restore(hourly_shares(counted(), TREE))
    week = share_series(history, WEEK, 1008, "a")
    assert week.hourly == (True,) * 6 + (False,) * 12
    assert week.queues[0].held == (0.25,) * 6 + before.held


def test_what_is_older_than_a_week_is_left_out_and_leaves_in_time() -> None:
    past = hourly_shares(counted(24.0), TREE)
    week = share_series(restored(BEGIN + WEEK.steps * 600, past, "a"), WEEK, 1008, "a")
    assert (week.begins, len(week.queues[0].held)) == (BEGIN + 600, WEEK.steps)
    assert sum(week.hourly) == 24 * 6 - 1
    history = restored(BEGIN + 24 * 3600, past, "a")
    history.add(BEGIN + 24 * 3600 + (WEEK.steps - 1) * 600, {WHOLE: NOW, "a": NOW})
    week = share_series(history, WEEK, 1008, "a")
    assert (week.hourly, week.queues[0].held) == ((), (0.125, *[None] * (WEEK.steps - 2), 0.125))


def test_of_too_many_queues_those_that_held_something_last_are_restored() -> None:
    ends = BEGIN + 3600.0 * np.arange(1, 4)
    held = {
        WHOLE: np.array([1.0, 1.0, 1.0]),
        "early": np.array([0.5, 0.0, 0.0]),
        "late": np.array([0.0, 0.0, 0.5]),
        "between": np.array([0.0, 0.5, 0.0]),
        "never": np.zeros(3),
    }
    history = restored(BEGIN + 4 * 3600, HourlyShares(ends - 3600, ends, held), "now", rows=3)
    assert [one.queue for one in share_series(history, WEEK, 60).queues] == ["", "between", "late", "now"]
    assert history.size_bytes == 4 * (HOUR.steps + WEEK.steps) * 3 * 2


def test_while_a_page_reads_nothing_is_restored() -> None:
    history = restored(BEGIN + 4 * 3600, hourly_shares(NO_HISTORY, TREE), "a")
    with history._lock:
        assert not history.restore(hourly_shares(counted(), TREE))
    assert history.restore(hourly_shares(counted(), TREE))
    assert any(share_series(history, WEEK, 60).hourly)


@settings(max_examples=examples(50))
@given(st.lists(st.integers(-1100, 1100), max_size=30), st.floats(0, 200), st.integers(0, 1200))
def test_every_step_is_as_seen_or_of_its_hour_or_unknown(seen: list[int], hours: float, begins: int) -> None:
    """The steps of samples, how long was counted, and how many steps after its begin the present is."""
    history, last = ShareHistory(), int(BEGIN // 600) + begins
    steps = {last, *(last + step for step in seen if step < 0)}
    for step in sorted(steps):
        history.add(step * 600.0, {WHOLE: NOW, "a": NOW})
    past = hourly_shares(counted(hours), TREE)
    assert history.restore(past)
    week = share_series(history, WEEK, WEEK.steps, "a")
    held = week.queues[0].held
    first = int(week.begins // 600)
    assert first + len(held) - 1 == last
    for number, value in enumerate(held, first):
        hourly = bool(week.hourly) and week.hourly[number - first]
        middle = (number + 0.5) * 600
        in_an_hour = bool(((past.begins <= middle) & (middle < past.ends)).any())
        wanted = 0.125 if number in steps else 0.25 if in_an_hour else None
        assert (value, hourly) == (wanted, number not in steps and in_an_hour)
