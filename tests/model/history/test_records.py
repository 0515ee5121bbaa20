"""Decayed sums, the sums of hours, and histories in parts."""

from __future__ import annotations

from math import inf, isclose, log

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.history.records import (
    CLUSTER,
    NO_HISTORY,
    Decay,
    DecayedSums,
    HistoryHour,
    HistoryRecord,
    Holder,
    UsageHistory,
    faded_seconds,
    fading,
    history_of,
    hour_weight,
)

ANN = Holder("q", "a", "ann")
DAY = Decay(86_400.0)


@pytest.mark.parametrize(
    ("seconds", "half_life", "counts"),
    [
        pytest.param(0.0, 10.0, 1.0, id="use of this moment counts whole"),
        pytest.param(10.0, 10.0, 0.5, id="after one half-life it counts half"),
        pytest.param(30.0, 10.0, 0.125, id="after three an eighth"),
        pytest.param(1e9, inf, 1.0, id="without a half-life it always counts whole"),
    ],
)
def test_how_much_old_use_counts(seconds: float, half_life: float, counts: float) -> None:
    assert fading(seconds, half_life) == counts


@pytest.mark.parametrize(
    ("seconds", "half_life", "counts"),
    [
        pytest.param(60.0, inf, 60.0, id="without a half-life each second counts"),
        pytest.param(10.0, 10.0, 10.0 / log(2) * 0.5, id="one half-life of holding is half of holding for ever"),
        pytest.param(1e9, 10.0, 10.0 / log(2), id="holding for ever counts half-life / ln 2"),
    ],
)
def test_what_holding_one_unit_counts(seconds: float, half_life: float, counts: float) -> None:
    assert isclose(faded_seconds(seconds, half_life), counts)


@given(st.lists(st.floats(0.1, 5000.0), min_size=1, max_size=6), st.floats(1.0, 1e6), st.floats(0.0, 1e5))
def test_parts_of_a_time_count_as_much_as_the_whole(parts: list[float], half_life: float, age: float) -> None:
    whole, counted = sum(parts), 0.0
    for seconds in parts:
        counted = counted * fading(seconds, half_life) + faded_seconds(seconds, half_life)
    assert isclose(counted, faded_seconds(whole, half_life), rel_tol=1e-9)
    assert isclose(
        hour_weight(age, whole, half_life) * whole, counted * fading(age, half_life), rel_tol=1e-9, abs_tol=1e-12
    )


def sums(*used: tuple[float, ...]) -> DecayedSums:
    return DecayedSums(86_400.0, None, used)


def record(**changes: object) -> HistoryRecord:
    hours = (HistoryHour(3600.0, 3600.0, ((0, (7200.0,)), (1, (3600.0,)))),)
    present = HistoryHour(5400.0, 1800.0, ((0, (3600.0,)),))
    made = HistoryRecord(5400.0, 0.5, ("cpu",), (CLUSTER, ANN), (sums((10_000.0,), (3000.0,)),), hours, present)
    return msgspec.structs.replace(made, **changes)


def test_a_record_is_read_back_as_it_was_written() -> None:
    text = msgspec.json.encode(history_of(record()).record())
    assert msgspec.json.decode(text, type=HistoryRecord) == record()


def test_rows_that_are_not_in_use_are_not_recorded() -> None:
    spare = msgspec.structs.replace(
        record(), holders=(CLUSTER, CLUSTER, ANN), hours=(), present=None, decayed=(sums((1.0,), (0.0,), (2.0,)),)
    )
    found = history_of(spare).record()
    assert found.holders == (CLUSTER, ANN)
    assert found.decayed == (sums((1.0,), (2.0,)),)


def test_decays_that_are_kept_are_exact_and_others_follow_from_the_hours() -> None:
    history = history_of(record())
    assert history.used(DAY).tolist() == [[10_000.0], [3000.0]]
    assert history.used(Decay(inf)).tolist() == [[10_800.0], [3600.0]]
    assert history.used(Decay(inf, window=1000.0)).tolist() == [[3600.0], [0.0]]
    half = Decay(1800.0)
    expected = 3600.0 * hour_weight(1800.0, 3600.0, 1800.0)
    assert np.allclose(history.used(half)[1], expected)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(record(holders=(ANN,)), id="the cluster is missing"),
        pytest.param(record(holders=()), id="nobody is named"),
        pytest.param(record(decayed=(sums((1.0,)),)), id="a decay lacks a holder"),
        pytest.param(record(decayed=(sums((1.0, 2.0), (1.0, 2.0)),)), id="a decay has more resources"),
        pytest.param(
            record(hours=(HistoryHour(3600.0, 1.0, ((2, (1.0,)),)),)), id="an hour names a row beyond the last"
        ),
        pytest.param(record(hours=(HistoryHour(3600.0, 1.0, ((-1, (1.0,)),)),)), id="an hour names a row below zero"),
        pytest.param(record(hours=(HistoryHour(3600.0, 1.0, ((1, ()),)),)), id="an hour lacks a resource"),
        pytest.param(record(hours=(HistoryHour(3600.0, 1.0, ((1, (-1.0,)),)),)), id="a sum is negative"),
        pytest.param(record(decayed=(sums((inf,), (1.0,)),)), id="a sum is infinite"),
    ],
)
def test_a_record_whose_parts_do_not_match_is_refused(broken: HistoryRecord) -> None:
    with pytest.raises(ValueError, match=r"sum|cluster|holder"):
        history_of(broken)


def test_a_history_without_anything() -> None:
    assert NO_HISTORY.is_empty
    assert NO_HISTORY.used(DAY).size == 0
    assert history_of(NO_HISTORY.record()).is_empty
    assert UsageHistory(since=1.0).is_empty is False
