"""Jobs whose roles have minima of their own (``minTaskMember``): who of them leaves for others, whatever the action."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.plans import plan
from tests.support.taking import taking
from vsched.framework.policy import Policy

TIERS = ("priority gang conformance", "predicates nodeorder capacity")
WEIGHED = ("priority gang", "predicates proportion")
PREEMPT = taking("enqueue, allocate, preempt", *TIERS)
RECLAIM = taking("enqueue, allocate, reclaim", *TIERS)
RECLAIM_BY_WEIGHT = taking("enqueue, allocate, reclaim", *WEIGHED)
GANG_PREEMPT = taking("enqueue, allocate, gangpreempt", *TIERS)
GANG_RECLAIM = taking("enqueue, allocate, gangreclaim", *TIERS)
SPARING = taking("enqueue, allocate, gangpreempt", *TIERS, gangs={"allowWholeBundle": False})
NODES = """
    class high 9
    node n1 cpu=3
    node n2 cpu=2
    queue qa deserved=cpu:1
    queue qb deserved=cpu:4
"""
MASTER = """
    job ns/a min=2 queue=qa phase=Running roles=master:1,worker:1
    pods ns/a 2 cpu=1 on=n1 role=worker age=60
    pods ns/a 2 cpu=1 on=n2 role=worker age=60
    pods ns/a 1 cpu=1 on=n1 role=master age=10
"""
"""The master is the newest pod, which would be taken first."""


@pytest.mark.parametrize(
    ("policy", "queue"),
    [
        pytest.param(PREEMPT, "qa", id="preempt"),
        pytest.param(RECLAIM, "qb", id="reclaim"),
        pytest.param(RECLAIM_BY_WEIGHT, "qb weight=9", id="reclaim by weight"),
        pytest.param(GANG_PREEMPT, "qa", id="gangpreempt"),
        pytest.param(SPARING, "qa", id="gangpreempt that keeps gangs"),
        pytest.param(GANG_RECLAIM, "qb", id="gangreclaim"),
    ],
)
@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_the_only_pod_of_a_role_stays(policy: Policy, queue: str, wanted: int) -> None:
    queue, _, weight = queue.partition(" ")
    text = NODES.replace(f"queue {queue} ", f"queue {queue} {weight} ") + MASTER
    found = plan(f"{text}job ns/b min={wanted} pods={wanted} cpu=1 queue={queue} class=high", policy, cycles=2)

    assert Counter(name.partition(".")[0] for names in found.evicted for name in names) == {"a": wanted}
    assert "a.4" not in found.evicted[0]
    assert found.bound == {"b": wanted}


@pytest.mark.parametrize(
    ("policy", "text", "evicted"),
    [
        pytest.param(
            PREEMPT,
            "job ns/a min=3 queue=qa phase=Running roles=ps:2,worker:1\n"
            "pods ns/a 2 cpu=1 on=n1 role=worker\npods ns/a 1 cpu=1 on=n1 role=ps\npods ns/a 2 cpu=1 on=n2 role=ps\n"
            "job ns/b min=2 pods=2 cpu=1 queue=qa class=high",
            ["a.1", "a.2"],
            id="one of each role, as two of one would be too many",
        ),
        pytest.param(
            PREEMPT,
            "job ns/a min=3 queue=qa phase=Running roles=ps:2,worker:1\n"
            "pods ns/a 3 cpu=1 on=n1 role=ps\npods ns/a 2 cpu=1 on=n2 role=worker\n"
            "job ns/c min=1 pods=1 cpu=1 queue=qa class=high age=9\njob ns/d min=1 pods=1 cpu=1 queue=qa class=high",
            ["a.2", "a.4"],
            id="what left for another job in the same session counts",
        ),
        pytest.param(
            PREEMPT,
            "job ns/a min=2 queue=qa phase=Running roles=ps:1,worker:1\n"
            "pods ns/a 3 cpu=1 on=n1 role=worker\npods ns/a 1 cpu=2 on=n2 role=ps\n"
            "job ns/b min=1 pods=1 cpu=2 queue=qa class=high",
            ["a.1", "a.2"],
            id="two pods leave where one would do that its role needs",
        ),
        pytest.param(
            PREEMPT,
            "job ns/a min=2 queue=qa phase=Running roles=ps:1,worker:1\n"
            "pods ns/a 1 cpu=3 on=n1 role=worker\n"
            "pods ns/a 1 cpu=1 on=n2 role=ps\npods ns/a 1 cpu=1 on=n2 role=worker\n"
            "job ns/b min=1 pods=1 cpu=2 queue=qa class=high",
            ["a.0"],
            id="not both pods of a node with one of them",
        ),
        pytest.param(
            GANG_PREEMPT,
            "job ns/a min=2 queue=qa phase=Running roles=ps:1,worker:1\n"
            "pods ns/a 1 cpu=3 on=n1 role=worker volcano.sh/preemptable=true\npods ns/a 2 cpu=1 on=n2 role=ps\n"
            "job ns/b min=1 pods=1 cpu=3 queue=qa class=high",
            ["a.0", "a.1", "a.2"],
            id="a gang that would lack a role leaves as a whole",
        ),
        pytest.param(
            GANG_PREEMPT,
            "job ns/a min=3 queue=qa phase=Running roles=ps:1,worker:2\n"
            "pods ns/a 1 cpu=3 on=n1 role=worker\npods ns/a 2 cpu=1 on=n2 role=worker\n"
            "job ns/b min=1 pods=1 cpu=3 queue=qa class=high",
            ["a.0"],
            id="of a gang that lacks a role already any pod may go",
        ),
    ],
)
def test_who_leaves(policy: Policy, text: str, evicted: list[str]) -> None:
    assert sorted(plan(NODES + text, policy).evicted[0]) == evicted
