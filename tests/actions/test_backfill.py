"""backfill: pods that ask for nothing, wherever they may run."""

from __future__ import annotations

import pytest

from tests.support.plans import plan, policy_of


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("job ns/a min=1 pods=2", {"a": 2}, id="pods without requests are placed"),
        pytest.param(
            "job ns/full min=1 pods=4 cpu=1\njob ns/a min=1 pods=2", {"full": 4, "a": 2}, id="on a full cluster too"
        ),
        pytest.param("job ns/a min=3 pods=2", {}, id="a gang without enough pods is not placed"),
        pytest.param("job ns/a min=2 pods=1\npods ns/a 1 cpu=1", {"a": 2}, id="they count for their gang's minimum"),
        pytest.param("job ns/a min=2 pods=1\npods ns/a 1 cpu=9", {}, id="and wait while the rest of it does not fit"),
        pytest.param("job ns/a min=1 pods=1 gated", {}, id="a gated pod is not placed"),
        pytest.param("job ns/a min=1 pods=1 selector=zone:z", {}, id="rules about nodes hold for them"),
        pytest.param("queue q state=Closed\njob ns/a pods=1 queue=q", {"a": 1}, id="a queue's state is not asked"),
        pytest.param("job ns/a minResources=cpu:99 pods=1", {}, id="a job that was not admitted is not placed"),
        pytest.param("job ns/a min=1 pods=1 queue=nowhere", {}, id="nor one of an unknown queue"),
    ],
)
def test_what_is_bound_on_one_node_of_four_cores(text: str, bound: dict[str, int]) -> None:
    assert plan(f"node n1 cpu=4\n{text}").bound == bound


def test_a_node_takes_no_more_pods_than_it_has_slots() -> None:
    found = plan("node n1 pods=2\njob ns/a min=1 pods=3")

    assert found.bound == {"a": 2}
    assert found.why("ns/a.2") == "0/1 nodes are available: 1 Too many pods."


def test_a_slot_that_is_being_left_is_not_taken_yet() -> None:
    assert plan("node n1 pods=1\npods ns/old 1 cpu=1 on=n1 leaving\njob ns/a min=1 pods=1").bound == {}


def test_queues_go_by_priority_and_jobs_by_age() -> None:
    text = """
        node n1 pods=4
        queue low
        queue high priority=1
        job ns/a min=1 pods=2 queue=low age=9
        job ns/b min=1 pods=1 queue=high
        job ns/c min=1 pods=2 queue=high age=5
    """
    assert plan(text).order == ["c.0", "c.1", "b.0", "a.0"]


def test_without_backfill_such_pods_wait() -> None:
    text = "node n1\njob ns/a min=1 pods=1"
    found = plan(text, policy_of("gang", "predicates", actions="enqueue, allocate"))

    assert found.bound == {}
    assert found.why("ns/a.0") == "not tried in this cycle"
