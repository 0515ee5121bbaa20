"""How long waits are."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from vsched.kube.backoff import BackOff, BackOffSettings

SETTINGS = BackOffSettings(first_seconds=0.1, ceiling_seconds=5.0, asked_ceiling_seconds=20.0)


@given(st.integers(0, 2000), st.none() | st.floats(0, 1e6), st.integers())
def test_waits_grow_and_stay_within_bounds(failures: int, asked_seconds: float | None, seed: int) -> None:
    back_off = BackOff(SETTINGS, random.Random(seed))
    back_off.failures = failures
    wait_seconds = back_off.next_seconds(asked_seconds)
    grown = min(5.0, 0.1 * 2 ** min(failures, 20))
    assert min(asked_seconds or 0.0, 20.0) <= wait_seconds
    assert grown / 2 <= wait_seconds <= max(grown, min(asked_seconds or 0.0, 20.0))
    assert back_off.failures == failures + 1


def test_a_reset_starts_again_from_the_shortest_wait() -> None:
    back_off = BackOff(SETTINGS)
    for _ in range(10):
        back_off.next_seconds()
    back_off.reset()
    assert back_off.next_seconds() <= 0.1


def test_a_ceiling_can_be_lowered_for_one_wait() -> None:
    back_off = BackOff(SETTINGS)
    back_off.failures = 50
    assert back_off.next_seconds(ceiling_seconds=0.5) <= 0.5
