"""Others: situations in which those who run, those who come first or objects that are named wrongly bind."""

from __future__ import annotations

from tests.explain.stuck.case import PREEMPT, RECLAIM, Case
from tests.support.plans import policy_from, policy_of
from vsched.explain.edits.jobs import SetMinMember, SetPriority
from vsched.explain.edits.namespaces import AllowDisruptions
from vsched.explain.edits.nodes import SetNodeAmount
from vsched.explain.edits.others import CreatePodGroup, CreatePriorityClass
from vsched.explain.edits.pods import SetRequest
from vsched.explain.edits.policy import UseAction
from vsched.framework.codes import Code

CLASSES = "class high 100\nclass low 1\n"
LOW = "job ns/a min=1 class=low phase=Running"
HIGH = "job ns/b pods=1 cpu=1 class=high"
BACKFILL = policy_of("priority gang easy-backfill", "predicates nodeorder")
BY_ORDER = policy_of("priority gang", "predicates nodeorder")

KEEPING_RECLAIM = policy_from(
    """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: capacity}, {name: nodeorder}]
configurations: [{name: reclaim, arguments: {nonPreemptible: ["*"]}}]
"""
)

CASES: dict[str, Case] = {
    "the queue of the victims lends nothing, and they are a gang at its minimum": Case(
        "node n1 cpu=8\nqueue a deserved=cpu:4 reclaimable=false\nqueue q deserved=cpu:4\n"
        "job ns/a min=8 phase=Running queue=a\npods ns/a 8 cpu=1 on=n1\njob ns/b min=2 pods=2 cpu=1 queue=q",
        Code.RESOURCES,
        "cpu",
        [(SetNodeAmount("n1", "cpu", 10000),)],
        RECLAIM,
        also="queue a holds more than it deserves and is not reclaimable",
    ),
    "those who hold more than their queue deserves are not preemptible": Case(
        "node n1 cpu=8\nqueue a deserved=cpu:4\nqueue q deserved=cpu:4\n"
        "job ns/a phase=Running queue=a vsched.io/preemptibility=non-preemptible\npods ns/a 8 cpu=1 on=n1\n"
        "job ns/b min=2 pods=2 cpu=1 queue=q",
        Code.RESOURCES,
        "cpu",
        [],
        KEEPING_RECLAIM,
        also="preempt",
    ),
    "it is important, and may not preempt anybody": Case(
        f"{CLASSES}node n1 cpu=4\n{LOW}\npods ns/a 4 cpu=1 on=n1\n{HIGH} never",
        Code.RESOURCES,
        "cpu",
        [],
        PREEMPT,
        also="their preemptionPolicy is Never",
    ),
    "the victims have not run for as long as they may": Case(
        f"{CLASSES}node n1 cpu=4\n{LOW} vsched.io/preempt-min-runtime=1h\npods ns/a 4 cpu=1 on=n1 started=600\n{HIGH}",
        Code.PROTECTED,
        "it can preempt other jobs from 08:50 UTC at the earliest (their minimum run time is not over); no node fits",
        [(SetNodeAmount("n1", "cpu", 5000),)],
        PREEMPT,
    ),
    "it is behind a gang that cannot start, and needs less": Case(
        "node b1 cpu=4\njob x/a phase=Running\npods x/a 1 cpu=4 on=b1\njob ns/g min=2 pods=2 cpu=6 age=60\n"
        "job ns/b pods=1 cpu=4",
        Code.RESOURCES,
        "1 node has too little cpu",
        [(SetNodeAmount("b1", "cpu", 8000),)],
        BY_ORDER,
    ),
    "it is behind a gang that would take what is added first": Case(
        "node b1 cpu=4\njob x/a phase=Running\npods x/a 1 cpu=4 on=b1\njob ns/g min=2 pods=2 cpu=2 age=60\n"
        "job ns/b pods=1 cpu=4",
        Code.RESOURCES,
        "1 node has too little cpu",
        [(SetNodeAmount("b1", "cpu", 12000),)],
        BY_ORDER,
    ),
    "it has to wait before others are evicted for it": Case(
        f"{CLASSES}node n1 cpu=4\n{LOW}\npods ns/a 4 cpu=1 on=n1\n{HIGH} vsched.io/preemption-delay=10m age=60",
        Code.RESOURCES,
        "cpu",
        [],
        PREEMPT,
        also="08:09",
    ),
    "a budget and a minimum both keep the victims": Case(
        f"{CLASSES}node n1 cpu=4\npdb ns/guard selector=job:a allowed=0\njob ns/a min=4 class=low phase=Running\n"
        f"pods ns/a 4 cpu=1 on=n1\n{HIGH}",
        Code.RESOURCES,
        "cpu",
        [(SetNodeAmount("n1", "cpu", 5000),)],
        PREEMPT,
        also="disruption budgets are used up",
    ),
    "two budgets forbid the victims, and one more eviction of one is enough": Case(
        f"{CLASSES}node n1 cpu=4\npdb ns/one selector=app:x allowed=0\npdb ns/two selector=app:y allowed=0\n{LOW}\n"
        f"pods ns/a 2 cpu=1 on=n1 labels=app:x\npods ns/a 2 cpu=1 on=n1 labels=app:y\n{HIGH}",
        Code.BUDGET,
        "ns/one|ns/two",
        [(AllowDisruptions("ns", "one", 1),)],
        PREEMPT,
    ),
    "the only victims are critical": Case(
        f"{CLASSES}node n1 cpu=4\njob kube-system/a class=low phase=Running\npods kube-system/a 4 cpu=1 on=n1\n{HIGH}",
        Code.RESOURCES,
        "cpu",
        [(SetNodeAmount("n1", "cpu", 5000),)],
        PREEMPT,
        also="they are system-critical",
    ),
    "all victims together have too little": Case(
        f"{CLASSES}node n1 cpu=4\n{LOW}\npods ns/a 4 cpu=1 on=n1\njob ns/b pods=1 cpu=6 class=high",
        Code.RESOURCES,
        "6 cpu|4",
        [(SetRequest("ns/b", "cpu", 3000),)],
        PREEMPT,
        never=True,
    ),
    "room is kept for the planned start of a gang": Case(
        "node n1 cpu=4\nnode n2 cpu=4\njob x/a phase=Running vsched.io/expected-duration=1h\n"
        "pods x/a 1 cpu=4 on=n1 started=60\njob ns/g min=2 pods=2 cpu=4 age=60\njob ns/b pods=1 cpu=1",
        Code.RESERVED,
        "ns/g",
        [],
        BACKFILL,
    ),
    "its class does not exist, and none has a name like it": Case(
        f"{CLASSES}node n1 cpu=4\njob ns/b pods=1 cpu=1 class=platinum",
        Code.UNSUPPORTED,
        "platinum does not exist",
        [(CreatePriorityClass("platinum", 0),)],
        never=True,
    ),
    "its class has a name that no class can have": Case(
        f"{CLASSES}node n1 cpu=4\njob ns/b pods=1 cpu=1 class=Very_High",
        Code.UNSUPPORTED,
        "Very_High does not exist",
        never=True,
    ),
    "its pods name a PodGroup that is not there": Case(
        "node n1 cpu=4\njob ns/bb min=2\npods ns/b 2 cpu=1",
        Code.NO_POD_GROUP,
        "ns/b",
        [(CreatePodGroup("ns/b", "default"),)],
        never=True,
    ),
    "its pods are for another scheduler": Case(
        "node n1 cpu=4\njob ns/b min=2 pods=2 cpu=1 age=90",
        Code.GANG_INCOMPLETE,
        "default-scheduler",
        [],
        spec={"schedulerName": "default-scheduler"},
        never=True,
    ),
    "a gang that came before it takes what is idle once another has left": Case(
        "node n1 cpu=4\nnode n2 cpu=4\njob x/o phase=Running\npods x/o 1 cpu=4 on=n1 leaving\n"
        "job ns/g min=2 age=60\npods ns/g 2 cpu=4\njob ns/b pods=1 cpu=1",
        Code.ORDER,
        "ns/g",
        [],
        BY_ORDER,
    ),
    "its queue deserves too little of two resources to take back more": Case(
        "node n1 cpu=8 memory=8Gi\nqueue a deserved=cpu:2,memory:2Gi\nqueue q deserved=cpu:1,memory:1Gi\n"
        "job ns/a phase=Running queue=a\npods ns/a 8 cpu=1 memory=1Gi on=n1\n"
        "job ns/b min=2 pods=2 cpu=1 memory=1Gi queue=q",
        Code.RESOURCES,
        "cpu",
        [(SetMinMember("ns/b", 1),)],
        RECLAIM,
    ),
    "preempt would do, and the policy has no such action": Case(
        f"{CLASSES}node n1 cpu=4\n{LOW}\npods ns/a 4 cpu=1 on=n1\n{HIGH}",
        Code.RESOURCES,
        "cpu",
        [(UseAction("preempt"),)],
    ),
    "a queue with a guarantee of its own is full of its own jobs": Case(
        f"{CLASSES}node n1 cpu=4\nqueue q guarantee=cpu:4\njob ns/a class=low phase=Running queue=q\n"
        "pods ns/a 4 cpu=1 on=n1\njob ns/b pods=1 cpu=1 class=low queue=q",
        Code.RESOURCES,
        "cpu",
        [(SetPriority("ns/b", 100, "high"),)],
        policy_of(
            "priority gang conformance",
            "predicates capacity nodeorder",
            actions="enqueue, allocate, preempt, reclaim, backfill",
        ),
    ),
}
