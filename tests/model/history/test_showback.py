"""Who has used how many resource-hours within a span."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.history.records import CLUSTER, NO_HISTORY, Holder, UsageHistory
from vsched.model.history.showback import DIMENSIONS, SPAN_SECONDS_MAX, showback, used_within

HOUR = 3600.0
GIB = 1 << 30
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
ANN, BOB, OTHER = Holder("research", "a", "ann"), Holder("research", "a", "bob"), Holder("batch", "b")
FREE = CLUSTER
"""The holder of a row that is not in use."""


def history() -> UsageHistory:
    """Two hours and 15 minutes: 10 cores, 100 GiB and 4 devices, of which three holders have some."""
    had = np.array([10_000.0, 100 * GIB, 4000.0])
    held = {
        0: [had, had, had],
        1: [np.array([4000.0, 10 * GIB, 0.0]), np.zeros(3), np.array([8000.0, 0.0, 4000.0])],
        2: [np.array([1000.0, 0.0, 0.0])] * 3,
        3: [np.zeros(3), np.array([0.0, 50 * GIB, 2000.0]), np.zeros(3)],
        4: [np.zeros(3)] * 3,
    }
    lengths = [HOUR, HOUR, 900.0]
    hours = np.array([[held[row][at] * lengths[at] for row in held] for at in range(3)])
    return UsageHistory(
        at=10_900.0,
        since=2_800.0,
        resources=RESOURCES,
        holders=(CLUSTER, ANN, BOB, OTHER, FREE),
        present=hours[2],
        present_seconds=900.0,
        ends=np.array([6_400.0, 10_000.0]),
        lengths=np.array([HOUR, HOUR]),
        hours=hours[:2].astype(np.float32),
    )


@pytest.mark.parametrize(
    ("seconds", "ann", "had", "counted"),
    [
        pytest.param(900, {"cpu": 2.0, "nvidia.com/gpu": 1.0}, 2.5, 900, id="the present hour, as far as it has come"),
        pytest.param(450, {"cpu": 1.0, "nvidia.com/gpu": 0.5}, 1.25, 450, id="half of it, as if its use were even"),
        pytest.param(
            900 + 3600, {"cpu": 2.0, "nvidia.com/gpu": 1.0}, 12.5, 4500, id="with an hour in which nothing was used"
        ),
        pytest.param(
            900 + 5400,
            {"cpu": 4.0, "memory": 5.0, "nvidia.com/gpu": 1.0},
            17.5,
            6300,
            id="with half of the hour before that",
        ),
        pytest.param(
            86_400, {"cpu": 6.0, "memory": 10.0, "nvidia.com/gpu": 1.0}, 22.5, 8100, id="more than was counted"
        ),
    ],
)
def test_a_span_takes_its_part_of_each_hour(seconds: float, ann: dict[str, float], had: float, counted: float) -> None:
    found = showback(history(), seconds)
    assert {row.user: row for row in found.rows}["ann"].used == pytest.approx(ann, rel=1e-5)
    assert found.had["cpu"] == pytest.approx(had)
    assert found.counted_seconds == counted
    assert found.span_seconds == seconds


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        pytest.param(("queue",), [("research", "", "", 0.366667), ("batch", "", "", 0.222222)], id="by queue"),
        pytest.param(("namespace",), [("", "a", "", 0.366667), ("", "b", "", 0.222222)], id="by namespace"),
        pytest.param(
            ("user",),
            [("", "", "ann", 0.266667), ("", "", "", 0.222222), ("", "", "bob", 0.1)],
            id="by user, and those that name none",
        ),
        pytest.param(
            ("user", "queue"),
            [("research", "", "ann", 0.266667), ("batch", "", "", 0.222222), ("research", "", "bob", 0.1)],
            id="by two, in the usual order",
        ),
    ],
)
def test_use_is_grouped_and_shares_are_dominant_ones(
    by: tuple[str, ...], rows: list[tuple[str, str, str, float]]
) -> None:
    found = showback(history(), SPAN_SECONDS_MAX, by)
    assert found.by == tuple(name for name in DIMENSIONS if name in by)
    assert [(row.queue, row.namespace, row.user, row.share) for row in found.rows] == rows


def test_nothing_counted_is_nothing_used() -> None:
    found = showback(NO_HISTORY, 3600)
    assert (found.rows, found.had, found.counted_seconds) == ((), {}, 0)


@given(st.floats(1.0, 30_000.0), st.floats(1.0, 30_000.0))
def test_a_longer_span_has_all_of_a_shorter_one(first: float, second: float) -> None:
    shorter, longer = sorted((first, second))
    small, counted_small = used_within(history(), shorter)
    large, counted_large = used_within(history(), longer)
    assert (large >= small * (1 - 1e-9)).all()
    assert counted_small <= counted_large * (1 + 1e-9) <= longer * (1 + 2e-9)
