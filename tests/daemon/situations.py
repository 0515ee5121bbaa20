"""Jobs that cannot start: what is there, what binds, what would help, and what is not quite enough.

Written in the language of ``tests.support.plans``. What is in ``there`` runs before the job comes; the job in question
is ``default/b``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vsched.explain.words import edits
from vsched.framework.codes import Code
from vsched.framework.words import jobs as jobs_words
from vsched.plugins.words import jobs as plugin_words

DEFAULT = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: overcommit}, {name: drf, enablePreemptable: false}, {name: predicates}, {name: proportion}]
"""
PLAIN = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: nodeorder}]
"""
TREE = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: capacity, enableHierarchy: true}]
"""
FLAT = TREE.replace(", enableHierarchy: true", "")
PREEMPT = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: pdb}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""
RECLAIM = """
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins: [{name: gang}, {name: conformance}, {name: capacity}]
- plugins: [{name: predicates}, {name: nodeorder}]
"""
QUOTAS = PLAIN.replace("{name: nodeorder}", "{name: resourcequota}, {name: nodeorder}")
GROUPS = PLAIN.replace("{name: nodeorder}", "{name: nodegroup}, {name: nodeorder}")
USAGE = PLAIN.replace("{name: nodeorder}", "{name: usage, arguments: {thresholds: {cpu: 80}}}, {name: nodeorder}")
PROMISED = PLAIN.replace("{name: nodeorder}", "{name: overcommit}, {name: nodeorder}")

LIMITS = PLAIN.replace("{name: nodeorder}", "{name: job-limits}, {name: nodeorder}")

GROUP_1, GROUP_2 = "volcano.sh/nodegroup-name=g1", "volcano.sh/nodegroup-name=g2"
OTHERS = "\n".join(f"job default/o{number} min=1 minResources=cpu:1" for number in range(14))


@dataclass(frozen=True)
class Stuck:
    """One situation."""

    policy: str
    there: str
    job: str
    code: Code
    says: str
    """Part of the headline."""
    helps: tuple[str, ...]
    """How the changes begin that are told, in their order; the last of these is made."""
    never: bool = False
    """Whether waiting alone cannot help."""
    phase: str = ""
    """What the PodGroup comes to, for a job whose pods are made only then."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """What the specs of the job's pods say besides."""
    limit: str = ""
    """How much cpu the namespace may hold at most, where the cluster is divided among namespaces."""
    command: str = ""
    """Part of the commands that are told with the change that is made."""


SPREAD = {
    "topologyKey": "zone",
    "maxSkew": 1,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"job": "b"}},
}

SITUATIONS: dict[str, Stuck] = {
    "a queue is at its capability": Stuck(
        DEFAULT,
        "node n1 cpu=16 gpu=16\nqueue research capability=gpu:8\njob default/a min=8 pods=8 gpu=1 cpu=1 queue=research",
        "job default/b min=2 pods=2 gpu=1 cpu=1 queue=research",
        Code.QUEUE_CAPABILITY,
        "queue research allows 8 example.com/gpu: 8 held, 2 more asked",
        ("2 more example.com/gpu in queue research (capability 10)",),
    ),
    "a gang asks for more than its queue may ever hold": Stuck(
        FLAT,
        "node n1 cpu=16 gpu=16\nqueue research capability=gpu:6",
        "job default/b min=8 pods=8 gpu=1 cpu=1 queue=research",
        Code.QUEUE_CAPABILITY,
        "queue research",
        ("minMember 6 (2 fewer)", "2 more example.com/gpu in queue research (capability 8)"),
        never=True,
    ),
    "a queue above is at its capability": Stuck(
        TREE,
        "node n1 cpu=16\nqueue dept capability=cpu:4\nqueue team parent=dept capability=cpu:8 deserved=cpu:4\n"
        "job default/a min=4 pods=4 cpu=1 queue=team",
        "job default/b min=2 pods=2 cpu=1 queue=team",
        Code.QUEUE_CAPABILITY,
        "4 cpu: 4 held, 2 more asked",
        ("2 more cpu in queue dept (capability 6)",),
    ),
    "a queue is closed": Stuck(
        DEFAULT,
        "node n1 cpu=4\nqueue q scheduling.volcano.sh/queue-state=closed",
        "job default/b min=1 pods=1 cpu=1 queue=q",
        Code.QUEUE_CLOSED,
        "queue q is Closed",
        ("queue q opened",),
    ),
    "a queue does not exist": Stuck(
        DEFAULT,
        "node n1 cpu=4",
        "job default/b min=1 pods=1 cpu=1 queue=nowhere",
        Code.QUEUE_NOT_FOUND,
        jobs_words.no_queue("nowhere"),
        ("queue nowhere created",),
        never=True,
    ),
    "a queue has children, which jobs belong in": Stuck(
        TREE,
        "node n1 cpu=4\nqueue q deserved=cpu:4\nqueue leaf parent=q deserved=cpu:4",
        "job default/b min=1 pods=1 cpu=1 queue=q",
        Code.QUEUE_NOT_LEAF,
        "queue q has child queues",
        (edits.as_its_queue("leaf"),),
        never=True,
    ),
    "its queue runs as many jobs as it may": Stuck(
        LIMITS,
        "node n1 cpu=4\nqueue q vsched.io/max-running-jobs=1\njob default/a min=1 pods=1 cpu=1 queue=q",
        "job default/b min=1 pods=1 cpu=1 queue=q",
        Code.RUNNING_JOBS,
        "queue q runs 1 of at most 1 job",
        (edits.running_jobs(2, "q", 1),),
        command="kubectl annotate queues.scheduling.volcano.sh q vsched.io/max-running-jobs=2 --overwrite",
    ),
    "it asks for more wall time than its queue allows": Stuck(
        LIMITS.replace("job-limits", "wall-time, arguments: {maxWallTime: 10m}"),
        "node n1 cpu=4",
        "job default/b min=1 pods=1 cpu=1 vsched.io/wall-time=12m",
        Code.WALL_TIME,
        plugin_words.asks_for_too_long("12m", "10m", queue="default"),
        (edits.argument("maxWallTime", "720s", "wall-time"),),
        never=True,
    ),
    "as much is admitted as the cluster is to be promised": Stuck(
        PROMISED,
        "node n1 cpu=10\njob default/a min=8 pods=8 cpu=1",
        "job default/b min=5 minResources=cpu:5",
        Code.QUEUE_ADMISSION,
        "admitted jobs may ask for 12 cpu: 8 held or reserved by them, 5 more asked",
        ("minMember 4 (1 fewer)", edits.overcommit_factor(1.3)),
        phase="Inqueue",
    ),
    "others hold what its queue deserves, and nobody takes it back": Stuck(
        RECLAIM.replace("reclaim, ", ""),
        "node n1 cpu=8\nqueue a deserved=cpu:4\nqueue b deserved=cpu:4\njob default/a min=1 pods=8 cpu=1 queue=a",
        "job default/b min=2 pods=2 cpu=1 queue=b",
        Code.RESOURCES,
        "too little cpu",
        (edits.action("reclaim"),),
    ),
    "others hold what its queue deserves, and their queue lends nothing": Stuck(
        RECLAIM,
        "node n1 cpu=8\nqueue a deserved=cpu:4 reclaimable=false\nqueue b deserved=cpu:4\n"
        "job default/a min=1 pods=8 cpu=1 queue=a",
        "job default/b min=2 pods=2 cpu=1 queue=b",
        Code.RESOURCES,
        "too little cpu",
        (edits.queue_made_reclaimable("a"),),
    ),
    "a gang of eight with room for six": Stuck(
        PLAIN,
        "node n1 cpu=6",
        "job default/b min=8 pods=8 cpu=1",
        Code.GANG_SIZE,
        "the gang needs 8, 6 fit",
        (
            "minMember 6 (2 fewer)",
            edits.request_of_pods("750m", "cpu", "1"),
            edits.more_on_node("2 more cpu", "n1"),
        ),
        never=True,
    ),
    "the roles have no room for their minima together": Stuck(
        PLAIN,
        "node n1 cpu=4",
        "job default/b min=5 roles=ps:1,worker:4\npods default/b 1 cpu=1 role=ps\npods default/b 4 cpu=1 role=worker",
        Code.GANG_SIZE,
        "roles ps and worker together need 5 cpu",
        (edits.request_of_pods("800m", "cpu", "1"), edits.minimum_of_role(3, "worker", 1, 4)),
        never=True,
    ),
    "fewer pods exist than the gang needs": Stuck(
        PLAIN,
        "node n1 cpu=4",
        "job default/b min=4 pods=2 cpu=1",
        Code.GANG_INCOMPLETE,
        "2 of the gang's 4 pods exist",
        ("2 more pods",),
    ),
    "pods of a role are missing": Stuck(
        PLAIN,
        "node n1 cpu=4",
        "job default/b min=3 roles=ps:1,worker:2\npods default/b 2 cpu=1 role=worker",
        Code.GANG_INCOMPLETE,
        plugin_words.roles_lack_pods([("ps", 0, 1)], 0),
        ("1 more pod of role ps",),
    ),
    "scheduling gates hold its pods back": Stuck(
        PLAIN,
        "node n1 cpu=4",
        "job default/b min=2\npods default/b 2 cpu=1 gated",
        Code.GATED,
        jobs_words.gated(2, more=False),
        (edits.GATES_REMOVED,),
    ),
    "its PodGroup does not exist": Stuck(
        PLAIN,
        "node n1 cpu=4",
        "pods default/b 2 cpu=1",
        Code.NO_POD_GROUP,
        "",
        (edits.podgroup_created("default/b", "default"),),
        never=True,
    ),
    "the only node with room is tainted": Stuck(
        PLAIN,
        "node n1 cpu=4 taint=gpu:yes\nnode n2 cpu=1",
        "job default/b min=1 pods=1 cpu=4",
        Code.RESOURCES,
        "1 is tainted {gpu: yes}",
        (edits.toleration("gpu=yes:NoSchedule"), edits.taint_removed("gpu=yes:NoSchedule", "node n1")),
        never=True,
    ),
    "all nodes are tainted": Stuck(
        PLAIN,
        "node n1 cpu=4 taint=gpu:yes\nnode n2 cpu=4 taint=gpu:yes",
        "job default/b min=1 pods=1 cpu=4",
        Code.TAINTS,
        "2 nodes are tainted {gpu: yes}",
        (edits.toleration("gpu=yes:NoSchedule"),),
        never=True,
    ),
    "the nodes with room are cordoned": Stuck(
        PLAIN,
        "node n1 cpu=2 cordoned\nnode n2 cpu=2 cordoned\nnode n3 cpu=2 cordoned",
        "job default/b min=2 pods=2 cpu=2",
        Code.CORDONED,
        "3 nodes are cordoned",
        ("nodes n1, n2 uncordoned",),
    ),
    "its selector matches no node": Stuck(
        PLAIN,
        "node n1 cpu=4 zone=a",
        "job default/b min=1 pods=1 cpu=4 selector=zone:c",
        Code.SELECTOR,
        "node selector or affinity",
        ("its node selector and node affinity dropped", "node n1 labelled zone=c"),
        never=True,
    ),
    "it asks for more than any node has": Stuck(
        PLAIN,
        "node n1 cpu=8\nnode n2 cpu=12",
        "job default/b min=1 pods=1 cpu=16",
        Code.RESOURCES,
        "no node has 16 cpu (largest: 12)",
        (edits.request_of_pods("12", "cpu", "16"), edits.more_on_node("4 more cpu", "n2")),
        never=True,
    ),
    "there is room enough in all, and on no node": Stuck(
        PLAIN,
        "node n1 cpu=4\nnode n2 cpu=4\njob default/a min=2 pods=2 cpu=2 apart=a",
        "job default/b min=1 pods=1 cpu=3",
        Code.RESOURCES,
        "2 nodes have too little cpu",
        (edits.request_of_pods("2", "cpu", "3"),),
    ),
    "the nodes are full, and another one would do": Stuck(
        PLAIN,
        "node n1 cpu=2 pods=5\njob default/a min=2 pods=2 cpu=1",
        "job default/b min=2 pods=2 cpu=2 memory=4Gi",
        Code.GANG_SIZE,
        "too little cpu",
        (edits.more_on_node("4 more cpu", "n1"), "2 more nodes like n1"),
        never=True,
    ),
    "its host port is taken": Stuck(
        PLAIN,
        "node n1 cpu=8\njob default/a min=1 pods=1 cpu=1 port=80",
        "job default/b min=1 pods=1 cpu=1 port=80",
        Code.PORTS,
        "free host port",
        ("its host ports dropped", "1 more node like n1"),
    ),
    "it keeps away from those who are everywhere": Stuck(
        PLAIN,
        "node n1 cpu=8\njob default/a min=1 pods=1 cpu=1",
        "job default/b min=1 pods=1 cpu=1 apart=a",
        Code.POD_AFFINITY,
        "anti-affinity",
        ("its required pod anti-affinity dropped",),
    ),
    "it has to spread over zones, and one has no room": Stuck(
        PLAIN,
        "node n1 cpu=8 zone=a\nnode n2 cpu=2 zone=b\njob default/a min=2 pods=2 cpu=2 apart=a",
        "job default/b min=2 pods=2 cpu=2",
        Code.GANG_SIZE,
        "1 does not match its topology spread constraints",
        ("minMember 1 (1 fewer)", "its topology spread constraints dropped"),
        spec={"topologySpreadConstraints": [SPREAD]},
    ),
    "its queue holds what it deserves": Stuck(
        DEFAULT,
        "node n1 cpu=8\nqueue a\nqueue q\njob default/h min=4 pods=4 cpu=1 queue=q",
        "job default/w min=9 pods=4 cpu=1 queue=a\njob default/b min=1 pods=1 cpu=1 queue=q",
        Code.QUEUE_SHARE,
        "queue q deserves 4 cpu: 4 held, 1 more asked",
        (edits.weight(2, "q", 1),),
    ),
    "its namespace may hold no more": Stuck(
        PLAIN,
        "node n1 cpu=8\njob default/a min=4 pods=4 cpu=1",
        "job default/b min=2 pods=2 cpu=1",
        Code.NAMESPACE_CEILING,
        "namespace default",
        (edits.limit_of_consumer("6", "cpu", "default/defaults"),),
        limit="4",
    ),
    "the nodes are used too much": Stuck(
        USAGE,
        "node n1 cpu=8\nusage n1 cpu=95 memory=40",
        "job default/b min=1 pods=1 cpu=1",
        Code.USAGE,
        "cpu usage above 80%",
        (edits.usage_threshold("cpu", 95),),
    ),
    "a disruption budget forbids the only victims": Stuck(
        PREEMPT,
        "node n1 cpu=4\nclass high 10\nclass low 1\njob default/a min=1 pods=4 cpu=1 class=low\n"
        "pdb default/guard selector=job:a",
        "job default/b min=2 pods=2 cpu=1 class=high",
        Code.BUDGET,
        "default/guard",
        (edits.more_evictions(2, "default/guard"),),
    ),
    "those who run are as important": Stuck(
        PREEMPT,
        "node n1 cpu=4\nclass high 10\nclass low 1\njob default/a min=1 pods=4 cpu=1 class=low",
        "job default/b min=1 pods=1 cpu=1 class=low",
        Code.RESOURCES,
        "too little cpu",
        ("priority class high",),
    ),
    "fourteen others are before it": Stuck(
        PROMISED,
        f"node n1 cpu=12\n{OTHERS}",
        "job default/b min=1 minResources=cpu:1",
        Code.ORDER,
        "waits behind",
        (edits.overcommit_factor(1.3),),
        phase="Inqueue",
    ),
    "a quota has no room for its minimum": Stuck(
        QUOTAS,
        "node n1 cpu=8\nquota default/small requests.cpu=4\njob default/a min=3 pods=3 cpu=1",
        "job default/b min=2 minResources=cpu:2",
        Code.QUOTA,
        "ResourceQuota small allows",
        ("minMember 1 (1 fewer)", edits.more_in_quota("1 more requests.cpu", "default/small", "5")),
        phase="Inqueue",
    ),
    "no node has a slot for another pod": Stuck(
        PLAIN,
        "node n1 cpu=8 pods=2\njob default/a min=2 pods=2 cpu=1",
        "job default/b min=1 pods=1 cpu=1",
        Code.RESOURCES,
        "no slot for another pod",
        (edits.more_on_node("1 more pod slot", "n1"),),
    ),
    "its queue is for another group of nodes": Stuck(
        GROUPS,
        f"node n1 cpu=8 {GROUP_1}\nnode n2 cpu=1 {GROUP_2}\nqueue q required=g2",
        "job default/b min=1 pods=1 cpu=4 queue=q",
        Code.RESOURCES,
        "",
        (edits.node_group_added("g1", "q"),),
        never=True,
    ),
    "its queue is at its limit on a group of nodes": Stuck(
        GROUPS,
        f"node n1 cpu=8 {GROUP_1}\n"
        'queue q required=g1 volcano.sh/nodegroup-resource-limits={"g1":{"cpu":"2"}}\n'
        "job default/a min=1 pods=1 cpu=2 queue=q",
        "job default/b min=1 pods=1 cpu=3 queue=q",
        Code.NODE_GROUP,
        "node group",
        (edits.more_on_node_group("3 more cpu", "q", "g1", "5"),),
    ),
    "two things are in the way at once": Stuck(
        FLAT,
        "node n1 cpu=4\nnode n2 cpu=4 cordoned\nqueue team capability=cpu:4\n"
        "job default/a min=4 pods=4 cpu=1 queue=team",
        "job default/b min=2 pods=2 cpu=1 queue=team",
        Code.RESOURCES,
        "",
        ("node n2 uncordoned and 2 more cpu in queue team (capability 6)",),
    ),
}
