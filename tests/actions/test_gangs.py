"""gangpreempt and gangreclaim: which tasks and which whole jobs leave for a gang."""

from __future__ import annotations

import pytest

from tests.support.taking import TWO_NODES, Busy, evicted, spread, taking
from vsched.framework.policy import Policy

PREEMPT = taking("allocate, gangpreempt", "priority gang conformance", "predicates nodeorder")
SPARING = taking("allocate, gangpreempt", "priority gang", "predicates", gangs={"allowWholeBundle": False})
RECLAIM = taking("allocate, gangreclaim", "gang conformance proportion", "predicates")
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
