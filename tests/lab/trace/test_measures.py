"""Measures of replays, against what can be computed by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.lab.trace.measures import averages, contentment, entitled, jain, mean_and_extremes, spread


def test_percentiles_are_values_that_were_there() -> None:
    found = spread([float(value) for value in range(100, 0, -1)])
    assert found == {"count": 100, "mean": 50.5, "p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}


@pytest.mark.parametrize(
    ("values", "p99"),
    [
        pytest.param([], 0.0, id="of nothing is nothing"),
        pytest.param([7.0], 7.0, id="of one is that one"),
        pytest.param([1.0] * 99 + [50.0], 1.0, id="leaves out one in a hundred"),
        pytest.param([1.0] * 98 + [50.0] * 2, 50.0, id="does not leave out two in a hundred"),
    ],
)
def test_the_99th_percentile(values: list[float], p99: float) -> None:
    assert spread(values)["p99"] == p99


def test_an_average_over_time_weighs_each_value_by_how_long_it_held() -> None:
    moments, values = [0.0, 10.0, 30.0], [1.0, 4.0, 0.0]
    assert mean_and_extremes(moments, values, 0.0, 40.0) == (pytest.approx((10 * 1 + 20 * 4 + 10 * 0) / 40), 0.0, 4.0)
    assert mean_and_extremes(moments, values, 5.0, 15.0) == (pytest.approx(2.5), 1.0, 4.0)
    assert mean_and_extremes(moments, values, 12.0, 20.0) == (pytest.approx(4.0), 4.0, 4.0)
    assert mean_and_extremes(moments, values, 30.0, 30.0) == (0.0, 0.0, 0.0)


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 9)), min_size=1, max_size=12),
    st.lists(st.integers(0, 150), min_size=2, max_size=6, unique=True),
)
def test_averages_are_those_of_every_single_second(steps: list[tuple[int, int]], places: list[int]) -> None:
    moments, values = [0], [0]
    for length, value in steps:
        moments.append(moments[-1] + length)
        values.append(value)
    by_second = [
        next(value for moment, value in reversed([*zip(moments, values, strict=True)]) if moment <= second)
        for second in range(151)
    ]
    edges = sorted(places)
    found = averages([float(one) for one in moments], [float(one) for one in values], [float(one) for one in edges])
    expected = [sum(by_second[low:high]) / (high - low) for low, high in pairwise(edges)]
    assert list(found) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "index"),
    [
        pytest.param([], 1.0, id="nobody"),
        pytest.param([0.0, 0.0], 1.0, id="all have nothing"),
        pytest.param([0.3, 0.3, 0.3], 1.0, id="all have the same"),
        pytest.param([1.0, 0.0, 0.0, 0.0], 0.25, id="one of four has everything"),
        pytest.param([1.0, 0.5], 0.9, id="one has twice as much"),
    ],
)
def test_jains_index(values: list[float], index: float) -> None:
    assert jain(values) == pytest.approx(index)


@pytest.mark.parametrize(
    ("room", "wanted", "weights", "shares"),
    [
        pytest.param(10, {"a": 20, "b": 20}, {"a": 1, "b": 1}, {"a": 5, "b": 5}, id="halves"),
        pytest.param(10, {"a": 20, "b": 20}, {"a": 3, "b": 1}, {"a": 7.5, "b": 2.5}, id="by weight"),
        pytest.param(10, {"a": 2, "b": 20}, {"a": 1, "b": 1}, {"a": 2, "b": 8}, id="what one leaves the other has"),
        pytest.param(10, {"a": 2, "b": 3}, {"a": 1, "b": 9}, {"a": 2, "b": 3}, id="everybody has enough"),
        pytest.param(10, {"a": 0, "b": 30}, {"a": 9, "b": 1}, {"a": 0, "b": 10}, id="who wants nothing has nothing"),
        pytest.param(0, {"a": 4}, {"a": 1}, {"a": 0}, id="there is no room"),
    ],
)
def test_room_is_divided_by_weight(
    room: float, wanted: dict[str, float], weights: dict[str, float], shares: dict[str, float]
) -> None:
    assert entitled(room, wanted, weights) == pytest.approx(shares)


queues = st.dictionaries(
    st.sampled_from("abcde"), st.tuples(st.floats(0, 100), st.integers(1, 9)), min_size=1, max_size=5
)


@given(st.floats(0, 200), queues)
def test_nobody_has_more_than_wanted_and_no_room_is_left_while_somebody_wants_it(
    room: float, asked: dict[str, tuple[float, int]]
) -> None:
    wanted = {name: amount for name, (amount, _) in asked.items()}
    shares = entitled(room, wanted, {name: weight for name, (_, weight) in asked.items()})
    assert all(shares[name] <= wanted[name] + 1e-9 for name in wanted)
    assert sum(shares.values()) == pytest.approx(min(room, sum(wanted.values())), abs=1e-6)


def test_contentment_is_what_is_held_of_what_is_due() -> None:
    held, wanted = {"a": 8.0, "b": 2.0, "c": 0.0}, {"a": 8.0, "b": 10.0, "c": 0.0}
    assert contentment(10.0, held, wanted, {"a": 1, "b": 1, "c": 1}) == [1.0, pytest.approx(0.4)]
