"""Jobs that leave as a whole or not at all: native PodGroups with the disruption mode ``all``."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.plans import NOW, manifests, mirror
from tests.support.taking import TWO_NODES, evicted, spread, taking
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.jobs.native import NativeGroup
from vsched.settings.built_in import REGISTRY

PREEMPT = taking("allocate, preempt", "priority gang conformance", "predicates")
YOUNG_STAY = taking(
    "allocate, preempt", "priority minruntime", "predicates", plugins={"minruntime": {"preemptMinRuntime": "1m"}}
)
CHEAPEST = taking(
    "allocate, preempt",
    "priority gang",
    "predicates",
    args={"enableTopologyAwarePreemption": True, "minCandidateNodesAbsolute": 2},
)
GANG_PREEMPT = taking("allocate, gangpreempt", "priority gang", "predicates")
RECLAIM = taking("allocate, reclaim", "gang proportion", "predicates")
CAPACITY = taking("allocate, reclaim", "gang capacity", "predicates")
OF_QUEUE_Q = f"{spread('x/g', 1).replace('min=', 'queue=q min=')}job ns/want queue=r phase=Inqueue min=1 pods=1 cpu=1"
WANT = "job ns/want class=high phase=Inqueue min=1 pods=1 cpu=1"


@pytest.mark.parametrize(
    ("policy", "text", "victims"),
    [
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/g", 4) + WANT,
            ["g.0", "g.1", "g.2", "g.3"],
            id="all of it leaves for one pod, whatever its minimum",
        ),
        pytest.param(
            CHEAPEST,
            TWO_NODES
            + "job x/g min=0 phase=Running\npods x/g 2 cpu=1 on=n1\npods x/g 1 cpu=1 on=n2\n"
            + "job x/one min=0 phase=Running\npods x/one 1 cpu=1 on=n2\n"
            + WANT,
            ["one.0"],
            id="a pod alone costs less",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/g", 1).replace("on=n2", "on=n2 volcano.sh/preemptable=false") + WANT,
            [],
            id="none of it where one pod may not be preempted",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + "pdb x/g selector=job:g allowed=3\n" + spread("x/g", 1) + WANT,
            [],
            id="none of it where a disruption budget keeps one pod",
        ),
        pytest.param(
            YOUNG_STAY,
            TWO_NODES
            + spread("x/g", 1).replace("on=n1", "on=n1 started=60").replace("on=n2", "on=n2 started=59")
            + WANT,
            [],
            id="none of it while one pod has to run for longer",
        ),
        pytest.param(
            YOUNG_STAY,
            TWO_NODES
            + spread("x/g", 1).replace("on=n1", "on=n1 started=60").replace("on=n2", "on=n2 started=61")
            + WANT,
            ["g.0", "g.1", "g.2", "g.3"],
            id="all of it once they have",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/g", 1).replace("min=1", "min=1 vsched.io/preemptibility=semi-preemptible") + WANT,
            [],
            id="none of it where the job keeps its minimum",
        ),
        pytest.param(
            PREEMPT,
            TWO_NODES + spread("x/g", 1) + WANT.replace("min=1 pods=1", "min=3 pods=3"),
            ["g.0", "g.1", "g.2", "g.3"],
            id="what it leaves on other nodes is used, and it is counted once",
        ),
        pytest.param(
            GANG_PREEMPT,
            "class high 9\nnode n1 cpu=4\nnode n2 cpu=2\njob x/g min=9 phase=Running\n"
            "pods x/g 2 cpu=2 on=n1\npods x/g 1 cpu=2 on=n2\njob ns/want class=high phase=Inqueue min=1 pods=1 cpu=2",
            ["g.0", "g.1", "g.2"],
            id="all of it where gangs take too, although it is below its minimum already",
        ),
        pytest.param(
            RECLAIM,
            "node n1 cpu=2\nnode n2 cpu=2\nqueue q\nqueue r\n"
            + spread("x/g", 1).replace("min=", "queue=q min=")
            + "job ns/want queue=r phase=Inqueue min=1 pods=1 cpu=1",
            [],
            id="reclaim takes none of it where its queue would fall below its share",
        ),
        pytest.param(
            CAPACITY,
            f"{TWO_NODES}queue q deserved=cpu:1\nqueue r deserved=cpu:1\n{OF_QUEUE_Q}",
            [],
            id="nor below what it deserves",
        ),
        pytest.param(
            CAPACITY,
            f"{TWO_NODES}node n3 cpu=1\nqueue q deserved=cpu:1\nqueue r deserved=cpu:1\n{OF_QUEUE_Q}\n"
            "job x/other queue=q phase=Running\npods x/other 1 cpu=1 on=n3",
            ["g.0", "g.1", "g.2", "g.3"],
            id="all of it where its queue holds that besides",
        ),
    ],
)
def test_who_leaves(policy: Policy, text: str, victims: list[str]) -> None:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    job = snapshot.jobs["x/g"]
    job.spec = msgspec.structs.replace(job.spec, native=NativeGroup(whole=True))

    assert sorted(evicted(run_cycle(snapshot, policy, REGISTRY))) == victims


def test_who_leaves_together_is_named_in_the_same_order_whatever_the_order_of_the_pods() -> None:
    found = manifests(TWO_NODES + spread("x/g", 4) + WANT)
    orders = []
    for objects in (found, found[::-1]):
        snapshot = mirror(objects).snapshot(NOW)
        job = snapshot.jobs["x/g"]
        job.spec = msgspec.structs.replace(job.spec, native=NativeGroup(whole=True))
        orders.append([one.name for one in run_cycle(snapshot, PREEMPT, REGISTRY).evictions])

    assert orders[0] == orders[1] == ["g.0", "g.1", "g.2", "g.3"]
