"""The smallest changes: what is proposed works in a whole cycle, and one notch less does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.explained import starts
from tests.support.lessening import a_notch_less
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of, reading
from vsched.explain.changes import SearchOutcome, changes
from vsched.explain.edits.base import Edit
from vsched.explain.edits.queues import CreateQueue, QueueEdit
from vsched.explain.explaining import explain
from vsched.explain.records import Change
from vsched.explain.situation import Situation, apply_all
from vsched.explain.words import edits
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.words import limits as limits_words
from vsched.model.snapshot import Snapshot
from vsched.plugins.words import jobs as plugin_words
from vsched.settings import load_file, load_text
from vsched.settings.built_in import REGISTRY

POLICIES = Path(__file__).parents[2] / "config" / "policies"
CAPACITY = policy_of("priority gang conformance", "drf predicates capacity nodeorder")
TREE = load_text(
    """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: capacity, enableHierarchy: true}, {name: nodeorder}]
""",
    "tree",
    REGISTRY,
).policy
RECLAIMING = load_text(
    """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: gang}, {name: conformance}, {name: capacity}]
- plugins: [{name: predicates}, {name: nodeorder}]
""",
    "reclaiming",
    REGISTRY,
).policy
USAGE = load_file(POLICIES / "usage.yaml", REGISTRY).policy
PREEMPTING = policy_of(
    "priority gang conformance pdb", "predicates proportion nodeorder", actions="enqueue, allocate, preempt, backfill"
)
QUOTA_OF_CLUSTER = policy_of("priority gang", "overcommit predicates nodeorder")
QUOTAS = policy_of("priority gang", "predicates resourcequota nodeorder")
GROUPS = policy_of("priority gang", "predicates nodegroup nodeorder")
BUDGETED = policy_of(
    "priority gang", "pdb", "predicates proportion nodeorder", actions="enqueue, allocate, preempt, backfill"
)


def snapshot_of(text: str) -> Snapshot:
    cache = mirror(manifests(text))
    cache.inputs.use(reading(text))
    return cache.snapshot(NOW)


def found(text: str, policy: Policy = DEFAULT_POLICY, key: str = "x/b", **bounds: int) -> SearchOutcome:
    snapshot = snapshot_of(text)
    return changes(snapshot, policy, REGISTRY, run_cycle(snapshot, policy, REGISTRY), key, **bounds)


def works(situation: Situation, edits: tuple[Edit, ...], key: str = "x/b") -> bool:
    """Whether a whole cycle gives the job its minimum once the edits are made, at once or once others have left."""
    return starts(apply_all(situation, edits), key)


def binds(situation: Situation, edits: tuple[Edit, ...], key: str = "x/b") -> bool:
    """Whether the report of that cycle says so: pods are bound, or nodes are kept for them."""
    edited = apply_all(situation, edits)
    report, job = run_cycle(edited.snapshot, edited.policy, REGISTRY), edited.snapshot.jobs[key]
    return any(bind.job == key for bind in report.binds) or report.jobs[job.key].code == Code.LEAVING


FULL = "job x/a min=8 pods=8 gpu=1 cpu=1 queue=research phase=Running on=n1"
OTHERS = "\n".join(f"job x/o{number} min=2 pods=2 cpu=2 age={50 - number}" for number in range(14))

STUCK: list[tuple[str, str, Policy, list[str]]] = [
    (
        "a queue at its capability needs more of it, exactly as much as is missing",
        f"node n1 cpu=16 gpu=16\nqueue research capability=gpu:8\n{FULL}\n"
        "job x/b min=2 pods=2 gpu=1 cpu=1 queue=research",
        DEFAULT_POLICY,
        ["2 more example.com/gpu in queue research (capability 10)"],
    ),
    (
        "a gang larger than the capability starts smaller, or with a larger one",
        "node n1 cpu=16 gpu=16\nqueue research capability=gpu:6\njob x/b min=8 pods=8 gpu=1 cpu=1 queue=research",
        DEFAULT_POLICY,
        ["minMember 6 (2 fewer)", "2 more example.com/gpu in queue research (capability 8)"],
    ),
    (
        "a limit above the queue counts as its own does",
        "node n1 cpu=16\nqueue dept capability=cpu:4\nqueue team parent=dept capability=cpu:8 deserved=cpu:8\n"
        "job x/a min=4 pods=4 cpu=1 on=n1 phase=Running queue=team\njob x/b min=2 pods=2 cpu=1 queue=team",
        TREE,
        ["2 more cpu in queue dept (capability 6)"],
    ),
    (
        "pods that run could be moved",
        "node n1 cpu=4\nnode n2 cpu=4\njob x/a min=1 phase=Running\n"
        "pods x/a 1 cpu=2 on=n1 owned started=3600\npods x/a 1 cpu=2 on=n2 owned started=3600\n"
        "job x/b min=1 pods=1 cpu=4",
        DEFAULT_POLICY,
        [
            edits.request_of_pods("2", "cpu", "4"),
            edits.action("consolidate"),
            edits.more_on_node("2 more cpu", "n1"),
            "1 more node like n1",
        ],
    ),
    (
        "eight with room for six",
        "node n1 cpu=6\njob x/b min=8 pods=8 cpu=1",
        CAPACITY,
        [
            "minMember 6 (2 fewer)",
            edits.request_of_pods("750m", "cpu", "1"),
            edits.more_on_node("2 more cpu", "n1"),
            "1 more node like n1",
        ],
    ),
    (
        "more than any node has, for ever",
        "node n1 cpu=8\nnode n2 cpu=12\njob x/b min=1 pods=1 cpu=16",
        DEFAULT_POLICY,
        [edits.request_of_pods("12", "cpu", "16"), edits.more_on_node("4 more cpu", "n2")],
    ),
    (
        "less than half of what a pod asks for is no proposal",
        "node n1 cpu=4\njob x/b min=1 pods=1 cpu=16",
        DEFAULT_POLICY,
        [edits.more_on_node("12 more cpu", "n1")],
    ),
    (
        "the one cordoned node that has room",
        "node n1 cpu=8 cordoned\nnode n2 cpu=1 cordoned\njob x/b min=1 pods=1 cpu=8",
        DEFAULT_POLICY,
        ["node n1 uncordoned", "1 more node like n1"],
    ),
    (
        "as many cordoned nodes as are needed, and no more",
        "node n1 cpu=2 cordoned\nnode n2 cpu=2 cordoned\nnode n3 cpu=2 cordoned\njob x/b min=2 pods=2 cpu=2",
        DEFAULT_POLICY,
        ["nodes n1, n2 uncordoned", "2 more nodes like n1"],
    ),
    (
        "a taint is tolerated or goes",
        "node n1 cpu=4 taint=gpu:yes\njob x/b min=1 pods=1 cpu=4",
        DEFAULT_POLICY,
        [
            edits.toleration("gpu=yes:NoSchedule"),
            edits.taint_removed("gpu=yes:NoSchedule", "node n1"),
        ],
    ),
    (
        "a selector that matches nothing",
        "node n1 cpu=4 zone=a\njob x/b min=1 pods=1 cpu=4 selector=zone:c",
        DEFAULT_POLICY,
        [edits.rule_dropped("nodeSelector"), "node n1 labelled zone=c"],
    ),
    ("a queue that does not exist", "node n1\njob x/b min=1 pods=1 cpu=1 queue=q", DEFAULT_POLICY, ["queue q created"]),
    (
        "a queue that is closed",
        "node n1\nqueue q state=Closed\njob x/b min=1 pods=1 cpu=1 queue=q",
        DEFAULT_POLICY,
        ["queue q opened"],
    ),
    (
        "a queue with children is none for jobs",
        "node n1\nqueue q deserved=cpu:4\nqueue leaf parent=q deserved=cpu:4\njob x/b min=1 pods=1 cpu=1 queue=q",
        TREE,
        [edits.as_its_queue("leaf")],
    ),
    (
        "a PodGroup that nobody made",
        "node n1\npods x/b 2 cpu=1",
        DEFAULT_POLICY,
        [edits.podgroup_created("x/b", "default")],
    ),
    (
        "pods that nobody made",
        "node n1\njob x/b min=4 pods=2 cpu=1",
        DEFAULT_POLICY,
        ["2 more pods", "minMember 2 (2 fewer)"],
    ),
    (
        "pods of a role that nobody made",
        "node n1\njob x/b min=3 roles=ps:1,worker:2\npods x/b 3 cpu=1 role=worker",
        DEFAULT_POLICY,
        ["1 more pod of role ps", "minTaskMember 0 of ps (1 fewer)"],
    ),
    (
        "a role that has no room is worth less",
        "node n1 cpu=4\njob x/b min=5 roles=ps:1,worker:4\npods x/b 1 cpu=1 role=ps\npods x/b 4 cpu=1 role=worker",
        DEFAULT_POLICY,
        [edits.request_of_pods("800m", "cpu", "1"), "minTaskMember 3 of worker (1 fewer)"],
    ),
    (
        "gates that others hold shut",
        "node n1\njob x/b min=2\npods x/b 2 cpu=1 gated",
        DEFAULT_POLICY,
        [edits.GATES_REMOVED],
    ),
    (
        "a host port that is taken",
        "node n1 cpu=8\njob x/a min=1 pods=1 cpu=1 on=n1 port=80 phase=Running\njob x/b min=1 pods=1 cpu=1 port=80",
        DEFAULT_POLICY,
        ["its host ports dropped", "1 more node like n1"],
    ),
    (
        "a pod that keeps away from others",
        "node n1 cpu=8\njob x/a min=1 pods=1 cpu=1 on=n1 phase=Running\njob x/b min=1 pods=1 cpu=1 apart=a",
        DEFAULT_POLICY,
        [edits.rule_dropped("podAntiAffinity"), "1 more node like n1"],
    ),
    (
        "room enough in all, and on no node",
        "node n1 cpu=4\nnode n2 cpu=4\njob x/a min=1 phase=Running\npods x/a 1 cpu=2 on=n1\npods x/a 1 cpu=2 on=n2\n"
        "job x/b min=1 pods=1 cpu=3",
        DEFAULT_POLICY,
        [edits.request_of_pods("2", "cpu", "3"), edits.more_on_node("1 more cpu", "n1"), "1 more node like n1"],
    ),
    (
        "behind fourteen others in the order",
        f"class high 10\nnode n1 cpu=4\n{OTHERS}\njob x/b min=2 pods=2 cpu=2",
        CAPACITY,
        ["priority class high"],
    ),
    (
        "those who run are as important",
        "node n1 cpu=4\nclass high 10\nclass low 1\njob x/a min=1 pods=4 cpu=1 on=n1 class=low phase=Running\n"
        "job x/b min=1 pods=1 cpu=1 class=low phase=Inqueue",
        PREEMPTING,
        ["priority class high", edits.more_on_node("1 more cpu", "n1")],
    ),
    (
        "a budget forbids the only victims",
        "node n1 cpu=4\nclass high 10\nclass low 1\npdb x/guard selector=job:a allowed=0\n"
        "job x/a min=1 pods=4 cpu=1 on=n1 class=low phase=Running\njob x/b min=2 pods=2 cpu=1 class=high phase=Inqueue",
        PREEMPTING,
        [edits.more_evictions(2, "x/guard")],
    ),
    (
        "a quota without room for the minimum",
        "node n1 cpu=8\nquota x/small requests.cpu=4 used=requests.cpu:3\n"
        "job x/b min=2 pods=2 cpu=1 minResources=cpu:4",
        QUOTAS,
        [
            "minResources cpu 3",
            "minMember 1 (1 fewer), and minResources cpu 2",
            edits.request_of_pods("500m", "cpu", "1") + edits.and_min_resources("cpu 3"),
            edits.more_in_quota("1 more requests.cpu", "x/small", "5"),
        ],
    ),
    (
        "a quota without room for the pods that a gang lacks",
        "node n1 cpu=8\nquota x/small requests.cpu=4 used=requests.cpu:4\n"
        "job x/a min=3 pods=3 cpu=1 on=n1 phase=Running\njob x/b min=3 minResources=cpu:3\npods x/b 1 cpu=1",
        QUOTAS,
        [
            f"{edits.more_in_quota('2 more requests.cpu', 'x/small', '6')} and {edits.more_pods(2)}",
            "minMember 1 (2 fewer), and minResources cpu 1",
        ],
    ),
    (
        "a quota that the gang's pods fill needs no change",
        "node n1 cpu=8\nquota x/small requests.cpu=2 used=requests.cpu:2\n"
        "job x/b min=2 pods=2 cpu=1 minResources=cpu:2",
        QUOTAS,
        [],
    ),
    (
        "no slot for another pod",
        "node n1 cpu=8 pods=2\njob x/a min=2 pods=2 cpu=1 on=n1 phase=Running\njob x/b min=1 pods=1 cpu=1",
        DEFAULT_POLICY,
        [edits.more_on_node("1 more pod slot", "n1"), "1 more node like n1"],
    ),
    (
        "nodes that are used too much",
        "node n1 cpu=8\nusage n1 cpu=95 memory=40\njob x/b min=1 pods=1 cpu=1",
        USAGE,
        [edits.usage_threshold("CPUUsageAvg.5m", 95), "1 more node like n1"],
    ),
    (
        "a group of nodes that is not the queue's",
        "node n1 cpu=8 volcano.sh/nodegroup-name=g1\nnode n2 cpu=1 volcano.sh/nodegroup-name=g2\nqueue q required=g2\n"
        "job x/b min=1 pods=1 cpu=4 queue=q",
        GROUPS,
        [edits.node_group_added("g1", "q"), edits.more_on_node("3 more cpu", "n2")],
    ),
    (
        "a limit on a group of nodes",
        "node n1 cpu=8 volcano.sh/nodegroup-name=g1\n"
        'queue q required=g1 volcano.sh/nodegroup-resource-limits={"g1":{"cpu":"2"}}\n'
        "job x/b min=1 pods=1 cpu=3 queue=q",
        GROUPS,
        [edits.request_of_pods("2", "cpu", "3"), edits.more_on_node_group("1 more cpu", "q", "g1", "3")],
    ),
    (
        "others hold what it deserves, and nobody takes it back",
        "node n1 cpu=8\nqueue a\nqueue b\njob x/a min=1 pods=8 cpu=1 on=n1 phase=Running queue=a\n"
        "job x/b min=2 pods=2 cpu=1 queue=b",
        DEFAULT_POLICY,
        [edits.action("reclaim"), edits.more_on_node("2 more cpu", "n1")],
    ),
    (
        "two things at once",
        "node n1 cpu=16 cordoned\nqueue team capability=cpu:4\n"
        "job x/a min=4 pods=4 cpu=1 on=n1 phase=Running queue=team\njob x/b min=2 pods=2 cpu=1 queue=team",
        CAPACITY,
        ["node n1 uncordoned and 2 more cpu in queue team (capability 6)"],
    ),
    (
        "both who lend nothing have to, and each alone is not enough",
        "node n1 cpu=8\nqueue a reclaimable=false deserved=cpu:2\nqueue c reclaimable=false deserved=cpu:2\n"
        "queue q deserved=cpu:4\n"
        "job x/a min=1 pods=4 cpu=1 on=n1 phase=Running queue=a\n"
        "job x/c min=1 pods=4 cpu=1 on=n1 phase=Running queue=c\njob x/b min=4 pods=4 cpu=1 queue=q phase=Inqueue",
        RECLAIMING,
        [f"{edits.queue_made_reclaimable('a')} and {edits.queue_made_reclaimable('c')}"],
    ),
    (
        "one of two who lend nothing is enough",
        "node n1 cpu=8\nqueue a reclaimable=false deserved=cpu:1\nqueue c reclaimable=false deserved=cpu:3\n"
        "queue q deserved=cpu:4\n"
        "job x/a min=1 pods=5 cpu=1 on=n1 phase=Running queue=a\n"
        "job x/c min=1 pods=3 cpu=1 on=n1 phase=Running queue=c\njob x/b min=4 pods=4 cpu=1 queue=q phase=Inqueue",
        RECLAIMING,
        ["queue a made reclaimable"],
    ),
    (
        "what two others are guaranteed leaves too little",
        "node n1 cpu=8\nqueue a guarantee=cpu:3\nqueue c guarantee=cpu:3\nqueue q\njob x/b min=1 pods=1 cpu=8 queue=q",
        CAPACITY,
        [f"{edits.less_guaranteed('3', 'cpu', 'a', '0')} and {edits.less_guaranteed('3', 'cpu', 'c', '0')}"],
    ),
    (
        "what another is guaranteed is lowered as far as is needed",
        "node n1 cpu=8\nqueue a guarantee=cpu:3\nqueue q\njob x/b min=7 pods=7 cpu=1 queue=q",
        CAPACITY,
        ["minMember 5 (2 fewer)", "710m cpu a pod", edits.less_guaranteed("2", "cpu", "a", "1")],
    ),
    (
        "what another is guaranteed is kept free of several queues",
        "node n1 cpu=8\nqueue a guarantee=cpu:3\nqueue c\njob x/c min=1 pods=4 cpu=1 on=n1 phase=Running queue=c\n"
        "queue q\njob x/b min=2 pods=2 cpu=1 queue=q",
        CAPACITY,
        ["minMember 1 (1 fewer)", "500m cpu a pod", edits.less_guaranteed("1", "cpu", "a", "2")],
    ),
    (
        "each queue above is at its capability",
        "node n1 cpu=16\nqueue dept capability=cpu:4\nqueue team parent=dept capability=cpu:4 deserved=cpu:4\n"
        "job x/a min=4 pods=4 cpu=1 on=n1 phase=Running queue=team\njob x/b min=2 pods=2 cpu=1 queue=team",
        TREE,
        ["2 more cpu in queue team (capability 6) and 2 more cpu in queue dept (capability 6)"],
    ),
    (
        "a queue is at its capability in two resources",
        "node n1 cpu=16 memory=64Gi\nqueue q capability=cpu:4,memory:4Gi\n"
        "job x/a min=4 pods=4 cpu=1 memory=1Gi on=n1 phase=Running queue=q\n"
        "job x/b min=2 pods=2 cpu=1 memory=1Gi queue=q",
        TREE,
        ["2 more cpu in queue q (capability 6) and 2Gi more memory in queue q (capability 6Gi)"],
    ),
    (
        "no class of the system is proposed: one is made",
        "class system-node-critical 2000001000\nnode n1 cpu=4\n"
        "job x/a min=1 pods=4 cpu=1 on=n1 phase=Running\njob x/b min=1 pods=1 cpu=1 phase=Inqueue",
        PREEMPTING,
        [f"{edits.priority_class_created('above-0', 1)} and {edits.priority_class('above-0')}"],
    ),
    (
        "a gang at its minimum can give more once that is smaller",
        "class high 10\nclass low 1\nnode n1 cpu=4\njob x/a min=4 pods=4 cpu=1 on=n1 class=low phase=Running\n"
        "job x/b min=2 pods=2 cpu=1 class=high phase=Inqueue",
        PREEMPTING,
        ["minMember 2 of job x/a (now 4)"],
    ),
    (
        "its minResources are more than its pods request",
        "node n1 cpu=4\njob x/b min=2 pods=2 cpu=1 minResources=cpu:20",
        QUOTA_OF_CLUSTER,
        ["minResources cpu"],
    ),
    (
        "a queue that is misspelt",
        "node n1 cpu=4\nqueue research\nqueue reserch-old state=Closed\njob x/b min=1 pods=1 cpu=1 queue=reserch",
        DEFAULT_POLICY,
        [edits.as_its_queue("research"), "queue reserch created"],
    ),
    (
        "a queue below one that is closed opens with it",
        "node n1 cpu=4\nqueue dept state=Closed\nqueue team parent=dept state=Closed volcano.sh/closed-by-parent=true\n"
        "job x/b min=1 pods=1 cpu=1 queue=team",
        DEFAULT_POLICY,
        ["queue dept opened"],
    ),
    (
        "a queue that is closed for its own sake as well",
        "node n1 cpu=4\nqueue dept state=Closed\nqueue team parent=dept state=Closed\n"
        "job x/b min=1 pods=1 cpu=1 queue=team",
        DEFAULT_POLICY,
        ["queue dept opened and queue team opened"],
    ),
    (
        "nothing is to run on a dead node",
        "node n1 cpu=4 taint=node.kubernetes.io/unreachable:\njob x/b min=1 pods=1 cpu=4",
        DEFAULT_POLICY,
        ["1 more node like n1"],
    ),
    (
        "a node that is about to go is not kept",
        "node n1 cpu=4 taint=ToBeDeletedByClusterAutoscaler:1700000000\njob x/b min=1 pods=1 cpu=4",
        DEFAULT_POLICY,
        ["1 more node like n1"],
    ),
    (
        "nodes with accelerators are for those who ask for these",
        "node n1 cpu=4\nnode n2 cpu=8 gpu=4 taint=nvidia.com/gpu:present\n"
        "job x/a min=1 pods=1 cpu=4 on=n1 phase=Running\njob x/b min=1 pods=1 cpu=4",
        DEFAULT_POLICY,
        [edits.more_on_node("4 more cpu", "n1"), "1 more node like n1", "a toleration"],
    ),
    (
        "who asks for accelerators goes to nodes with some",
        "node n1 cpu=4\nnode n2 cpu=8 gpu=4 taint=nvidia.com/gpu:present\njob x/b min=1 pods=1 cpu=4 gpu=1",
        DEFAULT_POLICY,
        [edits.toleration("nvidia.com/gpu=present:NoSchedule")],
    ),
    (
        "a selector stays where it keeps pods off nodes with accelerators",
        "node n1 cpu=4 zone=a\nnode n2 cpu=8 gpu=4 zone=b\njob x/a min=1 pods=1 cpu=4 on=n1 phase=Running\n"
        "job x/b min=1 pods=1 cpu=4 selector=zone:a",
        DEFAULT_POLICY,
        [edits.more_on_node("4 more cpu", "n1"), "1 more node like n1", "its node selector"],
    ),
    (
        "a taint on each of two kinds, and both have to be tolerated",
        "node n1 cpu=4 taint=a:b,c:d\njob x/b min=1 pods=1 cpu=4",
        DEFAULT_POLICY,
        [
            f"{edits.toleration('a=b:NoSchedule')} and {edits.toleration('c=d:NoSchedule')}",
        ],
    ),
    (
        "one of two taints keeps accelerators",
        "node n1 cpu=1\nnode n2 cpu=4 gpu=2 taint=a:b,example.com/gpu:yes\njob x/b min=1 pods=1 cpu=4 memory=63Gi",
        DEFAULT_POLICY,
        [
            edits.more_on_node("3 more cpu", "n1"),
        ],
    ),
    (
        "both of two taints have to be tolerated, one of which keeps accelerators",
        "node n2 cpu=4 gpu=2 taint=a:b,example.com/gpu:yes\nqueue q capability=cpu:4\n"
        "job x/b min=1 pods=1 cpu=4 queue=q",
        DEFAULT_POLICY,
        [f"{edits.toleration('a=b:NoSchedule')} and {edits.toleration('example.com/gpu=yes:NoSchedule')}"],
    ),
    (
        "pods of two roles that nobody made",
        "node n1\njob x/b min=4 roles=ps:2,worker:2\npods x/b 1 cpu=1 role=ps\npods x/b 1 cpu=1 role=worker",
        DEFAULT_POLICY,
        ["1 more pod of role ps and 1 more pod of role worker"],
    ),
    (
        "what leaves by itself needs no change",
        "node n1 cpu=2\npods x/a 2 cpu=1 on=n1 leaving\njob x/b min=2 pods=2 cpu=1 phase=Inqueue",
        CAPACITY,
        [],
    ),
    ("what starts needs no change", "node n1 cpu=2\njob x/b min=2 pods=2 cpu=1", DEFAULT_POLICY, []),
]


@pytest.mark.parametrize(("text", "policy", "expected"), [pytest.param(*row[1:], id=row[0]) for row in STUCK])
def test_the_smallest_change_is_named(text: str, policy: Policy, expected: list[str]) -> None:
    answer = found(text, policy)
    told = [change.message for change in answer.changes]
    assert answer.complete
    assert len(told) >= len(expected), told
    assert all(one.startswith(start) for one, start in zip(told, expected, strict=False)), told
    assert bool(told) is bool(expected), told


@pytest.mark.parametrize(("text", "policy"), [pytest.param(*row[1:3], id=row[0]) for row in STUCK if row[3]])
def test_every_change_that_is_named_works_and_none_is_larger_than_it_has_to_be(text: str, policy: Policy) -> None:
    situation = Situation(snapshot_of(text), policy)
    for change in found(text, policy).changes:
        assert works(situation, change.edits), change.message
        assert binds(situation, change.edits), change.message
        for less in less_than(change):
            assert not works(situation, less), (change.message, less)


ONE_AMONG_ALL = """
class high 5
class higher 9
node n0 cpu=2 gpu=0 memory=8Gi
node n1 cpu=5 gpu=0 memory=8Gi
node n2 cpu=7 gpu=3 memory=8Gi
queue dept parent=root weight=3 guarantee=cpu:2
queue a parent=dept weight=2 capability=cpu:8 hierarchy=root/dept/a weights=1/1/2
queue b parent=dept weight=1 deserved=cpu:6,gpu:0 guarantee=cpu:2 hierarchy=root/dept/b weights=1/1/1
queue c parent=root weight=3 deserved=cpu:1,gpu:3,memory:7Gi hierarchy=root/c weights=1/3
weight x 2
job y/j0 min=6 queue=c phase=Running age=0 class=high
pods y/j0 1 cpu=3 gpu=0 memory=0Gi on=n1
pods y/j0 1 cpu=3 gpu=0 memory=0Gi on=n2
pods y/j0 1 cpu=3 gpu=0 memory=0Gi on=n2
pods y/j0 1 cpu=3 gpu=0 memory=0Gi priority=0
pods y/j0 1 cpu=3 gpu=0 memory=0Gi priority=2
pods y/j0 1 cpu=3 gpu=0 memory=0Gi
job y/j1 min=3 queue=c phase=Running age=1 class=high
pdb y/j1 selector=job:j1 allowed=2
pods y/j1 1 cpu=1 gpu=0 memory=1Gi volcano.sh/preemptable=false apart=j1 priority=3 on=n1
pods y/j1 1 cpu=1 gpu=0 memory=1Gi volcano.sh/preemptable=false apart=j1 on=n0
pods y/j1 1 cpu=1 gpu=0 memory=1Gi volcano.sh/preemptable=false apart=j1 on=n1
job x/j2 min=3 queue=b phase=Running age=2 class=high
pods x/j2 1 cpu=1 gpu=0 memory=1Gi never port=80 priority=2 on=n2
pods x/j2 1 cpu=1 gpu=0 memory=1Gi never port=80 priority=1 on=n0
pods x/j2 1 cpu=1 gpu=0 memory=1Gi never port=80 priority=0
pods x/j2 1 cpu=1 gpu=0 memory=1Gi never port=80
pods x/j2 1 cpu=1 gpu=0 memory=1Gi never port=80
pods x/j2 1 cpu=1 gpu=0 memory=1Gi never port=80
job x/j3 min=5 queue=b phase=Running age=0 class=higher
pods x/j3 1 cpu=1 gpu=0 memory=0Gi apart=j3 priority=1
pods x/j3 1 cpu=1 gpu=0 memory=0Gi apart=j3
pods x/j3 1 cpu=1 gpu=0 memory=0Gi apart=j3
pods x/j3 1 cpu=1 gpu=0 memory=0Gi apart=j3
pods x/j3 1 cpu=1 gpu=0 memory=0Gi apart=j3
job y/j4 min=2 queue=a phase=Running age=0
pods y/j4 1 cpu=2 gpu=0 memory=4Gi volcano.sh/preemptable=false never priority=0
pods y/j4 1 cpu=2 gpu=0 memory=4Gi volcano.sh/preemptable=false never
"""
"""Job x/j3 needs five nodes more by itself, and four where the others take their turns as well."""


ONE_OF_TWO = """
class high 5
class higher 9
node n0 cpu=5 gpu=3 memory=64Gi
node n1 cpu=3 gpu=2 memory=8Gi
node n2 cpu=3 gpu=1 memory=64Gi
node n3 cpu=4 gpu=0 memory=8Gi
queue dept parent=root weight=1 deserved=cpu:7,gpu:2 guarantee=cpu:2 capability=cpu:10
queue a parent=dept weight=1 reclaimable=false deserved=cpu:1,gpu:3,memory:9Gi capability=cpu:5 \
hierarchy=root/dept/a weights=1/1/2
queue b parent=dept weight=3 reclaimable=false deserved=cpu:4,gpu:3 hierarchy=root/dept/b weights=1/1/1
queue c parent=root weight=2 guarantee=cpu:1 hierarchy=root/c weights=1/3
weight x 2
job y/j0 min=1 queue=c phase=Running age=1 class=high
pdb y/j0 selector=job:j0 allowed=0
pods y/j0 1 cpu=2 gpu=1 memory=1Gi role=w on=n1
pods y/j0 1 cpu=2 gpu=1 memory=1Gi role=w on=n0
pods y/j0 1 cpu=2 gpu=1 memory=1Gi role=w on=n0
pods y/j0 1 cpu=2 gpu=1 memory=1Gi role=w on=n2
pods y/j0 1 cpu=2 gpu=1 memory=1Gi role=w
job y/j1 min=1 queue=b phase=Running age=1 class=high
pods y/j1 1 cpu=1 gpu=0 memory=0Gi role=w on=n0
pods y/j1 1 cpu=1 gpu=0 memory=0Gi role=w on=n2
pods y/j1 1 cpu=1 gpu=0 memory=0Gi role=w on=n1
pods y/j1 1 cpu=1 gpu=0 memory=0Gi role=w on=n3
pods y/j1 1 cpu=1 gpu=0 memory=0Gi role=w on=n3
job y/j2 min=1 queue=b phase=Inqueue age=2
pods y/j2 1 cpu=3 gpu=0 memory=1Gi apart=j2 port=80 role=w
job y/j3 min=1 queue=c phase=Running age=0 class=high
pdb y/j3 selector=job:j3 allowed=2
pods y/j3 1 cpu=1 gpu=0 memory=0Gi volcano.sh/preemptable=false apart=j3 role=w priority=1 on=n3
job y/j4 min=1 queue=a phase=Inqueue age=0
pdb y/j4 selector=job:j4 allowed=0
pods y/j4 1 cpu=3 gpu=0 memory=4Gi role=w priority=2
pods y/j4 1 cpu=3 gpu=0 memory=4Gi role=w priority=0
pods y/j4 1 cpu=3 gpu=0 memory=4Gi role=w
pods y/j4 1 cpu=3 gpu=0 memory=4Gi role=w
pods y/j4 1 cpu=3 gpu=0 memory=4Gi role=w priority=0
pods y/j4 1 cpu=3 gpu=0 memory=4Gi role=w priority=1
job y/j5 min=1 queue=b phase=Inqueue age=1 class=higher
pods y/j5 1 cpu=1 gpu=0 memory=1Gi apart=j5 role=w priority=3
pods y/j5 1 cpu=1 gpu=0 memory=1Gi apart=j5 role=w
pods y/j5 1 cpu=1 gpu=0 memory=1Gi apart=j5 role=w priority=2
pods y/j5 1 cpu=1 gpu=0 memory=1Gi apart=j5 role=w priority=0
pods y/j5 1 cpu=1 gpu=0 memory=1Gi apart=j5 role=w
pods y/j5 1 cpu=1 gpu=0 memory=1Gi apart=j5 role=w
job y/j6 min=1 queue=c phase=Inqueue age=2 class=high
pods y/j6 1 cpu=2 gpu=0 memory=0Gi never role=w
job x/j7 min=1 queue=a phase=Inqueue age=0 class=higher
pdb x/j7 selector=job:j7 allowed=0
pods x/j7 1 cpu=3 gpu=1 memory=4Gi role=w
"""
"""Job y/j2 needs smaller pods, too, by itself; where the others take their turns, more evictions are enough."""


BOTH_LEAST = """
class high 5
class higher 9
node n0 cpu=7 gpu=1 memory=64Gi
node n1 cpu=7 gpu=2 memory=64Gi
node n2 cpu=7 gpu=3 memory=64Gi
node n3 cpu=2 gpu=3 memory=64Gi
queue dept parent=root weight=2 deserved=cpu:5,gpu:0,memory:12Gi guarantee=cpu:2 capability=cpu:7
queue a parent=dept weight=3
queue c parent=root weight=2 reclaimable=false guarantee=cpu:1 capability=cpu:3
pods x/j0 1 cpu=1 volcano.sh/preemptable=false on=n1
job y/j1 min=1 queue=c phase=Running age=1 class=high
pods y/j1 1 cpu=2 gpu=1 memory=1Gi priority=1 on=n0
pods y/j1 3 cpu=2 gpu=1 memory=1Gi on=n2
job x/j2 min=2 queue=c phase=Running age=2 class=high roles=lead:1,w:1
pods x/j2 1 cpu=3 memory=4Gi role=lead on=n1
pods x/j2 1 cpu=3 memory=4Gi role=w on=n1
job x/j3 min=1 queue=a phase=Running age=0 class=high
pods x/j3 1 cpu=1 memory=4Gi never port=80 priority=3 on=n0
pods x/j3 1 cpu=1 memory=4Gi never port=80 on=n2
pods x/j3 1 cpu=1 memory=4Gi never port=80 priority=1 on=n0
pods x/j3 1 cpu=1 memory=4Gi never port=80 priority=2 on=n3
job x/j5 min=2 queue=c phase=Running age=1 class=high roles=lead:1,w:0
pods x/j5 1 cpu=1 gpu=1 role=w on=n3
pods x/j5 1 cpu=1 gpu=1 role=lead priority=3
job y/j7 min=1 queue=a phase=Running age=2 class=higher
pods y/j7 3 cpu=2 memory=1Gi never
job y/j8 min=1 queue=c phase=Inqueue age=1 class=high
pods y/j8 1 cpu=2 gpu=1 memory=4Gi apart=j8
"""
"""Job x/j5 needs more capability and guarantee of its queue; with the least of one, less of the other is enough."""


@pytest.mark.parametrize("queue", ["late", "root"])
def test_a_queue_is_created_and_then_given_what_the_job_needs(queue: str) -> None:
    """Neither helps alone, and the second is about what the first one makes."""
    snapshot = snapshot_of(
        f"""
        node n0 cpu=3
        node n1 cpu=2
        queue q0
        job ns/other queue={queue}
        pods ns/other 1 cpu=2 on=n0
        job ns/first
        pods ns/first 1 cpu=1
        job ns/a queue={queue}
        pods ns/a 1 cpu=1
        job ns/second queue=q0
        pods ns/second 2 cpu=1
        """
    )
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    (change,) = changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns/a").changes
    assert isinstance(change.edits[0], CreateQueue)
    assert isinstance(change.edits[1], QueueEdit)
    assert works(Situation(snapshot, DEFAULT_POLICY), change.edits, "ns/a")


@settings(max_examples=examples(15), deadline=None)
@given(contended(), st.just(40))
@example(BOTH_LEAST, 150)
@example(ONE_AMONG_ALL, 150)
@example(ONE_OF_TWO, 150)
def test_what_is_named_in_any_cluster_works_and_less_does_not(text: str, simulations: int) -> None:
    snapshot = snapshot_of(text)
    situation = Situation(snapshot, POLICY_OF_ANY)
    report = run_cycle(snapshot, POLICY_OF_ANY, REGISTRY)
    waiting = [key for key, one in report.jobs.items() if one.pending and one.ready < one.min_member]
    for key in waiting[:2]:
        for change in changes(snapshot, POLICY_OF_ANY, REGISTRY, report, key, simulations=simulations).changes:
            assert works(situation, change.edits, key), (key, change.message)
            for less in less_than(change):
                assert not works(situation, less, key), (key, change.message, less)


POLICY_OF_ANY = policy_of(
    "priority gang conformance pdb",
    "drf predicates proportion nodeorder",
    actions="enqueue, allocate, preempt, reclaim, backfill",
)


def less_than(change: Change) -> list[tuple[Edit, ...]]:
    """The same edits, with one of them a notch smaller."""
    edits = change.edits
    smaller = ((at, a_notch_less(edit)) for at, edit in enumerate(edits))
    return [(*edits[:at], less, *edits[at + 1 :]) for at, less in smaller if less is not None]


@pytest.mark.parametrize(
    ("key", "told"),
    [
        pytest.param("ns/made", "5 more cpu in queue q (capability 39)", id="one that has its pods takes the room"),
        pytest.param(
            "ns/later", "13 more cpu in queue q (capability 47)", id="one that is only admitted needs its own"
        ),
    ],
)
def test_a_job_without_pods_starts_where_others_leave_room_for_it(key: str, told: str) -> None:
    snapshot = snapshot_of(
        """
        node n1 cpu=64
        queue q capability=cpu:34
        job ns/fill min=1 queue=q phase=Running
        pods ns/fill 1 cpu=31 on=n1
        job ns/later min=2 queue=q minResources=cpu:8 age=60
        job ns/made min=2 queue=q phase=Inqueue age=30
        pods ns/made 2 cpu=4
        """
    )
    policy = policy_of("priority gang", "predicates capacity")
    report = run_cycle(snapshot, policy, REGISTRY)

    assert next(change.message for change in changes(snapshot, policy, REGISTRY, report, key).changes) == told


LACKS = plugin_words.roles_lack_pods([("w", 2, 4)], 0)


@pytest.mark.parametrize(
    ("quota", "cause", "told"),
    [
        pytest.param(
            "quota x/q requests.cpu=4 used=requests.cpu:4",
            f"{limits_words.quota_refuses('q', '4', 'requests.cpu', '4', 2, '4')}; {LACKS}",
            f"{edits.more_in_quota('4 more requests.cpu', 'x/q', '8')} and {edits.more_pods(2, role='w')}",
            id="of cpu",
        ),
        pytest.param(
            "quota x/q pods=3 used=pods:2",
            f"{limits_words.quota_refuses('q', '3', 'pods', '2', 2, '2')}; {LACKS}",
            f"{edits.more_in_quota('1 more pod', 'x/q', '4')} and {edits.more_pods(2, role='w')}",
            id="of pods",
        ),
        pytest.param(
            "quota x/q requests.cpu=8 used=requests.cpu:4", "", "2 more pods of role w", id="with room for them"
        ),
    ],
)
def test_pods_that_a_quota_refuses_need_more_of_it(quota: str, cause: str, told: str) -> None:
    snapshot = snapshot_of(
        f"node n1 cpu=16\n{quota}\njob x/big min=4 roles=w:4 phase=Inqueue\npods x/big 2 cpu=2 role=w"
    )
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "x", "big")

    assert found is not None
    assert [one.message for one in found.constraints if one.code is Code.QUOTA] == ([cause] if cause else [])
    assert found.changes[0].message == told


def test_pods_that_a_controller_makes_need_the_quota_alone() -> None:
    objects = manifests(
        "node n1 cpu=16\nquota x/q requests.cpu=4 used=requests.cpu:4\n"
        "job x/big min=4 roles=w:4 phase=Inqueue\npods x/big 2 cpu=2 role=w"
    )
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "big", "uid": "u", "controller": True}
    for found in objects:
        if found["kind"] == "Pod":
            found["metadata"]["ownerReferences"] = [owner]
    snapshot = mirror(objects).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    first, *_ = changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "x/big").changes

    assert first.message == edits.more_in_quota("4 more requests.cpu", "x/q", "8")
    assert first.command.startswith("kubectl patch resourcequota q -n x ")


def test_a_pod_is_looked_at_by_itself() -> None:
    text = "node n1 cpu=4\njob x/b min=1\npods x/b 1 cpu=1\npods x/b 1 cpu=6"
    snapshot = snapshot_of(text)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    large = next(task for task in snapshot.jobs["x/b"].tasks.values() if task.name == "b.1")
    answer = changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "x/b", pod=large.uid)
    assert [change.message for change in answer.changes][:1] == [edits.request_of_pods("3", "cpu", "6")], (
        "the other pod takes one"
    )
    small = next(task for task in snapshot.jobs["x/b"].tasks.values() if task.name == "b.0")
    assert changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "x/b", pod=small.uid).changes == ()


def test_a_search_that_runs_out_of_simulations_says_so_and_keeps_what_it_has() -> None:
    text = "node n1 cpu=6\njob x/b min=8 pods=8 cpu=1"
    whole = found(text, CAPACITY)
    counts = {bound: found(text, CAPACITY, simulations=bound) for bound in (0, 5, 12, 30)}
    assert whole.complete
    assert all(not one.complete for one in counts.values())
    assert [len(one.changes) for one in counts.values()] == sorted(len(one.changes) for one in counts.values())
    assert counts[0].changes == ()
    assert counts[30].changes[0] == whole.changes[0]


def test_whoever_asks_may_end_the_search_at_any_time() -> None:
    snapshot = snapshot_of("node n1 cpu=6\njob x/b min=8 pods=8 cpu=1")
    asked: list[None] = []

    def spent() -> bool:
        asked.append(None)
        return len(asked) > 3

    report = run_cycle(snapshot, CAPACITY, REGISTRY)
    assert not changes(snapshot, CAPACITY, REGISTRY, report, "x/b", spent=spent).complete
    assert len(asked) == 4


def test_changes_come_with_commands_where_there_are_any() -> None:
    text = "node n1 cpu=16 cordoned\nqueue q capability=cpu:1\njob x/b min=2 pods=2 cpu=1 queue=q"
    change = next(one for one in found(text, CAPACITY).changes if "uncordoned" in one.message)
    first, *_ = change.command.splitlines()
    assert first == "kubectl uncordon n1" or "kubectl uncordon n1" in change.command.splitlines()


def test_a_job_nobody_knows_has_no_changes() -> None:
    assert found("node n1", key="x/none") == SearchOutcome((), complete=True)


def test_the_overhead_of_a_runtime_class_is_not_told_as_what_a_pod_asks_for() -> None:
    objects = manifests("node n1 cpu=4\njob x/b min=1 pods=1 cpu=4")
    (pod,) = (found for found in objects if found["kind"] == "Pod")
    pod["spec"]["overhead"] = {"cpu": "500m"}
    snapshot = mirror(objects).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    told = changes(snapshot, DEFAULT_POLICY, REGISTRY, report, "x/b").changes
    assert told[0].message == edits.request_of_pods("3500m", "cpu", "4")
