"""What queues and priority classes come to: the priority of queues and jobs, and the range scores are measured by."""

from __future__ import annotations

import pytest

from tests.support.plans import manifests, mirror
from vsched import api
from vsched.mirror.mirror import Mirror

CLASSES = "class low 5\nclass ten 10\nclass high 1000"


def job_priority(cache: Mirror, key: str) -> int:
    return cache.snapshot(0.0).jobs[key].priority


@pytest.mark.parametrize(
    ("queue", "job", "priority"),
    [
        pytest.param("class=ten", "", 10, id="a job without a class inherits its queue's"),
        pytest.param("class=ten", "class=unknown", 10, id="so does one whose class is unknown"),
        pytest.param("class=ten", "class=low", 5, id="a class of its own counts, though it is lower"),
        pytest.param("class=ten priority=7", "", 7, id="a queue's number beats its class"),
        pytest.param("class=ten priority=0", "", 0, id="even where it is none"),
        pytest.param("class=unknown", "", 0, id="a queue of an unknown class has no priority to give"),
        pytest.param("", "", 0, id="nor has one without"),
    ],
)
def test_the_priority_of_a_job(queue: str, job: str, priority: int) -> None:
    cache = mirror(manifests(f"{CLASSES}\nqueue q {queue}\njob ns/a queue=q {job}"))

    assert job_priority(cache, "ns/a") == priority


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("class low 5\nclass high 1000", (5, 1000), id="of classes"),
        pytest.param("class low 5\nqueue q priority=70", (5, 70), id="of classes and queues"),
        pytest.param("class low 5\nqueue q", (0, 5), id="a queue without a priority has 0"),
        pytest.param("class debt -5\nqueue q", (-5, 0), id="below nothing"),
        pytest.param("class low 5\njob ns/a", (0, 5), id="so has the default queue that nobody made"),
        pytest.param(
            "class top 1000000000\nclass node 2000001000", (1000000000, 1000000000), id="the system's do not count"
        ),
        pytest.param(
            "class node 2000001000\nqueue q class=node", (2000001000, 2000001000), id="unless a queue has one"
        ),
        pytest.param("node n1", (0, 0), id="of nothing"),
    ],
)
def test_the_range_of_priorities(text: str, found: tuple[int, int]) -> None:
    assert mirror(manifests(text)).snapshot(0.0).priority_range == found


def test_a_changed_class_counts_from_the_next_cycle() -> None:
    cache = mirror(manifests("class ten 10\nqueue q class=ten\nqueue r\njob ns/a queue=q"))
    before = cache.snapshot(0.0)
    seen = (before.priority_range, before.queues["q"].priority, before.jobs["ns/a"].priority)
    changed = api.PriorityClass(metadata=api.Metadata(name="ten", resource_version="9"), value=30)
    cache.intake.apply("PriorityClass", "MODIFIED", changed)
    after = cache.snapshot(1.0)

    assert seen == ((0, 10), 10, 10)
    assert (after.priority_range, after.queues["q"].priority, after.jobs["ns/a"].priority) == ((0, 30), 30, 30)

    cache.intake.apply("PriorityClass", "DELETED", changed)
    gone = cache.snapshot(2.0)
    assert (gone.priority_range, gone.queues["q"].priority, gone.jobs["ns/a"].priority) == ((0, 0), 0, 0)
