"""Unschedulable reasons: the constraint that binds, in one word and in one sentence with counts."""

from __future__ import annotations

import pytest

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.refusal import Shortage
from vsched.framework.words import jobs as words
from vsched.framework.words import limits, nodes
from vsched.framework.words.lists import rounded
from vsched.model.plan import JobOutcome
from vsched.plugins.words import jobs as gangs
from vsched.plugins.words.queues import beyond_cluster, not_open
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

TREE = load_text(
    "actions: allocate\n"
    "tiers: [{plugins: [{name: gang}, {name: capacity, enableHierarchy: true}, {name: predicates}]}]",
    "policy",
    REGISTRY,
).policy
TAKING = policy_of(
    "priority gang pdb", "predicates proportion nodeorder", actions="enqueue, allocate, preempt, backfill"
)
FULL = nodes.on_nodes([("Insufficient cpu", 1)])
GPU = nodes.tainted("gpu", "yes")
OF_ROOMS = nodes.on_nodes([("Insufficient cpu", 1), (GPU, 1), (nodes.CORDONED, 1)])
ROOMS = "node n1 cpu=4\nnode n2 cpu=4 cordoned\nnode n3 cpu=8 taint=gpu:yes"


def outcome(text: str, policy: Policy = DEFAULT_POLICY, key: str = "ns/a") -> JobOutcome:
    return run_cycle(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY).jobs[key]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        pytest.param(
            f"{ROOMS}\njob ns/a min=8 pods=8 cpu=1",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 8, 8, 4)}: {OF_ROOMS}",
            id="some of a gang fit",
        ),
        pytest.param(
            f"{ROOMS}\njob ns/a min=2 pods=2 cpu=5",
            Code.RESOURCES,
            f"{words.needs(words.THE_GANG, 2, 2, 0)}: {nodes.has_no(nodes.none_of(2), 'cpu', '5', '4')}; {OF_ROOMS}",
            id="none of a gang fit",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=4\npods ns/a 2 cpu=1 on=n1\npods ns/a 2 cpu=2",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 4, 2, 1)}: {FULL}",
            id="a part of the gang runs",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=2\njob ns/a min=1 pods=1 cpu=16",
            Code.RESOURCES,
            nodes.has_no(nodes.NO_NODE, "cpu", "16", "4"),
            id="more than any node has",
        ),
        pytest.param(
            "node n1 cpu=4 pods=0\njob ns/a min=1 pods=1 cpu=1",
            Code.RESOURCES,
            nodes.has_no(nodes.NO_NODE, "pods", "1", ""),
            id="no slots for pods",
        ),
        pytest.param(
            "node n1 taint=gpu:yes\nnode n2 taint=gpu:yes\nnode n3 cordoned\njob ns/a min=1 pods=1 cpu=1",
            Code.TAINTS,
            f"{words.NONE_FITS}: {nodes.on_nodes([(GPU, 2), (nodes.CORDONED, 1)])}",
            id="what keeps most nodes binds, where none is open",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 pods=1 cpu=1 selector=zone:x",
            Code.SELECTOR,
            f"{words.NONE_FITS}: {nodes.on_nodes([(nodes.NOT_SELECTED, 1)])}",
            id="the selector matches nothing",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/o min=1 pods=1 cpu=1 port=80 on=n1\njob ns/a min=1 pods=1 cpu=1 port=80",
            Code.PORTS,
            f"{words.NONE_FITS}: {nodes.on_nodes([(nodes.NO_PORTS, 1)])}",
            id="a host port is taken",
        ),
        pytest.param(
            "job ns/a min=1 pods=1 cpu=1",
            Code.NO_NODES,
            f"{words.NONE_FITS}: {nodes.NO_NODES_KNOWN}",
            id="there are no nodes",
        ),
        pytest.param(
            "node n1 cpu=2\njob ns/a min=1 phase=Running\npods ns/a 1 cpu=1 on=n1\npods ns/a 2 cpu=2",
            Code.RESOURCES,
            f"{words.more_wait(2)}: {FULL}",
            id="a job that runs wants more",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2 pods=1 cpu=1",
            Code.GANG_INCOMPLETE,
            gangs.some_exist(1, 2, ""),
            id="fewer pods than the minimum",
        ),
        pytest.param(
            "node n1 cpu=1\njob ns/a min=3 roles=ps:1,worker:2\npods ns/a 1 role=ps cpu=2\npods ns/a 2 role=worker",
            Code.ROLE_MINIMUM,
            f"{words.needs('role ps', 1, 1, 0)}: {nodes.has_no(nodes.NO_NODE, 'cpu', '2', '1')}",
            id="a role lacks its minimum",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2\npods ns/a 1 cpu=1\npods ns/a 2 cpu=1 gated",
            Code.GATED,
            f"{words.gated(2, more=False)}: {words.needs(words.THE_GANG, 2, 2, 1)}",
            id="gates",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a queue=nowhere min=1 pods=1 cpu=1",
            Code.QUEUE_NOT_FOUND,
            words.no_queue("nowhere"),
            id="there is no queue",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q state=Closed\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=1",
            Code.QUEUE_CLOSED,
            not_open("q", "Closed"),
            id="a closed queue",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/o queue=q min=1 pods=1 cpu=3 on=n1 phase=Running\n"
            "job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=2",
            Code.QUEUE_CAPABILITY,
            limits.at_limit("q", "q", Shortage("cpu", 3000, 2000, 4000), None),
            id="the queue is at its capability",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=5",
            Code.QUEUE_CAPABILITY,
            limits.at_limit("q", "q", Shortage("cpu", 0, 5000, 4000), None),
            id="more than the capability, whatever is held",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue p\nqueue q\njob ns/o queue=p min=1 phase=Running\npods ns/o 4 cpu=1 on=n1\n"
            "pods ns/o 4 cpu=1\njob ns/a queue=q min=6 phase=Inqueue pods=6 cpu=1",
            Code.GANG_SIZE,
            f"{words.needs(words.THE_GANG, 6, 6, 4)}: {FULL}"
            f"{words.besides(limits.deserves('q', [Shortage('cpu', 0, 6000, 4000)]))}",
            id="the nodes first, and the queue's share besides",
        ),
        pytest.param(
            "node n1 cpu=9\npods ns/old 8 cpu=1 on=n1\njob ns/o min=1 phase=Inqueue minResources=cpu:2 pods=1 cpu=2\n"
            "job ns/a min=1 minResources=cpu:2 pods=1 cpu=2",
            Code.ORDER,
            limits.waits_behind(1, "", [Shortage("cpu", 10_000, 2000, 10_800)]),
            id="others were admitted before it",
        ),
        pytest.param(
            "node n1 cpu=10\njob ns/a minResources=cpu:13 pods=1 cpu=1",
            Code.RESOURCES,
            beyond_cluster([Shortage("cpu", 0, 13_000, 10_000)]),
            id="more than the cluster is promised at all",
        ),
        pytest.param(
            "node n1 cpu=4\npods ns/old 1 cpu=3 on=n1 leaving\njob ns/a min=2 pods=2 cpu=2",
            Code.LEAVING,
            words.wait_for_others(2, f"a.0 {words.goes_once('n1')}"),
            id="others are on their way out",
        ),
        pytest.param(
            "node n1 cpu=9\njob ns/a min=3 phase=Running\npods ns/a 2 cpu=1 on=n1",
            Code.GANG_INCOMPLETE,
            gangs.some_exist(2, 3, ""),
            id="one of those that ran is gone, and none waits",
        ),
        pytest.param(
            "node n1 cpu=9\njob ns/a min=3 phase=Inqueue",
            Code.GANG_INCOMPLETE,
            gangs.none_exists(3, ""),
            id="its pods are not made yet",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=4\npods ns/a 1 cpu=1\npods ns/a 2 cpu=1 on=n1 leaving\n"
            "pods ns/a 1 cpu=1 on=n1 failed",
            Code.GANG_INCOMPLETE,
            gangs.some_exist(1, 4, gangs.pods_gone(1, 2, 0)),
            id="pods that one sees and that do not count",
        ),
        pytest.param(
            "node n1 cpu=4\npods ns/old 1 cpu=4 on=n1 leaving\njob ns/a min=3\npods ns/a 2 cpu=1\n"
            "pods ns/a 1 cpu=1 gated",
            Code.GATED,
            f"{words.gated(1, more=False)}: {words.needs(words.THE_GANG, 3, 3, 2)}",
            id="places that others leave are no places where a gate keeps the gang from its minimum",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 phase=Running\npods ns/a 1 cpu=1 on=n1\npods ns/a 1 cpu=1 gated",
            Code.GATED,
            words.gated(1, more=True),
            id="it has its minimum, and a gate holds back one more",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 pods=1 cpu=0 gated",
            Code.GATED,
            words.gated(1, more=False),
            id="a gate holds back what asks for nothing",
        ),
        pytest.param(
            "node n1 cpu=3\njob ns/a min=2 roles=ps:1,worker:1\npods ns/a 5 cpu=1 role=ps\n"
            "pods ns/a 1 cpu=4 role=worker",
            Code.ROLE_MINIMUM,
            "role worker needs 1, none fit: no node has 4 cpu (largest: 3)",
            id="the role that is short is named, not one of which some find no place",
        ),
        pytest.param(
            "node n1 cpu=9 memory=10Gi\nqueue q\nqueue r weight=2\njob ns/o queue=r min=1 pods=9 memory=1Gi cpu=1\n"
            "job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=1 memory=4Gi",
            Code.QUEUE_SHARE,
            "queue q deserves 3413Mi memory: 0 held, 4Gi more asked",
            id="a share that does not come to whole units",
        ),
        pytest.param("node n1 cpu=9\njob ns/a min=3 phase=Completed", "", "", id="it has ended, and its pods are gone"),
        pytest.param("node n1 cpu=4\njob ns/a min=1 pods=1 cpu=1", "", "", id="nothing is in the way"),
    ],
)
def test_what_binds(text: str, code: str, message: str) -> None:
    found = outcome(text)

    assert (found.code, found.message) == (code, message)


def test_where_the_search_for_another_way_ends_early_it_is_told_so() -> None:
    """Seven pods with the same port find room on six nodes by their amounts."""
    nodes = "\n".join([f"node n{at} cpu=4" for at in range(6)])
    text = f"{nodes}\njob ns/a min=7\npods ns/a 4 cpu=1 port=80\npods ns/a 3 cpu=3 port=80"
    message = outcome(text).message
    assert "fit" in message
    assert message.endswith(f"; {words.UNTRIED}"), message


def test_a_queue_above_is_named_where_it_is_the_one_that_is_full() -> None:
    text = """
        node n1 cpu=9
        queue p capability=cpu:4
        queue q parent=p
        queue r parent=p
        job ns/o queue=r min=1 pods=1 cpu=3 on=n1 phase=Running
        job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=2
    """
    found = outcome(text, TREE)

    assert (found.code, found.message) == (
        Code.QUEUE_CAPABILITY,
        "queue p above it allows 4 cpu: 3 held, 2 more asked",
    )


def test_the_budget_that_protects_the_only_victims_is_named() -> None:
    text = """
        node n1 cpu=4
        class high 1000
        pdb ns/guard selector=job:low allowed=0
        job ns/low min=1 phase=Running
        pods ns/low 4 cpu=1 on=n1
        job ns/a min=1 pods=1 cpu=2 class=high
        job ns/b min=1 pods=1 cpu=2 class=high
        job ns/big min=1 pods=1 cpu=5 class=high
    """
    again = "(retried as soon as it allows more)"
    told = f"disruption budget ns/guard forbids the only victims {again}; no node fits: 1 node has too little cpu"

    for key in ("ns/a", "ns/b"):
        found = outcome(text, TAKING, key)
        assert (found.code, found.message) == (Code.BUDGET, told)
    assert outcome(text, TAKING, "ns/big").code == Code.RESOURCES, "no victims would be enough for it"


def test_a_budget_that_allows_enough_is_no_reason() -> None:
    text = """
        node n1 cpu=4
        class high 1000
        pdb ns/guard selector=job:low allowed=2
        job ns/low min=1 phase=Running
        pods ns/low 4 cpu=1 on=n1
        job ns/a min=1 pods=1 cpu=2 class=high
    """
    assert outcome(text, TAKING).code == Code.LEAVING


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        pytest.param(
            "job ns/a min=2 pods=2 cpu=1",
            Code.BINDING,
            words.unbound(2, "a.0", "denied by a webhook"),
            id="placed once more",
        ),
        pytest.param(
            "job ns/a min=2 phase=Inqueue\npods ns/a 2 cpu=1 on=n1", "", "", id="bound in the end, whoever did it"
        ),
        pytest.param(
            "job ns/a min=2 pods=2 cpu=9",
            Code.RESOURCES,
            "the gang needs 2, none fit: no node has 9 cpu (largest: 4)",
            id="there is no room any more",
        ),
    ],
)
def test_bindings_that_the_api_server_does_not_take_are_told_where_nothing_else_is(
    text: str, code: str, message: str
) -> None:
    objects = manifests(f"node n1 cpu=4\n{text}")
    mirrored = mirror(objects)
    mirrored.snapshot(NOW)
    for found in objects:
        if found["kind"] == "Pod":
            mirrored.assumptions.binding_refused(found["metadata"]["uid"], "denied by a webhook")
    told = run_cycle(mirrored.snapshot(NOW), DEFAULT_POLICY, REGISTRY).jobs["ns/a"]

    assert (told.code, told.message) == (code, message)


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0"),
        (1, "1"),
        (20, "20"),
        (21, "more than 20"),
        (50, "more than 20"),
        (51, "more than 50"),
        (7000, "more than 1000"),
    ],
)
def test_counts_that_wobble_are_told_in_steps(count: int, told: str) -> None:
    assert rounded(count) == told
