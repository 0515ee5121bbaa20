"""gangpreempt and gangreclaim: which tasks and which whole jobs leave for a gang."""

from __future__ import annotations

import pytest

from tests.support.taking import TWO_NODES, Busy, evicted, spread, taking
from vsched.framework.policy import Policy

PREEMPT = taking("allocate, gangpreempt", "priority gang conformance", "predicates nodeorder")
SPARING = taking("allocate, gangpreempt", "priority gang", "predicates", gangs={"allowWholeBundle": False})
RECLAIM = taking("allocate, gangreclaim", "gang conformance proportion", "predicates")
CAPACITY = taking("allocate, gangreclaim", "priority gang conformance capacity", "predicates")
ELSEWHERE = """
    node n1 cpu=8 memory=24Gi
    node n2 cpu=8 memory={memory}Gi
    queue a deserved=cpu:2,memory:8Gi
    queue b deserved=cpu:2,memory:8Gi
    job x/g min=3 queue=a phase=Running
    pods x/g 2 cpu=1 memory=4Gi on=n2
    pods x/g 1 cpu=1 memory=4Gi on=n1
    job x/e min=4 queue=a phase=Running age=9
    pods x/e 4 cpu=1 memory={other} on=n1
    job x/want min=1 queue=b pods=1 cpu=1 memory=4Gi selector=kubernetes.io/hostname:n2
"""
"""Of the gang g, one pod is on a node where the taker lacks nothing; there, only n2 lacks memory."""
WANT = "job x/want class=high min=2 pods=2 cpu=1"


@pytest.mark.parametrize(
    ("policy", "text", "victims"),
    [
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/low", 4) + WANT,
            ["low.0", "low.1", "low.2", "low.3"],
            id="a gang that would fall below its minimum leaves as a whole",
        ),
        pytest.param(
            SPARING,
            TWO_NODES + spread("x/low", 4) + WANT,
            [],
            id="unless the policy keeps gangs whole",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/low", 2) + WANT,
            ["low.0", "low.1"],
            id="what a job has beyond its minimum leaves alone",
        ),
        pytest.param(
            PREEMPT,
            f"{TWO_NODES}job x/whole min=2 phase=Running\npods x/whole 2 cpu=1 on=n1\n"
            f"job x/spare min=1 phase=Running\npods x/spare 2 cpu=1 on=n2\n"
            "job x/want class=high min=1 pods=1 cpu=1",
            ["spare.1"],
            id="a task that its job can spare goes before a whole job",
        ),
        pytest.param(
            PREEMPT,
            "class high 9\nnode n1 cpu=4\nnode n2 cpu=4\njob x/low min=2 phase=Running\npods x/low 1 cpu=4 on=n1\n"
            "pods x/low 1 cpu=4 on=n2\njob x/want class=high min=1 pods=1 cpu=4",
            ["low.0", "low.1"],
            id="the rest of a gang leaves its other nodes too",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/low", 4).replace("on=n2", "on=n2 volcano.sh/preemptable=false") + WANT,
            [],
            id="no gang with a task that may not be preempted",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/low", 4).replace("min=4", "min=4 class=high") + WANT,
            [],
            id="no job of equal priority",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/low", 8) + WANT,
            ["low.0", "low.1"],
            id="a job that is below its minimum already can lose any task",
        ),
        pytest.param(
            PREEMPT,
            "class high 9\nnode n1 cpu=3\njob x/low min=1 subGroups=part:2:2 phase=Running\n"
            "pods x/low 2 cpu=1 on=n1 labels=part:a\npods x/low 1 cpu=1 on=n1 labels=part:b\n"
            "job x/want class=high min=1 pods=1 cpu=1",
            ["low.2"],
            id="so can one that lacks a sub-group",
        ),
        pytest.param(
            PREEMPT,
            "class high 9\nnode n1 cpu=2\njob x/low min=2 roles=lead:1,w:1 phase=Running\n"
            "pods x/low 2 cpu=1 on=n1 role=w\njob x/want class=high min=1 pods=1 cpu=1",
            ["low.1"],
            id="or a pod of a role",
        ),
        pytest.param(
            RECLAIM,
            "node n1 cpu=4\nqueue a\nqueue b\njob x/a queue=a min=1 phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b min=2 pods=2 cpu=1",
            ["a.2", "a.3"],
            id="a queue below its share takes from one above",
        ),
        pytest.param(
            RECLAIM,
            "node n1 cpu=4\nqueue a\nqueue b\njob x/a queue=a min=1 phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b min=3 pods=3 cpu=1",
            [],
            id="no queue takes more than its share, not even a part of it",
        ),
        pytest.param(
            CAPACITY,
            ELSEWHERE.format(memory=8, other="512Mi"),
            [],
            id="no gang whose queue would hold less than it deserves without the pods on other nodes",
        ),
        pytest.param(
            CAPACITY,
            ELSEWHERE.format(memory=8, other="1536Mi"),
            [],
            id="not even with its last pod alone",
        ),
        pytest.param(
            CAPACITY,
            ELSEWHERE.format(memory=8, other="2Gi"),
            ["g.0", "g.1", "g.2"],
            id="a gang that its queue holds beyond what it deserves",
        ),
        pytest.param(
            CAPACITY,
            ELSEWHERE.format(memory=12, other="512Mi") + "job x/h queue=a age=5 phase=Running\n"
            "pods x/h 1 cpu=1 memory=4Gi on=n2",
            ["h.0"],
            id="a smaller gang in place of one that has to stay",
        ),
        pytest.param(
            RECLAIM,
            "node n1 cpu=6\nnode n2 cpu=2\nqueue a weight=3\nqueue b\njob x/g queue=a min=3 phase=Running\n"
            "pods x/g 1 cpu=1 on=n1\npods x/g 2 cpu=1 on=n2\njob x/e queue=a min=4 phase=Running\n"
            "pods x/e 4 cpu=1 on=n1\njob x/b queue=b pods=1 cpu=1 selector=kubernetes.io/hostname:n2",
            [],
            id="by weights as well",
        ),
    ],
)
def test_who_leaves_for_a_gang(policy: Policy, text: str, victims: list[str]) -> None:
    asking = text.replace(" pods=", " phase=Inqueue pods=")

    assert sorted(evicted(Busy(asking, policy).cycle())) == sorted(victims)


def test_a_gang_starts_once_the_gang_it_broke_up_has_left() -> None:
    text = (TWO_NODES + spread("x/low", 4) + WANT).replace(" pods=", " phase=Inqueue pods=")
    cluster = Busy(text, PREEMPT)

    assert len(cluster.cycle().evictions) == 4
    assert sorted(bind.name for bind in cluster.cycle().binds) == ["want.0", "want.1"]
    assert not cluster.cycle().evictions
