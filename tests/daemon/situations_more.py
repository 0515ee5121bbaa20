"""More jobs that cannot start, whose way out is a command: what it says, and what it leaves as it is.

Written as ``tests.daemon.situations`` are.
"""

from __future__ import annotations

from tests.daemon.situations import (
    DEFAULT,
    FLAT,
    GROUP_1,
    GROUP_2,
    GROUPS,
    PLAIN,
    PREEMPT,
    PROMISED,
    QUOTAS,
    RECLAIM,
    TREE,
    Stuck,
)
from vsched.explain.words import edits
from vsched.framework.codes import Code
from vsched.framework.words import jobs as jobs_words

CLOSED = "scheduling.volcano.sh/queue-state=closed"
PLAIN_PREEMPT = PREEMPT.replace(", {name: pdb}", "")
LIMITS = "volcano.sh/nodegroup-resource-limits="

MORE: dict[str, Stuck] = {
    "a quota has too little memory for its minimum": Stuck(
        QUOTAS,
        "node n1 cpu=8\nquota default/small requests.memory=4Gi requests.cpu=90",
        "job default/b min=1 minResources=memory:7Gi",
        Code.QUOTA,
        "ResourceQuota small allows",
        ("minResources memory 4Gi", edits.more_in_quota("3Gi more requests.memory", "default/small", "7Gi")),
        never=True,
        phase="Inqueue",
        command='{"spec":{"hard":{"requests.memory":"7Gi"}}}',
    ),
    "a quota has too few accelerators for its minimum": Stuck(
        QUOTAS,
        "node n1 cpu=8 gpu=8\nquota default/small requests.example.com/gpu=2 requests.cpu=90",
        "job default/b min=2 minResources=gpu:6",
        Code.QUOTA,
        "ResourceQuota small allows",
        (edits.more_in_quota("4 more requests.example.com/gpu", "default/small", "6"),),
        never=True,
        phase="Inqueue",
        command='"requests.example.com/gpu":"6"',
    ),
    "two lines of a quota are too small": Stuck(
        QUOTAS,
        "node n1 cpu=8\nquota default/small requests.memory=1Gi requests.cpu=1",
        "job default/b min=1 minResources=memory:7Gi,cpu:4",
        Code.QUOTA,
        "ResourceQuota small allows",
        ("3 more requests.cpu in resource quota default/small (4 in all) and 6Gi more requests.memory",),
        never=True,
        phase="Inqueue",
        command='"requests.memory":"7Gi"',
    ),
    "a queue is at its capability in memory": Stuck(
        FLAT,
        "node n1 cpu=8 memory=64Gi\nqueue q capability=memory:8Gi,cpu:8\n"
        "job default/a min=1 pods=1 cpu=1 memory=8Gi queue=q",
        "job default/b min=1 pods=1 cpu=1 memory=3Gi queue=q",
        Code.QUEUE_CAPABILITY,
        "queue q allows 8Gi memory: 8Gi held, 3Gi more asked",
        ("3Gi more memory in queue q (capability 11Gi)",),
        command='{"spec":{"capability":{"memory":"11Gi"}}}',
    ),
    "a queue is at its capability in two resources": Stuck(
        FLAT,
        "node n1 cpu=16 memory=64Gi gpu=8\nqueue q capability=cpu:4,memory:4Gi,gpu:8\n"
        "job default/a min=4 pods=4 cpu=1 memory=1Gi gpu=1 queue=q",
        "job default/b min=2 pods=2 cpu=1 memory=1Gi gpu=1 queue=q",
        Code.QUEUE_CAPABILITY,
        "queue q",
        (
            " and ".join(
                [
                    edits.more_in_queue("2 more cpu", "q", "capability", "6"),
                    edits.more_in_queue("2Gi more memory", "q", "capability", "6Gi"),
                ]
            ),
        ),
        command='{"spec":{"capability":{"cpu":"6"}}}',
    ),
    "its queue and the one above are at their capability": Stuck(
        TREE,
        "node n1 cpu=16\nqueue dept capability=cpu:4 deserved=cpu:4\n"
        "queue team parent=dept capability=cpu:4 deserved=cpu:4\n"
        "job default/a min=4 pods=4 cpu=1 queue=team",
        "job default/b min=2 pods=2 cpu=1 queue=team",
        Code.QUEUE_CAPABILITY,
        "queue team allows 4 cpu: 4 held, 2 more asked",
        (
            " and ".join(
                [
                    edits.more_in_queue("2 more cpu", "team", "capability", "6"),
                    edits.more_in_queue("2 more cpu", "dept", "capability", "6"),
                ]
            ),
        ),
        command="kubectl patch queues.scheduling.volcano.sh dept",
    ),
    "three queues one above the other are at their capability": Stuck(
        TREE,
        "node n1 cpu=16\nqueue org capability=cpu:4 deserved=cpu:4\n"
        "queue dept parent=org capability=cpu:4 deserved=cpu:4\n"
        "queue team parent=dept capability=cpu:4 deserved=cpu:4\n"
        "job default/a min=4 pods=4 cpu=1 queue=team",
        "job default/b min=2 pods=2 cpu=1 queue=team",
        Code.QUEUE_CAPABILITY,
        "queue team allows 4 cpu: 4 held, 2 more asked",
        ("2 more cpu in queue team (capability 6) and 2 more cpu in queue dept (capability 6) and 2 more cpu in",),
        command="kubectl patch queues.scheduling.volcano.sh org",
    ),
    "both who hold what its queue deserves lend nothing": Stuck(
        RECLAIM,
        "node n1 cpu=8\nqueue a deserved=cpu:2 reclaimable=false\nqueue c deserved=cpu:2 reclaimable=false\n"
        "queue q deserved=cpu:4\njob default/a min=1 pods=4 cpu=1 queue=a\njob default/c min=1 pods=4 cpu=1 queue=c",
        "job default/b min=4 pods=4 cpu=1 queue=q",
        Code.RESOURCES,
        "too little cpu",
        (" and ".join([edits.queue_made_reclaimable("a"), edits.queue_made_reclaimable("c")]),),
        command="kubectl patch queues.scheduling.volcano.sh c",
    ),
    "its queue deserves too little to take back more": Stuck(
        RECLAIM,
        "node n1 cpu=8\nqueue a deserved=cpu:2\nqueue q deserved=cpu:2\njob default/a min=1 pods=8 cpu=1 queue=a",
        "job default/b min=4 pods=4 cpu=1 queue=q",
        Code.RESOURCES,
        "too little cpu",
        (
            "minMember 2 (2 fewer)",
            edits.request_of_pods("500m", "cpu", "1"),
            "2 more cpu in queue q (deserved 4)",
        ),
        command='{"spec":{"deserved":{"cpu":"4"}}}',
    ),
    "what another queue is guaranteed leaves too little": Stuck(
        FLAT,
        "node n1 cpu=8\nqueue a guarantee=cpu:3,memory:1Gi\nqueue q",
        "job default/b min=1 pods=1 cpu=7 queue=q",
        Code.QUEUE_SHARE,
        "what queue a is guaranteed leaves queue q 5 of 8 cpu at most: 7 asked",
        (edits.request_of_pods("5", "cpu", "7"), edits.less_guaranteed("2", "cpu", "a", "1")),
        never=True,
        command='{"spec":{"guarantee":{"resource":{"cpu":"1"}}}}',
    ),
    "what two other queues are guaranteed leaves too little": Stuck(
        FLAT,
        "node n1 cpu=8\nqueue a guarantee=cpu:3\nqueue c guarantee=cpu:3\nqueue q",
        "job default/b min=1 pods=1 cpu=8 queue=q",
        Code.QUEUE_SHARE,
        "what queues a and c are guaranteed leaves queue q 2 of 8 cpu at most: 8 asked",
        (" and ".join([edits.less_guaranteed("3", "cpu", "a", "0"), edits.less_guaranteed("3", "cpu", "c", "0")]),),
        never=True,
        command='{"spec":{"guarantee":{"resource":{"cpu":"0"}}}}',
    ),
    "its minResources state more than its pods ask for": Stuck(
        PROMISED,
        "node n1 cpu=4",
        "job default/b min=2 pods=2 cpu=1 minResources=cpu:20,memory:1Gi",
        Code.RESOURCES,
        "20 asked",
        ("minResources cpu 4800m",),
        never=True,
        command='{"spec":{"minResources":{"cpu":"4800m"}}}',
    ),
    "its minResources state too much of two resources": Stuck(
        PROMISED,
        "node n1 cpu=4 memory=8Gi",
        "job default/b min=2 pods=2 cpu=1 memory=1Gi minResources=cpu:20,memory:40Gi",
        Code.RESOURCES,
        "the cluster has 4 cpu in all: 20 asked; 8Gi memory in all: 40Gi asked",
        ("minResources cpu 4800m and minResources memory",),
        never=True,
        command='{"spec":{"minResources":{"cpu":"4800m"}}}',
    ),
    "fewer would do, with less than is stated for all": Stuck(
        PROMISED,
        "node n1 cpu=10 memory=10Gi\njob default/a min=8 pods=8 cpu=1 memory=1Gi",
        "job default/b min=3 minResources=memory:7Gi",
        Code.QUEUE_ADMISSION,
        "admitted jobs may ask for",
        ("minMember 1 (2 fewer)",),
        phase="Inqueue",
        command='"minResources":{"memory":"2390Mi"}',
    ),
    "the only victims are a gang at its minimum": Stuck(
        PLAIN_PREEMPT,
        "node n1 cpu=4\nclass high 10\nclass low 1\njob default/a min=4 pods=4 cpu=1 class=low",
        "job default/b min=2 pods=2 cpu=1 class=high",
        Code.RESOURCES,
        "too little cpu",
        ("minMember 2 of job default/a (now 4)",),
        command="kubectl patch podgroups.scheduling.volcano.sh a -n default",
    ),
    "the only victims are a gang at its minimum, which states what it needs": Stuck(
        RECLAIM,
        "node n1 cpu=8\nqueue a deserved=cpu:4\nqueue q deserved=cpu:4\n"
        "job default/a min=8 pods=8 cpu=1 queue=a minResources=cpu:8",
        "job default/b min=2 pods=2 cpu=1 queue=q",
        Code.RESOURCES,
        "too little cpu",
        ("minMember 6 of job default/a (now 8)",),
        command='{"spec":{"minMember":6}}',
    ),
    "the only victims are two gangs at their minimum": Stuck(
        PLAIN_PREEMPT,
        "node n1 cpu=4\nclass high 10\nclass low 1\njob default/a min=2 pods=2 cpu=1 class=low\n"
        "job default/c min=2 pods=2 cpu=1 class=low",
        "job default/b min=2 pods=2 cpu=1 class=high",
        Code.RESOURCES,
        "too little cpu",
        ("minMember 1 of job default/",),
        command="kubectl patch podgroups.scheduling.volcano.sh",
    ),
    "those who run are as important, and no class is higher but the system's": Stuck(
        PLAIN_PREEMPT,
        "node n1 cpu=4\nclass system-node-critical 2000001000\njob default/a min=1 pods=4 cpu=1",
        "job default/b min=1 pods=1 cpu=1",
        Code.RESOURCES,
        "too little cpu",
        (" and ".join([edits.priority_class_created("above-0", 1), edits.priority_class("above-0")]),),
        command="kubectl create priorityclass above-0 --value=1",
    ),
    "its queue is misspelt": Stuck(
        DEFAULT,
        "node n1 cpu=4\nqueue research\nqueue reserch-2 scheduling.volcano.sh/queue-state=closed",
        "job default/b min=1 pods=1 cpu=1 queue=reserch",
        Code.QUEUE_NOT_FOUND,
        jobs_words.no_queue("reserch"),
        (edits.as_its_queue("research"),),
        never=True,
        command='{"spec":{"queue":"research"}}',
    ),
    "only a closed queue has a name like that of its queue": Stuck(
        DEFAULT,
        f"node n1 cpu=4\nqueue research {CLOSED}",
        "job default/b min=1 pods=1 cpu=1 queue=reserch",
        Code.QUEUE_NOT_FOUND,
        jobs_words.no_queue("reserch"),
        ("queue reserch created",),
        never=True,
        command="kubectl create -f -",
    ),
    "its queue is closed with the one above": Stuck(
        TREE,
        f"node n1 cpu=4\nqueue dept deserved=cpu:4 {CLOSED}\nqueue team parent=dept deserved=cpu:4",
        "job default/b min=1 pods=1 cpu=1 queue=team",
        Code.QUEUE_CLOSED,
        "queue team is Closed",
        ("queue dept opened",),
        command="vsched queue open dept",
    ),
    "its queue and the one above were closed": Stuck(
        TREE,
        f"node n1 cpu=4\nqueue dept deserved=cpu:4 {CLOSED}\nqueue team parent=dept deserved=cpu:4 {CLOSED}",
        "job default/b min=1 pods=1 cpu=1 queue=team",
        Code.QUEUE_CLOSED,
        "queue team is Closed",
        (" and ".join([edits.queue_opened("dept"), edits.queue_opened("team")]),),
        command="vsched queue open dept\nvsched queue open team",
    ),
    "its queue is kept off the only group of nodes": Stuck(
        GROUPS,
        f"node n1 cpu=8 {GROUP_1}\nqueue q antiRequired=g3,g1 preferred=g2",
        "job default/b min=1 pods=1 cpu=4 queue=q",
        Code.NODE_GROUP,
        "in a node group of the queue",
        (edits.node_group_added("g1", "q"),),
        never=True,
        command='"op":"remove"',
    ),
    "its queue is for two other groups of nodes": Stuck(
        GROUPS,
        f"node n1 cpu=8 {GROUP_1}\nnode n2 cpu=1 {GROUP_2}\nqueue q required=g2,g3 antiPreferred=g4",
        "job default/b min=1 pods=1 cpu=4 queue=q",
        Code.RESOURCES,
        "",
        (edits.node_group_added("g1", "q"),),
        never=True,
        command='"op":"test"',
    ),
    "its queue is at one of its limits on a group of nodes": Stuck(
        GROUPS,
        f"node n1 cpu=8 {GROUP_1}\n"
        f'queue q required=g1 {LIMITS}{{"g1":{{"cpu":"2","memory":"99Gi"}},"g2":{{"cpu":"1"}}}}\n'
        "job default/a min=1 pods=1 cpu=2 queue=q",
        "job default/b min=1 pods=1 cpu=3 queue=q",
        Code.NODE_GROUP,
        "node group",
        (edits.more_on_node_group("3 more cpu", "q", "g1", "5"),),
        command='{"g1":{"cpu":"5","memory":"99Gi"},"g2":{"cpu":"1"}}',
    ),
    "the only node has two taints": Stuck(
        PLAIN,
        "node n1 cpu=4 taint=team:x,dedicated:\nnode n2 cpu=1",
        "job default/b min=1 pods=1 cpu=4",
        Code.RESOURCES,
        "",
        (
            " and ".join([edits.toleration("team=x:NoSchedule"), edits.toleration("dedicated:NoSchedule")]),
            " and ".join(
                [
                    edits.taint_removed("team=x:NoSchedule", "node n1"),
                    edits.taint_removed("dedicated:NoSchedule", "node n1"),
                ]
            ),
        ),
        never=True,
        command="kubectl taint nodes n1 dedicated:NoSchedule-",
    ),
    "its selector asks for two labels": Stuck(
        PLAIN,
        "node n1 cpu=4 zone=a other=kept",
        "job default/b min=1 pods=1 cpu=4 selector=zone:c,pool:ssd",
        Code.SELECTOR,
        "node selector or affinity",
        ("its node selector and node affinity dropped", "node n1 labelled pool=ssd, zone=c"),
        never=True,
        command="kubectl label nodes n1 pool=ssd zone=c --overwrite",
    ),
    "the nodes with room are tainted for their accelerators": Stuck(
        PLAIN,
        "node n1 cpu=1\nnode n2 cpu=8 gpu=4 taint=example.com/gpu:yes",
        "job default/b min=1 pods=1 cpu=1800m",
        Code.RESOURCES,
        "",
        (
            edits.request_of_pods("1", "cpu", "1800m"),
            edits.more_on_node("800m more cpu", "n1"),
            edits.toleration("example.com/gpu=yes:NoSchedule"),
            edits.taint_removed("example.com/gpu=yes:NoSchedule", "node n2"),
        ),
        never=True,
        command="kubectl taint nodes n2 example.com/gpu=yes:NoSchedule-",
    ),
    "three of four cordoned nodes are needed": Stuck(
        PLAIN,
        "node n1 cpu=2 cordoned zone=a\nnode n2 cpu=2 cordoned taint=old:\n"
        "node n3 cpu=2 cordoned\nnode n4 cpu=2 cordoned",
        "job default/b min=3 pods=3 cpu=2",
        Code.CORDONED,
        "",
        ("nodes n1, n3, n4 uncordoned",),
        command="kubectl uncordon n1 n3 n4",
    ),
    "gates of others hold back three pods": Stuck(
        PLAIN,
        "node n1 cpu=4",
        "job default/b min=3\npods default/b 3 cpu=1 gated labels=app:web",
        Code.GATED,
        jobs_words.gated(3, more=False),
        (edits.GATES_REMOVED,),
        command="kubectl patch pod b.2 -n default",
    ),
    "it names a priority class that does not exist": Stuck(
        DEFAULT,
        "node n1 cpu=4\nclass other 5",
        "job default/b min=1 pods=1 cpu=1 class=gold",
        Code.UNSUPPORTED,
        "gold",
        (edits.priority_class_created("gold", 0),),
        never=True,
        command="kubectl create priorityclass gold --value=0",
    ),
    "its queue names a priority class that does not exist, and so does it": Stuck(
        DEFAULT,
        "node n1 cpu=4\nqueue q class=silver",
        "job default/b min=1 pods=1 cpu=1 class=gold queue=q",
        Code.UNSUPPORTED,
        "silver",
        (edits.priority_class_created("silver", 1),),
        never=True,
        command="kubectl create priorityclass silver --value=1",
    ),
    "its priority class is misspelt": Stuck(
        PLAIN_PREEMPT,
        "node n1 cpu=2\nclass high 100\nclass low 1\njob default/a min=1 pods=2 cpu=1 class=low",
        "job default/b min=1 pods=1 cpu=1 class=hihg",
        Code.UNSUPPORTED,
        jobs_words.no_priority_class("hihg"),
        ("priority class high", edits.priority_class_created("hihg", 2)),
        never=True,
    ),
}
