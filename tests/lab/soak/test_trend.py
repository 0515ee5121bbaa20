"""Growth of a figure over time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from vsched.lab.soak.trend import ALLOWED, trend


@pytest.mark.parametrize("name", list(ALLOWED))
@pytest.mark.parametrize(
    ("per_sample", "noise", "grows"),
    [
        pytest.param(0.0, 0.02, False, id="flat but restless"),
        pytest.param(0.001, 0.005, True, id="it rises slowly and surely"),
        pytest.param(-0.001, 0.005, False, id="it falls"),
        pytest.param(0.00005, 0.0, False, id="it rises by next to nothing"),
    ],
)
def test_growth_is_told_from_noise(name: str, per_sample: float, noise: float, grows: bool) -> None:
    draw = random.Random(7)
    seconds = [number * 5.0 for number in range(240)]
    values = [1000.0 * (1 + per_sample * number + draw.gauss(0, noise)) for number in range(240)]
    found = trend(seconds, values, ALLOWED[name])
    assert (found.judged, found.grows) == (True, grows)


def test_a_figure_that_finds_its_height_at_the_beginning_does_not_grow() -> None:
    values = [min(100.0, 40.0 + number) for number in range(240)]
    assert not trend([number * 5.0 for number in range(240)], values, ALLOWED["rss_mb"]).grows


@pytest.mark.parametrize(
    ("megabytes", "grows"),
    [
        pytest.param(lambda seconds: 105 + 20 * (1 - math.exp(-seconds / 300)), False, id="it fills up"),
        pytest.param(lambda seconds: 105 + seconds / 60, True, id="it leaks"),
        pytest.param(lambda seconds: 105 + (seconds / 60) ** 1.5 / 3, True, id="it leaks ever faster"),
    ],
)
def test_what_fills_up_in_a_short_run_is_told_from_what_leaks(megabytes: Callable[[float], float], grows: bool) -> None:
    draw = random.Random(7)
    seconds = [number * 5.0 for number in range(121)]
    found = trend(seconds, [megabytes(one) + draw.gauss(0, 0.2) for one in seconds], ALLOWED["rss_mb"])
    assert (found.judged, found.grows) == (True, grows)
    assert found.rise > ALLOWED["rss_mb"].amount / 2


@pytest.mark.parametrize(
    ("minutes", "judged"),
    [
        pytest.param(12, False, id="before caches are full"),
        pytest.param(20, True, id="afterwards"),
    ],
)
def test_memory_is_judged_once_enough_pods_came_to_fill_what_is_remembered(minutes: int, judged: bool) -> None:
    seconds = [number * 5.0 for number in range(minutes * 12)]
    values = [100 + one / 60 for one in seconds]
    found = trend(seconds, values, ALLOWED["rss_mb"], 1_000.0)
    assert (found.judged, found.grows) == (judged, judged)
    assert trend(seconds, values, ALLOWED["fds"], 1_000.0).judged


def test_too_few_measurements_are_not_judged() -> None:
    found = trend([0.0, 5.0, 10.0], [1.0, 100.0, 1000.0], ALLOWED["fds"])
    assert (found.judged, found.grows, found.peak) == (False, False, 1000.0)
    assert not trend([], [], ALLOWED["fds"]).judged
