"""The figures of a work trace, by hand."""

from __future__ import annotations

import pytest

from vsched.record.history import History
from vsched.record.lines import (
    SUCCEEDED,
    AnyLine,
    Began,
    Complete,
    Ended,
    JobThere,
    NodeGone,
    NodeThere,
    PodBound,
    PodEnded,
    PodThere,
)
from vsched.record.summary import part_of, summary, waited

LINES: list[AnyLine] = [
    Began(at=0.0, schedulers=("volcano",), version="1"),
    NodeThere(at=0.0, name="n1", has={"cpu": 8000, "pods": 110}),
    NodeThere(at=0.0, name="n2", has={"cpu": 4000, "pods": 110}),
    Complete(at=0.0),
    JobThere(at=10.0, id="g", namespace="ns", name="gang", queue="research", created=10.0, min_member=2),
    PodThere(at=10.0, id="g0", job="g", created=10.0),
    PodThere(at=20.0, id="g1", job="g", created=20.0),
    PodThere(at=20.0, id="g2", job="g", created=20.0),
    JobThere(at=20.0, id="d", namespace="kube-system", name="agent", queue="default", created=20.0),
    PodThere(at=20.0, id="d0", job="d", created=20.0, returns=True),
    NodeGone(at=25.0, name="n2"),
    PodBound(at=30.0, id="g0", node="n1"),
    PodBound(at=50.0, id="g1", node="n1"),
    PodEnded(at=90.0, id="g0", how=SUCCEEDED),
    JobThere(at=95.0, id="w", namespace="ns", name="waits", queue="research", created=95.0, min_member=1),
    PodThere(at=95.0, id="w0", job="w", created=95.0),
    Ended(at=100.0),
]


def test_the_figures_of_a_trace() -> None:
    found = summary(History(LINES))
    assert {key: found[key] for key in ("seconds", "nodes", "amounts", "jobs", "gangs", "pods")} == {
        "seconds": 100.0,
        "nodes": 2,
        "amounts": {"cpu": 8000},
        "jobs": 3,
        "gangs": 1,
        "pods": 5,
    }
    assert found["ended"] == {"succeeded": 1, "there": 4}
    assert found["bound_by"] == {"volcano": 2}
    assert found["waits"] == {
        "default": {"started": 0, "waiting": 0, "median": 0.0, "p95": 0.0, "longest": 0.0},
        "research": {"started": 1, "waiting": 1, "median": 30.0, "p95": 30.0, "longest": 30.0},
    }


def test_a_gang_waits_from_when_its_minimum_came_until_its_minimum_has_nodes() -> None:
    history = History(LINES)
    assert waited(history.jobs["g"]) == 50.0 - 20.0
    assert waited(history.jobs["w"]) is None


@pytest.mark.parametrize(
    ("part", "expected"), [(0.5, 2.0), (0.95, 4.0), (1.0, 4.0), (0.25, 1.0), (0.0, 1.0)], ids=lambda part: f"{part}"
)
def test_the_part_of_some_numbers(part: float, expected: float) -> None:
    assert part_of([1.0, 2.0, 3.0, 4.0], part) == expected
