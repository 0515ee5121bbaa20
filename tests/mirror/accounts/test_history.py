"""The book that counts what holders use over time."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isclose

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.mirror.accounts import history as book_module
from vsched.mirror.accounts.history import DECAYS_MAX, HistoryBook, is_counted
from vsched.model.amounts.resources import CPU, MEMORY, PODS, ResourceAxis, Vector
from vsched.model.history.records import CLUSTER, HOUR_SECONDS, WEEK_HOURS, Decay, Holder, history_of

ANN, BOB, ROBOT = Holder("q", "a", "ann"), Holder("q", "a", "bob"), Holder("r", "b")
WHOLE = Decay(inf)
SHORT = Decay(600.0)
BEGIN = 100 * HOUR_SECONDS
AXIS = ResourceAxis(["example.com/gpu"])
GPU = AXIS.column("example.com/gpu")
TOTAL: Vector = {CPU: 8000, MEMORY: 1 << 30, PODS: 110, GPU: 4000}


def book(*decays: Decay, at: float = BEGIN) -> HistoryBook:
    made = HistoryBook()
    made.keep(decays or (WHOLE, SHORT))
    made.advance(at)
    made.see(AXIS, TOTAL, {})
    return made


def used(found: HistoryBook, holder: Holder, decay: Decay = WHOLE, resource: str = "cpu") -> float:
    history = found.publish()
    return float(history.used(decay)[list(history.holders).index(holder), history.resources.index(resource)])


def test_what_is_held_is_counted_for_as_long_as_it_is_held() -> None:
    found = book()
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000, MEMORY: 5}, BOB: {CPU: 3000}})
    found.advance(BEGIN + 10)
    found.see(AXIS, TOTAL, {ANN: None})
    found.advance(BEGIN + 30)
    assert used(found, ANN) == 10_000
    assert used(found, ANN, resource="memory") == 50
    assert used(found, BOB) == 90_000
    assert used(found, CLUSTER) == 8000 * 30


def test_old_use_counts_less() -> None:
    found = book()
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    found.advance(BEGIN + 60)
    found.see(AXIS, TOTAL, {ANN: None})
    before = used(found, ANN, SHORT)
    found.advance(BEGIN + 660)
    assert isclose(used(found, ANN, SHORT), before / 2)
    assert used(found, ANN) == 60_000


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        pytest.param("cpu", True, id="cpu"),
        pytest.param("example.com/gpu", True, id="a device"),
        pytest.param("pods", False, id="places for pods are not"),
        pytest.param("ephemeral-storage", False, id="disk is not"),
        pytest.param("hugepages-2Mi", False, id="huge pages are not"),
    ],
)
def test_which_resources_are_counted(name: str, counted: bool) -> None:
    assert is_counted(name) is counted
    found = HistoryBook()
    axis = ResourceAxis([name])
    found.see(axis, {axis.column(name): 5}, {})
    assert (name in found.publish().resources) is counted


def test_a_column_that_gets_another_name_counts_for_that_resource() -> None:
    found = book()
    found.see(AXIS, TOTAL, {ANN: {GPU: 1000}})
    found.advance(BEGIN + 10)
    other = ResourceAxis(["example.com/tpu"])
    found.see(other, TOTAL, {ANN: {GPU: 1000}})
    found.advance(BEGIN + 15)
    assert used(found, ANN, resource="example.com/gpu") == 10_000
    assert used(found, ANN, resource="example.com/tpu") == 5000


def test_resources_that_nodes_offer_later_are_counted_from_then_on() -> None:
    found = book()
    found.see(AXIS, {CPU: 8000}, {ANN: {CPU: 1000, GPU: 1000}})
    late = ResourceAxis(["example.com/gpu", "example.com/late"])
    found.advance(BEGIN + 10)
    found.see(
        late, {**TOTAL, late.column("example.com/late"): 1}, {ANN: {CPU: 1000, late.column("example.com/late"): 1}}
    )
    found.advance(BEGIN + 20)
    assert used(found, ANN, resource="example.com/late") == 10
    assert used(found, ANN) == 20_000


def test_hours_are_kept_for_a_week() -> None:
    found = book()
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    for hour in range(1, 2 * WEEK_HOURS):
        found.advance(BEGIN + hour * HOUR_SECONDS)
    history = found.publish()
    row = list(history.holders).index(ANN)
    assert len(history.ends) == WEEK_HOURS - 1
    assert history.hours[:, row, 0].tolist() == [3_600_000.0] * (WEEK_HOURS - 1)


def test_use_that_has_left_the_window_does_not_count() -> None:
    day = Decay(inf, window=24 * HOUR_SECONDS)
    found = book(day, WHOLE)
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    found.advance(BEGIN + 2 * HOUR_SECONDS)
    found.see(AXIS, TOTAL, {ANN: None})
    seen = []
    for hour in (3, 25, 26, 27):
        found.advance(BEGIN + hour * HOUR_SECONDS)
        seen.append(used(found, ANN, day) / HOUR_SECONDS)
    assert seen == [2000, 1000, 0, 0]
    assert used(found, ANN) == 2000 * HOUR_SECONDS


@pytest.mark.parametrize(
    "days",
    [pytest.param(8, id="a little longer than a week"), pytest.param(3650, id="ten years")],
)
def test_a_clock_that_jumps_ahead_costs_no_more_than_a_week(days: int) -> None:
    found = book(Decay(3600.0, window=3600.0 * 10), SHORT)
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    found.advance(BEGIN + days * 86_400.0)
    assert isclose(used(found, ANN, SHORT), 600.0 / np.log(2) * 1000)
    assert isclose(used(found, ANN, Decay(3600.0, 36_000.0)), 3600.0 / np.log(2) * 1000, rel_tol=2e-3)
    assert len(found.publish().ends) <= WEEK_HOURS


def test_a_clock_that_goes_back_counts_nothing() -> None:
    found = book()
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    found.advance(BEGIN + 10)
    found.advance(BEGIN - 100)
    found.advance(BEGIN + 12)
    assert used(found, ANN) == 12_000


def test_a_holder_that_has_nothing_left_to_count_is_forgotten() -> None:
    found = book(SHORT)
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}, BOB: {CPU: 1}})
    found.advance(BEGIN + 60)
    found.see(AXIS, TOTAL, {ANN: None})
    for hour in range(1, WEEK_HOURS + 2):
        found.advance(BEGIN + hour * HOUR_SECONDS)
    assert [holder for holder in found.publish().holders if holder != CLUSTER] == [BOB]


def test_a_history_that_was_published_can_be_written_down_whatever_comes_after_it() -> None:
    found = book()
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    found.advance(BEGIN + 10)
    published = found.publish()
    assert published.record().holders == (CLUSTER, ANN)
    found.see(AXIS, TOTAL, {Holder("q", f"n{number}"): {CPU: 1} for number in range(9)})
    found.restore(book().publish(), BEGIN + 20)
    found.advance(BEGIN + 30)
    assert published.record().holders == (CLUSTER, ANN)


def test_beyond_the_limit_those_with_least_use_are_counted_with_their_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "HOLDERS_MAX", 4)
    found = book()
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}, BOB: {CPU: 2000}, ROBOT: {CPU: 10}})
    found.advance(BEGIN + 10)
    found.see(AXIS, TOTAL, {BOB: None, ROBOT: None})
    new = Holder("s", "c")
    found.see(AXIS, TOTAL, {new: {CPU: 5}})
    found.advance(BEGIN + 20)
    assert used(found, new) == 50
    assert used(found, Holder("r")) == 100
    assert used(found, ANN) == 20_000


def test_where_all_hold_something_a_new_one_counts_for_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "HOLDERS_MAX", 3)
    found = book()
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}, BOB: {CPU: 2000}})
    found.see(AXIS, TOTAL, {ROBOT: {CPU: 7}})
    found.advance(BEGIN + 10)
    assert used(found, Holder("r")) == 70
    found.see(AXIS, TOTAL, {ANN: None, BOB: None, ROBOT: None})
    found.advance(BEGIN + 20)
    assert used(found, Holder("r")) == 70


def test_at_most_so_many_decays_are_kept() -> None:
    found = book(*(Decay(float(seconds)) for seconds in range(1, 2 * DECAYS_MAX)))
    assert len(found.publish().decayed) == DECAYS_MAX


def test_a_decay_that_is_asked_for_later_starts_from_the_hours() -> None:
    found = book(SHORT)
    found.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    found.advance(BEGIN + 3 * HOUR_SECONDS)
    found.keep([WHOLE])
    assert used(found, ANN) == 3 * 3_600_000
    found.advance(BEGIN + 3 * HOUR_SECONDS + 10)
    assert used(found, ANN) == 3 * 3_600_000 + 10_000


def test_a_book_takes_over_what_another_has_counted() -> None:
    first, second = book(), book(at=BEGIN + 500)
    first.see(AXIS, TOTAL, {ANN: {CPU: 1000}, ROBOT: {GPU: 1000}})
    first.advance(BEGIN + 60)
    record = first.publish().record()
    second.see(AXIS, TOTAL, {BOB: {CPU: 2000}})
    second.advance(BEGIN + 660)
    second.restore(history_of(record), BEGIN + 660)
    assert used(second, ANN) == 60_000
    assert isclose(used(second, ANN, SHORT), used(first, ANN, SHORT) / 2)
    second.advance(BEGIN + 670)
    assert used(second, BOB) == (160 + 10) * 2000
    assert used(second, ROBOT, resource="example.com/gpu") == 60_000


def test_the_present_hour_of_a_history_that_is_taken_over_later_is_over() -> None:
    first, second = book(), book()
    first.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    first.advance(BEGIN + 60)
    later = BEGIN + 2 * HOUR_SECONDS
    second.restore(history_of(first.publish().record()), later)
    found = second.publish()
    assert found.ends.tolist() == [BEGIN + 60]
    assert found.present_seconds == 0


def test_a_book_that_takes_over_late_keeps_what_it_has_counted_since() -> None:
    first, second = book(), book(at=BEGIN + 60)
    first.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    first.advance(BEGIN + 60)
    second.see(AXIS, TOTAL, {BOB: {CPU: 2000}, ANN: {CPU: 1000}})
    second.advance(BEGIN + HOUR_SECONDS + 600)
    second.see(AXIS, TOTAL, {BOB: None})
    before = used(second, BOB, SHORT)
    second.restore(history_of(first.publish().record()), BEGIN + HOUR_SECONDS + 600)
    assert used(second, ANN) == (HOUR_SECONDS + 600) * 1000
    assert used(second, BOB) == (HOUR_SECONDS + 540) * 2000
    assert used(second, CLUSTER) == (HOUR_SECONDS + 600) * 8000
    assert isclose(used(second, BOB, SHORT), before, rel_tol=1e-6)
    found = second.publish()
    assert found.ends.tolist() == [BEGIN + 60, BEGIN + HOUR_SECONDS]
    assert found.lengths.tolist() == [60, HOUR_SECONDS - 60]
    assert (found.since, found.present_seconds) == (BEGIN, 600)
    second.advance(BEGIN + HOUR_SECONDS + 610)
    assert used(second, ANN) == (HOUR_SECONDS + 610) * 1000


def test_what_two_books_have_counted_at_the_same_time_counts_once() -> None:
    first, second = book(), book()
    for each in (first, second):
        each.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
        each.advance(BEGIN + 600)
    second.advance(BEGIN + 900)
    second.restore(history_of(first.publish().record()), BEGIN + 900)
    assert used(second, ANN) == 600_000


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.0, 1.7, 3.0, 9.0])
@pytest.mark.parametrize("half_life", [inf, 7200.0])
def test_what_leaves_a_window_before_a_book_takes_over_does_not_count(gap: float, half_life: float) -> None:
    decay = Decay(half_life, 4 * HOUR_SECONDS)
    first, second = book(decay), book(decay)
    first.see(AXIS, TOTAL, {ANN: {CPU: 1000}})
    first.advance(BEGIN + 6.25 * HOUR_SECONDS)
    first.see(AXIS, TOTAL, {ANN: None})
    later = BEGIN + (6.25 + gap) * HOUR_SECONDS
    second.restore(first.publish(), later)
    for hours in (0.0, 1.0, 2.0, 5.0, 12.0):
        at = later + hours * HOUR_SECONDS
        second.advance(at)
        first.advance(at)
        assert isclose(used(second, ANN, decay), used(first, ANN, decay), rel_tol=1e-3, abs_tol=10.0)


@dataclass(frozen=True)
class Step:
    seconds: float
    holder: Holder
    amount: int


STEPS = st.lists(
    st.builds(Step, st.floats(0.0, 9000.0), st.sampled_from([ANN, BOB, ROBOT]), st.integers(0, 9)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=examples(100))
@example([Step(0.0, ANN, 1), Step(0.0, ANN, 0), Step(3600.0, ANN, 0)], 60.0)
@example([Step(1185.0, ANN, 9), Step(251.0, ANN, 0)], 60.0)
@given(STEPS, st.floats(60.0, 1e5))
def test_decayed_sums_are_the_integral_of_what_was_held(steps: list[Step], half_life: float) -> None:
    decay, now = Decay(half_life), BEGIN
    found = book(decay)
    spans: list[tuple[float, float, Holder, int]] = []
    held: dict[Holder, int] = {}
    for step in steps:
        spans += [(now, now + step.seconds, holder, amount) for holder, amount in held.items()]
        now += step.seconds
        found.advance(now)
        held[step.holder] = step.amount
        found.see(AXIS, TOTAL, {step.holder: {CPU: step.amount} if step.amount else None})
    for holder in {span[2] for span in spans if span[3]}:
        expected = sum(
            amount * half_life / np.log(2) * (0.5 ** ((now - end) / half_life) - 0.5 ** ((now - begin) / half_life))
            for begin, end, one, amount in spans
            if one == holder
        )
        if holder not in found.publish().holders:
            assert isclose(0.0, expected, abs_tol=1e-3), "who used next to nothing is forgotten"
            continue
        assert isclose(used(found, holder, decay), expected, rel_tol=1e-6, abs_tol=1e-3)
        # With another half-life, what was held within an hour counts as held all the hour.
        told, most = used(found, holder, Decay(half_life * 1.0000001)), 2.0 ** (HOUR_SECONDS / half_life)
        assert expected / most - 1e-3 <= told * (1.0 + 1e-5)
        assert told * (1.0 - 1e-5) <= expected * most + 1e-3
