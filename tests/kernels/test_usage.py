"""Loads of nodes: what is measured and what is coming, one by one as all at once, and never better than known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.usage import (
    Risk,
    Views,
    figures,
    filled,
    idleness,
    idleness_row,
    lacking,
    loads,
    loads_row,
    measured_of,
    pressing,
)
from vsched.model.nodes.table import Floats, Ints
from vsched.model.nodes.usage import UsageColumn, UsageTable

CALM = Risk(1.0, 1.0, math.inf)
AMOUNTS = st.integers(0, 1 << 50)
PARTS = st.floats(0.0, 1.0)
RISKS = st.builds(
    lambda cpu, memory, threshold: Risk(cpu, memory, threshold * (cpu + memory)),
    st.integers(0, 9).map(float),
    st.integers(0, 9).map(float),
    PARTS,
)
NODE = st.tuples(
    st.tuples(PARTS | st.just(math.nan), PARTS | st.just(math.nan)),
    st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS),
    st.tuples(AMOUNTS, AMOUNTS),
    st.tuples(AMOUNTS, AMOUNTS),
)


def column(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)[:, None]


def whole(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)[:, None]


@given(st.lists(NODE, min_size=1, max_size=8), RISKS, PARTS, st.floats(0.0, 1e4))
def test_one_by_one_is_all_at_once_bit_for_bit_and_a_number(
    nodes: list[tuple[tuple[float, float], tuple[int, int, int, int], tuple[int, int], tuple[int, int]]],
    risk: Risk,
    part: float,
    scale: float,
) -> None:
    measured, coming, has, requested = (np.ascontiguousarray(np.array(found).T) for found in zip(*nodes, strict=True))
    measured = measured_of(measured)
    found = loads(measured, coming, has, requested, risk)
    scores = idleness(found, part, 1.0 - part, scale)

    assert np.isfinite(found).all()
    assert ((found >= 0.0) & (found <= 2.0)).all()
    for row in range(len(nodes)):
        views = Views(measured.load.data, measured.unknown.data, coming.data, has.data, requested.data)
        alone = loads_row(views, risk, row)
        assert alone == tuple(found[:, row])
        assert idleness_row(alone, part, 1.0 - part, scale) == scores[row]


@given(NODE, RISKS, PARTS, AMOUNTS)
def test_more_load_is_never_less(
    node: tuple[tuple[float, float], tuple[int, int, int, int], tuple[int, int], tuple[int, int]],
    risk: Risk,
    more: float,
    amount: int,
) -> None:
    measured, coming, has, requested = node
    tense = (coming[0], coming[1], coming[0] + coming[2], coming[1] + coming[3])  # at risk it counts for no less

    def load(measured: tuple[float, float], coming: tuple[int, ...]) -> list[float]:
        return loads(measured_of(column(*measured)), whole(*coming), whole(*has), whole(*requested), risk)[
            :, 0
        ].tolist()

    before = load(measured, tense)
    hotter = load((max(measured[0], more), measured[1]), tense)
    fuller = load(measured, tuple(one + amount for one in tense))

    assert math.isnan(measured[0]) or all(one >= other for one, other in zip(hotter, before, strict=True))
    assert all(one >= other for one, other in zip(fuller, before, strict=True))


@pytest.mark.parametrize(
    ("measured", "coming", "requested", "risk", "expected"),
    [
        pytest.param((0.5, 0.25), (0, 0, 0, 0), (80, 80), CALM, (0.5, 0.25), id="what is measured, whatever is asked"),
        pytest.param((0.5, 0.25), (20, 10, 0, 0), (0, 0), CALM, (0.7, 0.35), id="what is coming on top"),
        pytest.param((0.9, 0.25), (20, 99, 0, 0), (0, 0), CALM, (1.1, 1.24), id="too much is told apart"),
        pytest.param((math.nan, 0.25), (50, 0, 0, 0), (30, 0), CALM, (0.3, 0.25), id="requests where unknown"),
        pytest.param((math.nan, math.nan), (0, 0, 0, 0), (150, 0), CALM, (1.0, 0.0), id="more asked for than there is"),
        pytest.param((0.5, 0.5), (10, 10, 20, 30), (0, 0), Risk(1.0, 1.0, 1.2), (0.7, 0.8), id="at risk, at the limit"),
        pytest.param((0.5, 0.5), (9, 10, 20, 30), (0, 0), Risk(1.0, 1.0, 1.2), (0.59, 0.6), id="just not at risk"),
        pytest.param((0.5, 0.5), (60, 0, 90, 90), (0, 0), Risk(0.0, 1.0, 0.6), (1.1, 0.5), id="risk by weights"),
    ],
)
def test_the_load_of_a_node(
    measured: tuple[float, float],
    coming: tuple[int, int, int, int],
    requested: tuple[int, int],
    risk: Risk,
    expected: tuple[float, float],
) -> None:
    found = loads(measured_of(column(*measured)), whole(*coming), whole(100, 100), whole(*requested), risk)

    assert found[:, 0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("measured", "requested", "coming", "expected"),
    [
        pytest.param([0.05, math.nan, 0.6], 0, 0, 0.325, id="the mean of the others"),
        pytest.param([0.05, math.nan, 0.6], 32, 0, 0.325, id="whatever is asked for below that"),
        pytest.param([0.05, math.nan, 0.6], 33, 0, 0.33, id="more if more is asked for"),
        pytest.param([0.05, math.nan, 0.6, math.nan], 0, 0, 0.325, id="others that are unknown do not count"),
        pytest.param([0.0, math.nan], 0, 0, 0.0, id="nothing where the others are idle"),
        pytest.param([math.nan, math.nan], 7, 0, 0.07, id="what is asked for where nothing is known"),
        pytest.param([0.5, math.nan], 40, 90, 0.5, id="what is coming is part of the requests"),
    ],
)
def test_the_load_of_a_node_of_which_it_is_unknown(
    measured: list[float], requested: int, coming: int, expected: float
) -> None:
    one, count = np.array([measured, [0.0] * len(measured)]), len(measured)
    amounts = np.full((4, count), coming), np.full((2, count), 100), np.full((2, count), requested)

    assert loads(measured_of(one), *amounts, CALM)[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        pytest.param((62.0, 39.0), (99.0, 1.0), id="full at its peaks, and always full"),
        pytest.param((62.0, 39.0), (99.0, 30.0), id="whatever the other varies by"),
        pytest.param((70.0, 35.0), (95.0, 5.0), id="both just full at their peaks"),
        pytest.param((90.0, 5.0), (60.0, 38.0), id="below that, average and spread together"),
        pytest.param((62.0, 37.0), (62.0, 39.0), id="of equal averages the one that varies less"),
    ],
)
def test_the_less_loaded_of_two_nodes(less: tuple[float, float], more: tuple[float, float]) -> None:
    average, spread = np.array([less, more]).T
    lower, higher = pressing(average, spread, 1.0).tolist()
    assert lower < higher


def test_a_node_that_has_none_of_it_is_full() -> None:
    assert filled(whole(0, 5), whole(0, 0)).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(
    ("started", "part"),
    [
        pytest.param(math.inf, 1.0, id="does not run yet"),
        pytest.param(1010.0, 1.0, id="started after the newest sample"),
        pytest.param(940.0, 0.8, id="a minute of five is measured"),
        pytest.param(850.0, 0.5, id="half is measured"),
        pytest.param(700.0, 0.0, id="all is measured"),
        pytest.param(1.0, 0.0, id="runs for long"),
    ],
)
def test_what_an_average_lacks_of_a_load(started: float, part: float) -> None:
    assert lacking(np.array([started]), np.array([1000.0]), 300.0).tolist() == [pytest.approx(part)]


@pytest.mark.parametrize(
    ("average", "spread", "factor", "load"),
    [
        pytest.param(80.0, 5.0, 1.0, 0.85, id="a narrow curve"),
        pytest.param(78.0, 40.0, 1.0, 0.9978, id="a wide one is as good as full at peak hours"),
        pytest.param(78.0, 40.0, 0.0, 0.78, id="averages alone"),
        pytest.param(50.0, 10.0, 2.0, 0.7, id="two standard deviations"),
        pytest.param(50.0, -10.0, 1.0, 0.5, id="no curve is narrower than flat"),
        pytest.param(140.0, 0.0, 1.0, 1.0, id="more than all of it"),
        pytest.param(-3.0, 0.0, 1.0, 0.0, id="less than nothing"),
    ],
)
def test_the_load_to_reckon_with(average: float, spread: float, factor: float, load: float) -> None:
    assert pressing(np.array([average]), np.array([spread]), factor).tolist() == [pytest.approx(load)]


def test_figures_that_are_old_missing_or_no_numbers_are_unknown() -> None:
    average, spread = np.array([10.0, 20.0, math.inf, math.nan]), np.array([1.0, math.nan, 1.0, 1.0])
    table = UsageTable(np.array([700.0, 699.0, 1000.0, 1000.0]), {"5m": UsageColumn(average, spread)}, {})

    found = figures(table, "5m", "cpu", 1000.0, 300.0)
    np.testing.assert_array_equal(found, [[10.0, np.nan, np.nan, np.nan], [1.0, 0.0, 1.0, 1.0]])
    for resource, period in (("memory", "5m"), ("cpu", "1h")):
        assert np.isnan(figures(table, period, resource, 1000.0, 300.0)[0]).all()
