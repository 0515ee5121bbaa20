"""A queue's capability binds it under every plugin that divides the cluster: none is none, and pods are counted."""

from __future__ import annotations

import pytest

from tests.support.plans import plan
from tests.support.taking import taking
from vsched.framework.policy import Policy

POLICIES = [
    pytest.param(taking("enqueue, allocate, backfill", "gang", f"predicates {plugin}"), id=name)
    for plugin, name in (("proportion", "by weight"), ("capacity", "by amounts"), ("capacity-H", "in a tree"))
]
TREE = taking("enqueue, allocate, backfill", "gang", "predicates capacity-H")


def bound(text: str, policy: Policy) -> int:
    return len(plan(f"node n1 cpu=16\nqueue b\n{text}", policy, cycles=3).order)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("queue a capability=cpu:0\njob x/a queue=a pods=3 cpu=1", 0, id="no cores"),
        pytest.param("queue a capability=memory:0\njob x/a queue=a pods=3 cpu=1 memory=1Gi", 0, id="no memory"),
        pytest.param(
            "queue a capability=cpu:0\njob x/a queue=a pods=3 cpu=1 minResources=cpu:1", 0, id="nobody is admitted"
        ),
        pytest.param(
            "queue a capability=cpu:0\njob x/a queue=a pods=3 memory=1Gi", 3, id="who asks for none is not held back"
        ),
        pytest.param("queue a capability=memory:0\njob x/a queue=a pods=3 cpu=1", 3, id="nor by another resource"),
        pytest.param("queue a capability=pods:2\njob x/a queue=a pods=3 cpu=1", 2, id="two pods"),
        pytest.param("queue a capability=pods:0\njob x/a queue=a pods=3 cpu=1", 0, id="no pods"),
        pytest.param("queue a capability=pods:2\njob x/a queue=a pods=3", 2, id="pods that ask for nothing count"),
        pytest.param("queue a capability=pods:2\njob x/a queue=a min=3 pods=3 cpu=1", 0, id="a gang as a whole"),
        pytest.param(
            "queue a capability=pods:3\njob x/r queue=a phase=Running\npods x/r 2 cpu=1 on=n1\n"
            "job x/a queue=a pods=3 cpu=1",
            1,
            id="those that run count",
        ),
        pytest.param(
            "queue a capability=cpu:8\njob x/a queue=a pods=9 cpu=500m", 9, id="else there is no limit to pods"
        ),
        pytest.param(
            "queue a capability=pods:2\njob x/a queue=a pods=3 cpu=1\njob x/b queue=b pods=3 cpu=1",
            5,
            id="others are not bound by it",
        ),
    ],
)
def test_how_many_pods_a_queue_with_a_capability_gets(text: str, count: int, policy: Policy) -> None:
    assert bound(text, policy) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("queue p capability=cpu:0\nqueue a parent=p\njob x/a queue=a pods=3 cpu=1", 0, id="no cores"),
        pytest.param(
            "queue p capability=cpu:0\nqueue a parent=p capability=cpu:2\njob x/a queue=a pods=3 cpu=1",
            0,
            id="whatever the one below says",
        ),
        pytest.param(
            "queue p capability=pods:3\nqueue a parent=p\nqueue c parent=p\njob x/a queue=a pods=2 cpu=1\n"
            "job x/c queue=c pods=2 cpu=1",
            3,
            id="pods of all below together",
        ),
    ],
)
def test_how_many_pods_queues_below_one_with_a_capability_get(text: str, count: int) -> None:
    assert bound(text, TREE) == count


def test_a_capability_that_a_parent_of_none_cuts_down_is_reported() -> None:
    text = "queue p capability=cpu:0\nqueue a parent=p capability=cpu:2\njob x/a queue=a pods=1 cpu=1"
    found = plan(f"node n1 cpu=4\n{text}", TREE)

    assert "capability of cpu 2 to 0" in found.queues["a"].problem
