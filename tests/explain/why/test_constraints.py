"""What keeps pods and PodGroups from their places: what binds first, all that binds besides, and what waiting mends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.support.clusters import clusters
from tests.support.examples import examples
from tests.support.explained import BEFORE, ROOMS, TAKING, explained
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, plan, policy_of
from vsched.explain.explaining import explain
from vsched.explain.records import Whereabouts
from vsched.explain.why import words
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.plugins.words import victims as victims_words
from vsched.settings.built_in import REGISTRY

LAUNCHED = "job ns/a min=2\npods ns/a 1 cpu=4 role=launcher\npods ns/a 1 cpu=1 gpu=1 role=worker"
KEEPS = policy_of("gang", "predicates proportion", actions="allocate")


@pytest.mark.parametrize(
    ("text", "policy", "state", "codes"),
    [
        pytest.param(
            f"{ROOMS}\njob ns/a min=8 pods=8 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.GANG_SIZE, Code.CORDONED, Code.TAINTS, Code.RESOURCES],
            id="a gang that a cordon and others' pods keep small",
        ),
        pytest.param(
            f"{ROOMS}\njob ns/a min=9 pods=9 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.GANG_SIZE, Code.GANG_SIZE, Code.CORDONED, Code.TAINTS, Code.RESOURCES],
            id="a gang that is larger than the nodes open to it",
        ),
        pytest.param(
            f"node n1 cpu=4 gpu=1\n{LAUNCHED}",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.GANG_SIZE, Code.GANG_SIZE],
            id="roles that do not fit together on empty nodes either",
        ),
        pytest.param(
            f"node n1 cpu=4 gpu=1\nnode n2 cpu=4\n{BEFORE} 4 cpu=1 on=n2\n{LAUNCHED}",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.GANG_SIZE, Code.RESOURCES, Code.RESOURCES],
            id="roles that do not fit together beside what others hold",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 pods=1 cpu=5",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.RESOURCES],
            id="more than any node has",
        ),
        pytest.param(
            "node n1 cpu=4 memory=1Gi\nnode n2 cpu=1 memory=8Gi\njob ns/a min=1 pods=1 cpu=3 memory=3Gi",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.RESOURCES, Code.RESOURCES, Code.RESOURCES],
            id="each amount on some node, both on none",
        ),
        pytest.param(
            f"node n1 cpu=4\n{BEFORE} 4 cpu=1 on=n1\njob ns/a min=1 pods=1 cpu=4",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.RESOURCES, Code.RESOURCES],
            id="others hold what it asks for",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 pods=1 cpu=1 selector=zone:x",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.SELECTOR, Code.SELECTOR, Code.SELECTOR],
            id="a selector that matches no node",
        ),
        pytest.param(
            "node n1 cpu=4 zone=x cordoned\njob ns/a min=1 pods=1 cpu=1 selector=zone:x",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.CORDONED],
            id="a selector that matches a cordoned node",
        ),
        pytest.param(
            "node n1 cpu=4 taint=gpu:yes\njob ns/a min=1 pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.TAINTS, Code.TAINTS],
            id="taints everywhere that it does not tolerate",
        ),
        pytest.param(
            "node n1 cpu=4 taint=node.kubernetes.io/not-ready\njob ns/a min=1 pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.TAINTS],
            id="taints that Kubernetes takes away by itself",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=5",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.QUEUE_CAPABILITY],
            id="more than its queue may hold at all",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q min=3 phase=Running\n"
            "pods ns/a 2 cpu=2 on=n1\npods ns/a 1 cpu=2",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.QUEUE_CAPABILITY],
            id="what it holds itself is no reason to hope",
        ),
        pytest.param(
            "node n1 cpu=9 cordoned\nnode n2 cpu=1\nqueue q capability=cpu:3\njob ns/a queue=q min=2 phase=Inqueue\n"
            "pods ns/a 1 cpu=3 priority=1\npods ns/a 2 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.GANG_SIZE, Code.QUEUE_CAPABILITY, Code.CORDONED, Code.RESOURCES],
            id="the smaller of its pods may make up the minimum",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q\nqueue r guarantee=cpu:3\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=2",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.QUEUE_SHARE],
            id="others are guaranteed so much that its queue can never have what it asks for",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4 cordoned\njob ns/a min=3 pods=3 cpu=1 port=80",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.GANG_SIZE, Code.GANG_SIZE],
            id="a gang that wants one port of more nodes than there are",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2 pods=2 cpu=1 apart=a",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.GANG_SIZE, Code.GANG_SIZE],
            id="a gang whose pods keep apart, and too few nodes for that",
        ),
        pytest.param(
            "node n1 cpu=4 taint=gpu:yes\njob ns/a min=1 pods=1 cpu=0",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.TAINTS, Code.TAINTS],
            id="what asks for nothing is kept off as well",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=4\npods ns/a 2 cpu=1\npods ns/a 2 cpu=2",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.GANG_SIZE, Code.GANG_SIZE],
            id="each sort of pod fits, and all together do not",
        ),
        pytest.param(
            "node n1 cpu=1\nnode n2 cpu=1\njob ns/o min=1 pods=1 cpu=1 on=n1 phase=Running\n"
            "job ns/p min=1 pods=1 cpu=1 on=n2 phase=Running\njob ns/a min=2 phase=Inqueue\n"
            "pods ns/a 1 cpu=1\npods ns/a 1 cpu=1 gated",
            KEEPS,
            Whereabouts.WAITS,
            [Code.RESOURCES, Code.GATED, Code.RESOURCES],
            id="no room, and a gate as well",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q min=1 phase=Running\n"
            "pods ns/a 2 cpu=2 on=n1\npods ns/a 1 cpu=2",
            DEFAULT_POLICY,
            Whereabouts.RUNS,
            [Code.QUEUE_CAPABILITY],
            id="what runs of it may end and make room for more of it",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/o queue=q min=1 pods=1 cpu=3 on=n1 phase=Running\n"
            "job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=2",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.QUEUE_CAPABILITY, Code.QUEUE_CAPABILITY],
            id="others of its queue hold what it may",
        ),
        pytest.param(
            "node n1 cpu=9\nquota ns/small requests.cpu=4\njob ns/a min=1 minResources=cpu:5 pods=1 cpu=5",
            policy_of("gang resourcequota", "predicates"),
            Whereabouts.NEVER,
            [Code.QUOTA],
            id="more than a quota's hard",
        ),
        pytest.param(
            "node n1 cpu=9\nquota ns/small requests.cpu=4 used=requests.cpu:2\n"
            "job ns/a min=1 minResources=cpu:4 pods=1 cpu=1",
            policy_of("gang resourcequota", "predicates"),
            Whereabouts.WAITS,
            [Code.QUOTA],
            id="a quota that others use",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a queue=nowhere min=1 pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.QUEUE_NOT_FOUND],
            id="its queue does not exist",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q state=Closed\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.QUEUE_CLOSED],
            id="its queue is closed",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2 pods=1 cpu=1 age=99",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.GANG_INCOMPLETE, Code.GANG_INCOMPLETE],
            id="too few pods for long, and no controller makes more",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2 pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.GANG_INCOMPLETE],
            id="too few pods so far",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2 phase=Inqueue",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.GANG_INCOMPLETE],
            id="admitted, and no pods yet",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a queue=nowhere min=2 phase=Unknown age=99\npods ns/a 1 cpu=1 on=n1",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            [Code.GANG_INCOMPLETE, Code.QUEUE_NOT_FOUND],
            id="pods were lost, and the queue is gone",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=2\npods ns/a 2 cpu=1 gated",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            [Code.GATED],
            id="gates",
        ),
        pytest.param(
            f"node n1 cpu=4\npdb ns/guard selector=job:o allowed=0\nclass high 9\n{BEFORE} 4 cpu=1 on=n1\n"
            "job ns/a min=1 pods=1 cpu=2 class=high",
            TAKING,
            Whereabouts.WAITS,
            [Code.BUDGET, Code.RESOURCES, Code.RESOURCES],
            id="a disruption budget protects the only victims",
        ),
        pytest.param(
            f"node n1 cpu=4\n{BEFORE} 4 cpu=1 on=n1\njob ns/a min=1 pods=1 cpu=2",
            TAKING,
            Whereabouts.WAITS,
            [Code.RESOURCES, Code.PROTECTED, Code.RESOURCES],
            id="their priority protects the only victims",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue p\nqueue q\njob ns/o queue=p min=1 phase=Running\npods ns/o 4 cpu=1 on=n1\n"
            "job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=2",
            KEEPS,
            Whereabouts.WAITS,
            [Code.RESOURCES, Code.PROTECTED, Code.RESOURCES],
            id="others could give back, and the policy takes nothing back",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/w min=1 phase=Inqueue age=9\npods ns/w 1 cpu=4 nominated=n1\n"
            "pods ns/old 1 cpu=1 on=n1 leaving\njob ns/a min=1 phase=Inqueue pods=1 cpu=2",
            TAKING,
            Whereabouts.WAITS,
            [Code.ORDER],
            id="what is idle is kept for another",
        ),
        pytest.param(
            "node n1 cpu=4\npods ns/old 1 cpu=3 on=n1 leaving\njob ns/a min=2 pods=2 cpu=2",
            DEFAULT_POLICY,
            Whereabouts.STARTING,
            [Code.LEAVING],
            id="its places are being left",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 pods=1 cpu=1", DEFAULT_POLICY, Whereabouts.STARTING, [], id="placed"
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 pods=1 cpu=1 on=n1 phase=Running",
            DEFAULT_POLICY,
            Whereabouts.RUNS,
            [],
            id="runs",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=1 phase=Running\npods ns/a 1 cpu=1 on=n1 succeeded",
            DEFAULT_POLICY,
            Whereabouts.FINISHED,
            [],
            id="finished",
        ),
    ],
)
def test_what_stands_in_the_way_and_whether_waiting_helps(
    text: str, policy: Policy, state: Whereabouts, codes: list[Code]
) -> None:
    found = explained(text, policy=policy)

    assert (found.state, [one.code for one in found.constraints]) == (state, codes)
    assert any(one.lasting for one in found.constraints) is (state is Whereabouts.NEVER)


def test_the_constraint_that_binds_says_what_it_is_about() -> None:
    found = explained("node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=5")

    assert (found.constraints[0].resource, found.constraints[0].subject) == ("cpu", "q")


def test_what_the_headline_counts_already_is_noted() -> None:
    found = explained(f"{ROOMS}\njob ns/a min=9 pods=9 cpu=1")

    assert [(one.code, one.repeats) for one in found.constraints] == [
        (Code.GANG_SIZE, True),
        (Code.GANG_SIZE, False),
        (Code.CORDONED, True),
        (Code.TAINTS, True),
        (Code.RESOURCES, True),
    ]
    limited = explained(
        f"node n1 cpu=4\nqueue q capability=cpu:2\n{BEFORE} 4 cpu=1 on=n1\n"
        "job ns/a queue=q min=1 minResources=cpu:3 pods=1 cpu=3",
        policy=policy_of("gang", "predicates proportion"),
    )
    assert [(one.code, one.repeats) for one in limited.constraints] == [
        (Code.QUEUE_CAPABILITY, True),
        (Code.PROTECTED, False),
        (Code.RESOURCES, False),
        (Code.RESOURCES, False),
    ], "of the nodes the headline says nothing"


def test_one_answer_has_one_number_for_one_limit() -> None:
    text = (
        "node n1 cpu=8 gpu=9\nqueue q capability=cpu:3\nqueue r\njob ns/o queue=r min=1 phase=Running\n"
        "pods ns/o 1 cpu=1 on=n1\njob ns/b queue=q min=1 phase=Inqueue\npods ns/b 2 cpu=1 gpu=1\n"
        "job ns/a queue=q min=2 phase=Inqueue\npods ns/a 2 cpu=2 gpu=1\npods ns/a 1 cpu=1 gpu=1"
    )
    found = explained(text)
    told = [one for one in found.constraints if one.resource == "cpu" and one.subject == "q"]
    assert told
    assert all(one.repeats and one.message in found.message for one in told), (found.message, told)


def test_what_protects_victims_is_told_by_node() -> None:
    found = explained(f"node n1 cpu=4\n{BEFORE} 4 cpu=1 on=n1\njob ns/a min=1 pods=1 cpu=2", policy=TAKING)

    assert found.constraints[1].message == (words.protected(words.OTHERS_OF_QUEUE, 1, victims_words.PRIORITY_NOT_LOWER))


@pytest.mark.parametrize(
    ("text", "never"),
    [
        pytest.param(
            "node n1 cpu=4\njob ns/a min=3 pods=2 cpu=4 on=n2\npods ns/a 1 cpu=4",
            False,
            id="two run on a node that is gone, and the third has room",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=8 taint=gpu:yes\njob ns/a min=3 pods=2 cpu=4 on=n2\npods ns/a 1 cpu=4",
            False,
            id="two run on a node that was closed to them since, and the third has room",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\njob ns/a min=3 pods=2 cpu=4 on=n2\npods ns/a 1 cpu=4",
            False,
            id="two run on a node that is too small for both by now, and the third has room",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\njob ns/a min=4 pods=2 cpu=4 on=n2\npods ns/a 2 cpu=5",
            True,
            id="two run on a node that is too small for both by now, and no node is large enough for others",
        ),
    ],
)
def test_pods_that_run_need_no_place(text: str, never: bool) -> None:
    found = explained(f"{text}\npods ns/other 1 cpu=4 on=n1")

    assert (found.state is Whereabouts.NEVER) is never


@settings(deadline=None, max_examples=examples(40))
@given(clusters())
def test_what_never_fits_does_not_fit_when_everybody_else_is_gone(text: str) -> None:
    """Told to be for ever: then it is not placed on the same nodes without any other pod, with no queue to limit it."""
    policy = policy_of("gang", "predicates", actions="allocate")
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, policy, REGISTRY)
    nodes = [line for line in text.splitlines() if line.startswith(("node", "queue", "class"))]
    for key in report.jobs:
        namespace, _, name = key.partition("/")
        found = explain(snapshot, policy, REGISTRY, report, namespace, name, kind="PodGroup", simulations=0)
        if found is not None and found.state is Whereabouts.NEVER:
            own = [line for line in text.splitlines() if line.split()[1] == key]
            alone = plan("\n".join([*nodes, *own]), policy)
            assert alone.jobs[key].ready < max(1, alone.jobs[key].min_member)
