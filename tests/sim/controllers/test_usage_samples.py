"""Samples of what pods use over a window, and their sums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.sim.controllers.pod_usage import PlacedUsage, PodUsage
from vsched.sim.controllers.usage_samples import SAMPLES, sums, window


@given(
    spans=st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100), st.integers(0, 2)), max_size=8),
    seconds=st.floats(1, 100),
)
def test_the_sum_is_that_of_the_loads_that_were_there(spans: list[tuple[float, float, int]], seconds: float) -> None:
    stays = [
        PlacedUsage("n", PodUsage(1.0 + at, 10.0, 0.5, 0.1 * at), min(a, b), max(a, b))
        for at, (a, b, _) in enumerate(spans)
    ]
    times = window(100.0, seconds, 0.0)
    cores, held = sums(stays, [group for *_, group in spans], 3, times, 60.0)
    assert cores.shape == held.shape == (SAMPLES, 3)
    for at, time in enumerate(times):
        for group in range(3):
            there = [
                stay
                for stay, (*_, of) in zip(stays, spans, strict=True)
                if of == group and stay.began <= time < stay.ended
            ]
            assert held[at, group] == 10.0 * len(there)
            assert cores[at, group] <= 1.5 * sum(stay.load.cpu for stay in there) + 1e-9
            assert cores[at, group] >= 0.5 * sum(stay.load.cpu for stay in there) - 1e-9


def test_a_swing_averages_out_over_its_cycle() -> None:
    stays = [PlacedUsage("n", PodUsage(2.0, 0.0, 0.5, 0.3), 0.0)]
    cores, _ = sums(stays, [0], 1, window(120.0, 60.0, 0.0), 60.0)
    assert cores.mean() == pytest.approx(2.0)
    assert cores.std() == pytest.approx(2.0 * 0.5 / 2**0.5, rel=0.01)


def test_a_window_reaches_back_no_further_than_to_the_beginning() -> None:
    times = window(100.0, 60.0, 90.0)
    assert (times > 90.0).all()
    assert (times < 100.0).all()
    assert (window(100.0, 60.0, 200.0) == 100.0).all()
