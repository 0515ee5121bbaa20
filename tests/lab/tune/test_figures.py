"""Figures by name, and what they are for a replay that is written down."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lab.tune.periods import periods
from vsched.lab.tune.figures import figure_of

FOUND = periods(
    waits=[[0.0, 100.0], [200.0, 3000.0]],
    gpus=[1.0, 16.0, 8.0, 64.0],
    queues=[0, 1, 0, 1],
    gangs=[False, True, False, True],
    held=[[3600.0, 1800.0], [3600.0, 1800.0]],
    wanted=[[3600.0, 3600.0], [3600.0, 7200.0]],
    lost=[0.0, 720.0],
)
"""Two periods of an hour, two GPUs of which one is held on average."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mean wait", 825.0),
        ("p50 wait", 100.0),
        ("p75 wait", 200.0),
        ("max wait", 3000.0),
        ("mean wait of gangs", 1550.0),
        ("mean wait of queue a", 100.0),
        ("p95 wait over 8 gpus", 3000.0),
        ("p95 wait up to 8 gpus", 200.0),
        ("mean wait of gangs up to 16 gpus of queue b", 100.0),
        ("mean wait over 3 pods", 0.0),
        ("utilisation", 0.5),
        ("utilization of memory", 0.5),
        ("gpu-hours lost", 0.2),
        ("evictions", 1.0),
        ("ended late", 0.25),
        ("never started", 0.0),
    ],
)
def test_a_figure_is(name: str, value: float) -> None:
    figure = figure_of(name)
    assert figure is not None
    assert figure.of(FOUND) == pytest.approx(value)


def test_fairness_is_of_what_queues_are_entitled_to_over_all_of_the_time() -> None:
    """Queue a has all that it wanted, queue b 3600 of the 7200 that are left of 14400."""
    figure = figure_of("Fairness")
    assert figure is not None
    assert figure.of(FOUND) == pytest.approx(1.5**2 / (2 * 1.25))


def test_a_period_counts_as_often_as_it_is_drawn() -> None:
    figure = figure_of("mean wait")
    assert figure is not None
    assert figure.measure(FOUND, np.array([2.0, 0.0])) == 50.0
    assert figure.measure(FOUND, np.array([1.0, 3.0])) == pytest.approx((100 + 3 * 3200) / 8)


@pytest.mark.parametrize("name", ["", "wait", "p0 wait", "p100 wait", "p95 wait of", "utilisation of disks", "waits"])
def test_no_figure_is_called(name: str) -> None:
    assert figure_of(name) is None


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("mean wait", 7200.0, "120m"),
        ("utilisation", 0.876, "87.6%"),
        ("fairness", 0.97, "0.970"),
        ("gpu-hours lost", 1234.4, "1,234"),
    ],
)
def test_a_value_is_shown_in_its_unit(name: str, value: float, shown: str) -> None:
    figure = figure_of(name)
    assert figure is not None
    assert figure.shown(value) == shown
