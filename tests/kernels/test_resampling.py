"""Intervals of figures from resampled periods."""

from __future__ import annotations

import numpy as np
import pytest

from vsched.kernels.resampling import draws, interval


def test_resamples_draw_as_many_periods_as_there_are() -> None:
    found = draws(9, seed=3)
    assert (found.sum(axis=1) == 9).all()
    assert np.array_equal(found, draws(9, seed=3))


def test_an_interval_is_as_wide_as_the_periods_differ() -> None:
    equal, differing = np.full(16, 5.0), np.arange(16.0)
    assert interval(lambda times: float(equal @ times), 16, 1) == (80.0, 80.0)
    low, high = interval(lambda times: float(differing @ times), 16, 1)
    # By the normal distribution: 120 and 1.96 times the root of 16 times the variance of 0 to 15.
    assert (low, high) == (pytest.approx(120 - 36.1, abs=5), pytest.approx(120 + 36.1, abs=5))
