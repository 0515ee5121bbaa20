"""Each rule of the checker, on decisions that keep it and on decisions that break it."""

from __future__ import annotations

import pytest

from tests.proof.said import said
from tests.support.plans import NOW, manifests, mirror, plan, policy_of
from tests.support.taking import taking
from vsched.framework.policy import Policy
from vsched.mirror.sharding import ShardDivision, narrowed
from vsched.model.claims.devices import AllocatedDevice, AllocationResult, DeviceId
from vsched.model.claims.plan import ClaimPlan, DeviceChoice
from vsched.model.plan import Bind, CycleReport, Evict, Nominate, QueueOutcome
from vsched.model.pods.status import Phase
from vsched.proof.verify import verify
from vsched.settings.proving import facts_of

GANG, PLACE = "priority gang conformance", "predicates nodeorder"
PLAIN = policy_of(GANG, PLACE)
PREEMPT = taking("enqueue, allocate, preempt, backfill", GANG, f"drf-P {PLACE}")
CAPACITY = taking("enqueue, allocate, reclaim, backfill", GANG, f"drf-P {PLACE} capacity")
IN_A_TREE = taking("enqueue, allocate, reclaim, backfill", GANG, f"drf-P {PLACE} capacity-H")
PROPORTION = taking("enqueue, allocate, reclaim, backfill", GANG, f"drf-P {PLACE} proportion")
BY_PAST_USE = taking("enqueue, allocate, backfill", f"{GANG} usage-history", f"drf-P {PLACE} proportion")
GANGS = taking("enqueue, allocate, gangpreempt, gangreclaim, backfill", f"{GANG} capacity", f"drf-P {PLACE}")

NODE = "class high 9\nnode n1 cpu=4 pods=4\nqueue a\nqueue b\n"
HELD_UP = "job ns/small min=2 pods=2 cpu=1 minResources=cpu:2 phase=Pending\n"
LOW = NODE + "job ns/low min=1 queue=a phase=Running\npods ns/low 4 cpu=1 on=n1\n"
HIGH = "job ns/high min=2 pods=2 cpu=1 queue=a class=high phase=Inqueue\n"
RIVALS = (
    LOW.replace("min=1 queue=a", "min=3 queue=a")
    + HIGH.replace("min=2 pods=2", "min=1 pods=1")
    + "job ns/other min=1 pods=1 cpu=1 queue=b phase=Inqueue\n"
)
UNGUARDED = taking(
    "enqueue, allocate, reclaim, preempt, backfill", "priority gang-P conformance", f"drf-P {PLACE} proportion"
)
BOTH = taking("enqueue, allocate, preempt, reclaim, backfill", "priority gang-P conformance", f"drf-P {PLACE} capacity")
SHORT_OF_IT = (
    "class high 9\nnode n1 cpu=4\nqueue a deserved=cpu:2\nqueue b deserved=cpu:2\n"
    "job ns/low min=0 queue=a phase=Running\npods ns/low 1 cpu=3 on=n1\n"
    "job ns/late min=1 queue=b phase=Running\npods ns/late 1 cpu=1 on=n1\npods ns/late 1 cpu=1\n"
    "job ns/high min=1 pods=1 cpu=1 queue=b class=high phase=Inqueue"
)
LACKING = (
    "node n1 cpu=4 gpu=1\nqueue a deserved=cpu:2,gpu:1\nqueue c\njob ns/low min=0 queue=c phase=Running\n"
    "pods ns/low 1 gpu=1 on=n1\npods ns/low 2 cpu=1 on=n1\n"
    "job ns/high min=2 queue=a phase=Inqueue\npods ns/high 1 cpu=1 gpu=1\npods ns/high 1 cpu=1\n"
)
GROWING = (
    "node n1 cpu=4\nqueue a deserved=cpu:4\nqueue c\njob ns/low min=0 queue=c phase=Running\n"
    "pods ns/low 1 cpu=1 on=n1\npods ns/low 1 cpu=3 on=n1\n"
)
FREED_BEFORE = (
    "class high 9\nnode n1 cpu=4 gpu=1\nqueue a deserved=cpu:4,gpu:1\nqueue b guarantee=cpu:1\nqueue c\n"
    "job ns/low min=0 queue=a phase=Running\npods ns/low 1 cpu=1 gpu=1 on=n1\npods ns/low 1 cpu=1 gpu=1\n"
    "job ns/other min=0 queue=c phase=Running\npods ns/other 2 cpu=1 on=n1\n"
    "job ns/high min=1 pods=1 cpu=1 queue=a class=high phase=Inqueue\n"
)
MOVING = policy_of(GANG, PLACE, actions="enqueue, allocate, consolidate, backfill")
MOVE = (
    "node n1 cpu=4\nnode n2 cpu=2\njob ns/a phase=Running\npods ns/a 1 cpu=2 on=n1 owned\n"
    "job ns/want min=1 pods=1 cpu=4 phase=Inqueue\n"
)
TWO = "evict low.2 preempt ns/high\nevict low.3 preempt ns/high\nkeep high.0 n1\nkeep high.1 n1\n"


@pytest.mark.parametrize(
    ("text", "decisions", "policy", "broken"),
    [
        # -- room
        pytest.param(NODE + "job ns/a min=1 pods=2 cpu=3", "bind a.0 n1", PLAIN, set(), id="what is idle can be bound"),
        pytest.param(
            NODE + "job ns/a min=1 pods=2 cpu=3",
            "bind a.0 n1\nbind a.1 n1",
            PLAIN,
            {"room: nodes hold what is bound"},
            id="a node holds no more than it has",
        ),
        pytest.param(
            NODE + "pods ns/old 1 cpu=4 on=n1 leaving\njob ns/a min=1 pods=1 cpu=3",
            "bind a.0 n1",
            PLAIN,
            {"room: nodes hold what is bound"},
            id="what is leaving still holds its room",
        ),
        pytest.param(
            NODE + "pods ns/old 1 cpu=4 on=n1 leaving\njob ns/a min=1 pods=2 cpu=3",
            "keep a.0 n1\nkeep a.1 n1",
            PLAIN,
            {"room: nodes hold what is kept"},
            id="no more is kept than there will be",
        ),
        pytest.param(
            NODE + "job ns/a min=2 pods=2 cpu=1 port=80",
            "bind a.0 n1\nbind a.1 n1",
            PLAIN,
            {"room: ports are free"},
            id="two pods on a node do not share a port",
        ),
        # -- rules
        pytest.param(
            "node n1 zone=a\njob ns/a min=1 pods=1 cpu=1 selector=zone:b",
            "bind a.0 n1",
            PLAIN,
            {"rules: bound where allowed"},
            id="a node selector is kept",
        ),
        pytest.param(
            "node n1 taint=gpu:yes\njob ns/a min=2 pods=1 cpu=1\npods ns/a 1 cpu=1 tolerates=gpu",
            "bind a.0 n1\nbind a.1 n1",
            PLAIN,
            {"rules: bound where allowed"},
            id="a taint keeps out who does not tolerate it",
        ),
        pytest.param(
            "node n1 cordoned\njob ns/a min=1 pods=1 cpu=1",
            "bind a.0 n1",
            PLAIN,
            {"rules: bound where allowed"},
            id="a cordoned node takes nobody",
        ),
        pytest.param(
            NODE + "job ns/a min=1 pods=1 cpu=1 apart=b\njob ns/b min=1 pods=1 cpu=1",
            "bind a.0 n1\nbind b.0 n1",
            PLAIN,
            {"rules: apart where asked"},
            id="anti-affinity holds for both sides",
        ),
        pytest.param(
            "node n1\nnode n2\njob ns/b min=1\npods ns/b 1 cpu=1 on=n1 apart=a\njob ns/a min=1 pods=2 cpu=1",
            "bind a.0 n1\nbind a.1 n2",
            PLAIN,
            {"rules: apart where asked"},
            id="and for a pod that runs already",
        ),
        pytest.param(
            "node n1\nnode n2\njob ns/b min=1\npods ns/b 1 cpu=1 on=n1 apart=a\njob ns/a min=1 pods=2 cpu=1",
            "bind a.0 n2\nbind a.1 n2",
            PLAIN,
            set(),
            id="but a pod does not repel itself, nor others elsewhere",
        ),
        # -- gangs
        pytest.param(
            NODE + "job ns/a min=2 pods=2 cpu=1",
            "bind a.0 n1",
            PLAIN,
            {"gangs: gangs start whole"},
            id="a gang starts with its minimum",
        ),
        pytest.param(
            NODE
            + "job ns/a min=2 roles=master:1,worker:1\npods ns/a 1 cpu=1 role=master\npods ns/a 2 cpu=1 role=worker",
            "bind a.1 n1\nbind a.2 n1",
            PLAIN,
            {"gangs: gangs start whole"},
            id="and with that of each role",
        ),
        pytest.param(
            NODE
            + "job ns/a min=2 subGroups=rack:2:1\npods ns/a 1 cpu=1 labels=rack:x\npods ns/a 2 cpu=1 labels=rack:y",
            "bind a.0 n1\nbind a.1 n1",
            PLAIN,
            {"gangs: gangs start whole"},
            id="and with the sub-groups that it needs",
        ),
        pytest.param(
            "node n1 cpu=2\npods ns/old 1 cpu=2 on=n1 leaving\njob ns/a min=2 pods=2 cpu=2",
            "keep a.0 n1",
            PLAIN,
            {"gangs: gangs keep whole"},
            id="no room is kept for a gang that cannot start",
        ),
        # -- limits
        pytest.param(
            "node n1 cpu=8\nqueue a capability=cpu:1\njob ns/a min=2 pods=2 cpu=1 queue=a",
            "bind a.0 n1\nbind a.1 n1",
            CAPACITY,
            {"limits: queues stay within capability"},
            id="a queue stays within its capability",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue up capability=cpu:1\nqueue a parent=up\njob ns/a min=2 pods=2 cpu=1 queue=a",
            "bind a.0 n1\nbind a.1 n1",
            IN_A_TREE,
            {"limits: queues stay within capability"},
            id="and within that of the queues above",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue a guarantee=cpu:2\nqueue b\nqueue c\n"
            "job ns/b min=1 pods=2 cpu=1 queue=b\njob ns/c min=1 pods=2 cpu=1 queue=c",
            "bind b.0 n1\nbind b.1 n1\nbind c.0 n1\nbind c.1 n1",
            CAPACITY,
            {"limits: guarantees are kept free"},
            id="two queues together leave free what a third is guaranteed",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue a guarantee=cpu:2\nqueue b\nqueue c\n"
            "job ns/b min=1 pods=1 cpu=1 queue=b\njob ns/a min=1 pods=2 cpu=1 queue=a\n"
            "job ns/c min=1 pods=1 cpu=1 queue=c",
            "bind b.0 n1\nbind a.0 n1\nbind a.1 n1\nbind c.0 n1",
            CAPACITY,
            set(),
            id="what is guaranteed goes to its owner",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2\nqueue a guarantee=cpu:2\nqueue b\njob ns/a min=1 queue=a phase=Running\n"
            "pods ns/a 1 cpu=4 on=n1\njob ns/b min=1 pods=1 cpu=1 queue=b",
            "bind b.0 n2",
            CAPACITY,
            set(),
            id="nothing is kept free for who has it, even beyond what a node has",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue a guarantee=cpu:2\nqueue b\njob ns/b min=1 queue=b\n"
            "pods ns/b 1 cpu=1 on=gone\npods ns/b 2 cpu=1",
            "bind b.1 n1\nbind b.2 n1",
            CAPACITY,
            set(),
            id="a pod on a node that is gone takes nothing of it",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue a guarantee=cpu:2\nqueue b\njob ns/b min=3 pods=3 cpu=1 queue=b nominated=n1",
            "bind b.0 n1\nbind b.1 n1\nbind b.2 n1",
            CAPACITY,
            set(),
            id="who was nominated before keeps its room",
        ),
        pytest.param(
            "node n1 cpu=6\nqueue a\nqueue b\njob ns/a min=1 pods=4 cpu=1 queue=a\njob ns/b min=1 pods=4 cpu=1 queue=b",
            "bind a.0 n1\nbind a.1 n1\nbind a.2 n1\nbind a.3 n1\nbind b.0 n1\nbind b.1 n1",
            PROPORTION,
            {"limits: queues get what they deserve"},
            id="a queue gets its part by weight, and no more",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue a guarantee=cpu:4 capability=cpu:2\nqueue b\njob ns/b min=1 pods=4 cpu=1 queue=b\n"
            "queue c\njob ns/c min=1 pods=4 cpu=1 queue=c\njob ns/a min=1 pods=2 cpu=1 queue=a",
            "bind b.0 n1\nbind b.1 n1\nbind b.2 n1",
            PROPORTION,
            set(),
            id="no queue deserves more than its capability, whatever it is guaranteed",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue a guarantee=cpu:9\njob ns/o min=1 queue=a phase=Running\n"
            "pods ns/o 1 cpu=1 on=gone\njob ns/a min=1 pods=4 cpu=1 queue=a",
            "bind a.0 n1\nbind a.1 n1\nbind a.2 n1\nbind a.3 n1",
            PROPORTION,
            set(),
            id="and it deserves its guarantee, even of more than there is",
        ),
        # -- victims
        pytest.param(LOW + HIGH, TWO, PREEMPT, set(), id="a gang takes the room that it needs"),
        pytest.param(
            LOW + HIGH,
            TWO + "evict low.1 preempt ns/high",
            PREEMPT,
            {"victims: nobody leaves in vain"},
            id="and no more than that",
        ),
        pytest.param(
            LOW + HIGH,
            "evict low.3 preempt ns/high\nkeep high.0 n1",
            PREEMPT,
            {"gangs: gangs keep whole", "victims: takers are complete"},
            id="or nobody leaves for it",
        ),
        pytest.param(
            LOW.replace("min=1 queue=a", "min=3 queue=a") + HIGH,
            TWO,
            PREEMPT,
            {"victims: gangs keep their minima"},
            id="a gang keeps its minimum",
        ),
        pytest.param(
            RIVALS,
            "evict low.3 reclaim ns/other\nkeep other.0 n1\nevict low.2 preempt ns/high\nkeep high.0 n1",
            UNGUARDED,
            set(),
            id="but not from an action that does not go by it, after one that does",
        ),
        pytest.param(
            RIVALS,
            "evict low.3 preempt ns/high\nkeep high.0 n1\nevict low.2 reclaim ns/other\nkeep other.0 n1",
            UNGUARDED,
            {"victims: gangs keep their minima"},
            id="nor does the latter go on from there",
        ),
        pytest.param(
            NODE + "job ns/low min=1 queue=a phase=Running roles=master:1\npods ns/low 1 cpu=4 on=n1 role=master\n"
            "pods ns/low 1 cpu=0 on=n1 role=worker\njob ns/high min=1 pods=1 cpu=1 queue=a class=high phase=Inqueue",
            "evict low.0 preempt ns/high\nkeep high.0 n1",
            PREEMPT,
            {"victims: gangs keep their minima"},
            id="and that of its roles",
        ),
        pytest.param(
            LOW + HIGH.replace("queue=a", "queue=b"),
            TWO,
            PREEMPT,
            {"victims: victims are in reach"},
            id="preempt takes within a queue",
        ),
        pytest.param(
            LOW.replace("on=n1", "on=n1 volcano.sh/preemptable=false") + HIGH,
            TWO,
            PREEMPT,
            {"victims: victims may leave"},
            id="who is not preemptable stays",
        ),
        pytest.param(
            LOW + HIGH + "pdb ns/guard selector=job:low allowed=1",
            TWO,
            PREEMPT,
            {"victims: budgets hold"},
            id="a disruption budget holds for all victims together",
        ),
        pytest.param(
            LOW.replace("queue a\nqueue b", "queue a deserved=cpu:3\nqueue b deserved=cpu:1")
            + "job ns/high min=1 pods=1 cpu=1 queue=b phase=Inqueue",
            "evict low.3 reclaim ns/high\nkeep high.0 n1",
            CAPACITY,
            set(),
            id="reclaim takes what a queue holds beyond its part",
        ),
        pytest.param(
            LOW.replace("queue a\nqueue b", "queue a deserved=cpu:4\nqueue b deserved=cpu:1")
            + "job ns/high min=1 pods=1 cpu=1 queue=b phase=Inqueue",
            "evict low.3 reclaim ns/high\nkeep high.0 n1",
            CAPACITY,
            {"victims: queues keep what they deserve"},
            id="and leaves it that",
        ),
        pytest.param(
            "node n1 cpu=6\nqueue a deserved=cpu:2\nqueue b deserved=cpu:4\n"
            "job ns/low min=0 queue=a phase=Running\npods ns/low 1 cpu=3 on=n1\n"
            "job ns/grows min=1 queue=b phase=Running\npods ns/grows 3 cpu=1 on=n1\npods ns/grows 1 cpu=1",
            "evict low.0 reclaim ns/grows\nkeep grows.3 n1",
            CAPACITY,
            {"victims: queues keep what they deserve"},
            id="a job that has its minimum leaves the others their part",
        ),
        pytest.param(
            SHORT_OF_IT,
            "evict late.0 preempt ns/high\nkeep high.0 n1\nevict low.0 reclaim ns/late\nkeep late.1 n1",
            BOTH,
            set(),
            id="but not one that has lost it to others",
        ),
        pytest.param(
            SHORT_OF_IT,
            "evict low.0 reclaim ns/late\nkeep late.1 n1\nevict late.0 preempt ns/high\nkeep high.0 n1",
            BOTH,
            {"victims: queues keep what they deserve"},
            id="unless it lost it only later",
        ),
        pytest.param(
            LACKING + "queue b guarantee=cpu:1",
            "evict low.0 reclaim ns/high\nevict low.2 reclaim ns/high\nkeep high.0 n1\nkeep high.1 n1",
            CAPACITY,
            set(),
            id="what is guaranteed to others may be all that a taker lacks of a resource",
        ),
        pytest.param(
            LACKING,
            "evict low.0 reclaim ns/high\nevict low.2 reclaim ns/high\nkeep high.0 n1\nkeep high.1 n1",
            CAPACITY,
            {"victims: queues keep what they deserve", "victims: nobody leaves in vain"},
            id="of a resource that the taker has enough of, nothing is taken",
        ),
        pytest.param(
            GROWING + "job ns/high min=1 pods=4 cpu=1 queue=a phase=Inqueue",
            "evict low.0 reclaim ns/high\nevict low.1 reclaim ns/high\nkeep high.0 n1\nkeep high.1 n1",
            CAPACITY,
            set(),
            id="nor in vain what a job may grow with until the action ends",
        ),
        pytest.param(
            GROWING + "job ns/high min=1 pods=2 cpu=1 queue=a phase=Inqueue",
            "evict low.0 reclaim ns/high\nevict low.1 reclaim ns/high\nkeep high.0 n1\nkeep high.1 n1",
            CAPACITY,
            {"victims: nobody leaves in vain"},
            id="as far as it has pods that wait",
        ),
        pytest.param(
            FREED_BEFORE,
            "evict low.0 preempt ns/high\nkeep high.0 n1\nevict other.0 reclaim ns/low\nkeep low.1 n1",
            BOTH,
            set(),
            id="what others have freed before, and do not need, is not lacking",
        ),
        pytest.param(
            LOW + HIGH,
            "evict low.1 gangpreempt ns/high\nevict low.2 gangpreempt ns/high\nevict low.3 gangpreempt ns/high\n"
            "evict low.0 gangpreempt ns/high\nkeep high.0 n1\nkeep high.1 n1",
            GANGS,
            set(),
            id="a gang that is broken up leaves as a whole, as one victim",
        ),
        # -- work
        pytest.param(
            NODE + "job ns/a min=2 pods=2 cpu=1 phase=Inqueue",
            "",
            PLAIN,
            {"work: nothing that fits waits"},
            id="a gang that fits does not wait",
        ),
        pytest.param(
            NODE + "job ns/a min=2 pods=2 cpu=3 phase=Inqueue", "", PLAIN, set(), id="one that does not fit waits"
        ),
        pytest.param(
            "node n1 cpu=4\nqueue a capability=cpu:1\njob ns/a min=2 pods=2 cpu=1 queue=a phase=Inqueue",
            "",
            CAPACITY,
            set(),
            id="one that its queue has no room for waits",
        ),
        pytest.param(
            "node n1 memory=7Gi\nqueue a\nqueue b weight=2\nqueue c weight=4\n"
            + "".join(f"job ns/{name} min=1 pods=7 memory=1Gi queue={name} phase=Inqueue\n" for name in "abc"),
            "bind b.0 n1\nbind b.1 n1\nbind c.0 n1\nbind c.1 n1\nbind c.2 n1\nbind c.3 n1",
            PROPORTION,
            {"work: nothing that fits waits"},
            id="shares are exact: the last pod of one fits",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue a\nqueue b\n"
            + "".join(f"job ns/{name} min=1 pods=4 cpu=1 queue={name} phase=Inqueue\n" for name in "ab"),
            "bind a.0 n1\nbind b.0 n1\nbind b.1 n1",
            BY_PAST_USE,
            set(),
            id="what queues deserve by past use is not worked out again",
        ),
        pytest.param(
            NODE + HELD_UP + "job ns/a min=1 pods=1 cpu=9 minResources=cpu:9 phase=Inqueue",
            "",
            PLAIN,
            {"work: nothing that fits waits"},
            id="one that fits is admitted beside one that no node can take",
        ),
        pytest.param(
            NODE + "job ns/a min=1 pods=1 cpu=9 minResources=cpu:9 phase=Inqueue\n"
            "job ns/more min=1 pods=4 cpu=1 minResources=cpu:4",
            "",
            PLAIN,
            set(),
            id="one of which a pod would do is not admitted where it says that it needs more than that",
        ),
        pytest.param(
            NODE + HELD_UP + "job ns/a min=1 minResources=cpu:4 phase=Inqueue",
            "",
            PLAIN,
            set(),
            id="but not beside one whose pods are yet to be made",
        ),
        pytest.param(
            NODE + HELD_UP + "job ns/a min=1 pods=1 cpu=1 minResources=cpu:1 phase=Inqueue",
            "bind a.0 n1",
            PLAIN,
            set(),
            id="nor in a cycle that places what was promised",
        ),
        pytest.param(
            NODE + HELD_UP.replace("cpu:2", "cpu:9"), "", PLAIN, set(), id="nor if it is to be admitted for more"
        ),
        # -- moves
        pytest.param(MOVE, "move a.0 n2 ns/want\nkeep want.0 n1", MOVING, set(), id="a pod is moved for a job"),
        pytest.param(
            MOVE.replace("owned", ""),
            "move a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"moves: moved pods are made again"},
            id="a pod that nobody makes again is not moved",
        ),
        pytest.param(
            MOVE.replace("node n2", "node n2 cordoned"),
            "move a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"moves: moved pods are made again"},
            id="nor to a node that takes nobody",
        ),
        pytest.param(
            MOVE,
            "move a.0 n1 ns/want\nkeep want.0 n1",
            MOVING,
            {"moves: moved pods are made again", "moves: moved pods have a place now"},
            id="nor to where it is",
        ),
        pytest.param(
            MOVE.replace("node n2 cpu=2", "node n2 cpu=1"),
            "move a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"moves: moved pods have a place now"},
            id="nor to a node without room for it",
        ),
        pytest.param(
            MOVE + "pods ns/b 1 cpu=2 on=n2 leaving",
            "move a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"moves: moved pods have a place now"},
            id="nor to room that another has yet to leave",
        ),
        pytest.param(
            MOVE + "job ns/b phase=Inqueue\npods ns/b 1 cpu=1",
            "bind b.0 n2\nmove a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"moves: moved pods have a place now"},
            id="nor to room that another one gets",
        ),
        pytest.param(
            MOVE,
            "move a.0 n2 ns/want",
            MOVING,
            {"victims: takers are complete"},
            id="nor for a job that gets no room",
        ),
        pytest.param(
            MOVE.replace("cpu=4 phase", "cpu=2 phase"),
            "move a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"victims: nobody leaves in vain", "work: nothing that fits waits"},
            id="nor for one that fits beside it",
        ),
        pytest.param(
            MOVE.replace("owned", "owned volcano.sh/preemptable=false"),
            "move a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"victims: victims may leave"},
            id="nor if it is not preemptable",
        ),
        pytest.param(
            MOVE + "pdb ns/guard selector=job:a allowed=0",
            "move a.0 n2 ns/want\nkeep want.0 n1",
            MOVING,
            {"victims: budgets hold"},
            id="nor against a budget",
        ),
        # -- order
        pytest.param(
            "node n1 cpu=8\nqueue a deserved=cpu:1\nqueue b deserved=cpu:1\nqueue c deserved=cpu:6\n"
            "job ns/a min=1 queue=a phase=Running\npods ns/a 4 cpu=1 on=n1\n"
            "job ns/b min=1 queue=b phase=Running\npods ns/b 4 cpu=1 on=n1\n"
            "job ns/c min=2 pods=2 cpu=1 queue=c phase=Inqueue",
            "evict a.2 reclaim ns/c\nevict a.3 reclaim ns/c\nkeep c.0 n1\nkeep c.1 n1",
            CAPACITY,
            {"order: queues give in turn"},
            id="queues give in turn",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue a deserved=cpu:1\nqueue b deserved=cpu:1\nqueue c deserved=cpu:6\n"
            "job ns/a min=1 queue=a phase=Running\npods ns/a 4 cpu=1 on=n1\n"
            "job ns/b min=1 queue=b phase=Running\npods ns/b 4 cpu=1 on=n1\npdb ns/guard selector=job:b allowed=0\n"
            "job ns/c min=2 pods=2 cpu=1 queue=c phase=Inqueue",
            "evict a.2 reclaim ns/c\nevict a.3 reclaim ns/c\nkeep c.0 n1\nkeep c.1 n1",
            CAPACITY,
            set(),
            id="queues give in turn, but for pods that a budget guards",
        ),
    ],
)
def test_what_the_checker_says(text: str, decisions: str, policy: Policy, broken: set[str]) -> None:
    assert set(said(text, decisions, policy)) == broken


@pytest.mark.parametrize(
    ("told", "broken"),
    [
        pytest.param({"cpu": 3000, "pods": 3}, False, id="what runs and what is bound"),
        pytest.param({"cpu": 4000, "pods": 4}, True, id="not what waits for room"),
        pytest.param({"cpu": 2000, "pods": 2}, True, id="all that is bound"),
    ],
)
@pytest.mark.parametrize("policy", [CAPACITY, IN_A_TREE], ids=["side by side", "in a tree"])
def test_what_a_queue_is_told_to_hold(told: dict[str, int], broken: bool, policy: Policy) -> None:
    text = LOW.replace("4 cpu=1", "3 cpu=1").replace("queue a", "queue up\nqueue a parent=up") + HIGH
    snapshot = mirror(manifests(text)).snapshot(NOW)
    names = {task.name: task for job in snapshot.jobs.values() for task in job.tasks.values()}
    evicted, bound, kept = names["low.2"], names["high.0"], names["high.1"]
    tree = policy is IN_A_TREE
    report = CycleReport(
        (Bind(bound.uid, "ns", bound.name, "n1", "ns/high"),),
        (Evict(evicted.uid, "ns", evicted.name, "n1", "ns/low", "preempt", "ns/high"),),
        (Nominate(kept.uid, "ns", kept.name, "n1", "ns/high"),),
        queues={
            "a": QueueOutcome("a", 1, allocated=told),
            "up": QueueOutcome("up", 1, subtree=told if tree else {}),
        },
    )

    found = {one.rule: one.violations for one in verify(snapshot, facts_of(policy), report)}

    assert len(found["limits: reports say what queues hold"]) == broken * (2 if tree else 1)


def test_a_pod_waits_rightly_where_admission_refused_it() -> None:
    cache = mirror(manifests(NODE + "job ns/a min=1 pods=1 cpu=1 phase=Inqueue"))
    [uid] = cache.snapshot(NOW).jobs["ns/a"].tasks
    cache.assumptions.binding_refused(uid, "denied", "n1")
    found = {one.rule: one.violations for one in verify(cache.snapshot(NOW), facts_of(PLAIN), CycleReport())}
    assert found["work: nothing that fits waits"] == ()


@pytest.mark.parametrize(("shard", "broken"), [(0, False), (1, True)], ids=["others' jobs", "its own"])
def test_who_decides_for_a_shard_answers_for_the_nominations_of_its_own_jobs(shard: int, broken: bool) -> None:
    text = """
        node n1 cpu=4
        queue ours vsched.io/shard=0
        queue theirs vsched.io/shard=1
        job ns/ours queue=ours min=0 phase=Running
        pods ns/ours 1 cpu=3 on=n1
        job ns/theirs queue=theirs min=1 phase=Inqueue
        pods ns/theirs 1 cpu=2 nominated=n1
    """
    snapshot = narrowed(mirror(manifests(text)).snapshot(NOW), ShardDivision(2), frozenset({shard}), None)
    found = {one.rule: one.violations for one in verify(snapshot, facts_of(PLAIN), CycleReport())}
    assert bool(found["room: nodes hold what is kept"]) is broken


@pytest.mark.parametrize("shared", [False, True], ids=["whole", "in parts"])
def test_a_device_goes_to_one_claim_unless_it_is_shared(shared: bool) -> None:
    snapshot = mirror(manifests(NODE + "job ns/a min=2 pods=2 cpu=1")).snapshot(NOW)
    device = AllocatedDevice("gpu", DeviceId("gpu.example.com", "n1", "gpu-0"), share="part" if shared else "")
    binds = [
        Bind(
            uid,
            "ns",
            task.name,
            "n1",
            "ns/a",
            ClaimPlan((), (DeviceChoice(f"ns/{uid}", uid, AllocationResult((device,))),)),
        )
        for uid, task in snapshot.jobs["ns/a"].tasks.items()
    ]

    found = verify(snapshot, facts_of(PLAIN), CycleReport(tuple(binds)))

    assert any(finding.violations for finding in found) is not shared


def test_a_job_whose_pods_run_may_wait_to_be_admitted_for_more() -> None:
    text = (
        "node n1 cpu=8\nqueue a capability=cpu:5\njob ns/promised min=3 minResources=cpu:3 queue=a phase=Inqueue\n"
        "job ns/runs min=0 minResources=cpu:3 queue=a phase=Pending\npods ns/runs 1 cpu=1 on=n1\npods ns/runs 3 cpu=1"
    )
    found = plan(text, CAPACITY)

    assert (found.phases()["runs"], found.bound) == (Phase.RUNNING, {})


def test_findings_count_the_decisions_that_they_are_about() -> None:
    snapshot = mirror(manifests(LOW + HIGH)).snapshot(NOW)

    found = verify(snapshot, facts_of(PREEMPT), CycleReport())

    assert {one.rule for one in found} >= {"room: nodes hold what is bound", "victims: nobody leaves in vain"}
    assert not any(one.looked_at for one in found if one.rule != "work: nothing that fits waits")


def test_a_pod_that_names_its_node_itself_takes_its_part_of_what_is_not_guaranteed() -> None:
    text = (
        "node n1\nnode n2 cpu=6\nqueue q guarantee=cpu:9\npods ns/itself 1 cpu=3 on=n1 untaken\njob ns/a pods=1 cpu=1"
    )
    assert plan(text).order == []
