"""The cause that is told is the one that binds: in the headline, to the pods, and where somebody asks why."""

from __future__ import annotations

import pytest

from tests.support.explained import BEFORE, explained
from tests.support.plans import DEFAULT_POLICY, plan, policy_of
from vsched.explain.records import Whereabouts
from vsched.framework.codes import Code
from vsched.framework.policy import Policy
from vsched.framework.refusal import QueueBound, Shortage
from vsched.framework.words.limits import at_limit, over_quota
from vsched.framework.words.nodes import not_registered
from vsched.framework.words.victims import budgets_forbid
from vsched.plugins.words.queues import beyond_cluster, not_open

CAPACITY = policy_of("priority gang", "predicates capacity")
QUOTAS = policy_of("gang", "overcommit resourcequota predicates proportion")
FULL = f"node n1 cpu=4\n{BEFORE} 4 cpu=1 on=n1"
GUARANTEED = "node n1 cpu=8\nqueue q\nqueue r guarantee=cpu:6"
ASKS = "pods=2 cpu=1 minResources=cpu:2"
NVIDIA = "nvidia.com/gpu.present=true"
LEAVES_Q = "what queue r is guaranteed leaves queue q 2 of 8 cpu at most: 3 asked"


@pytest.mark.parametrize(
    ("text", "policy", "state", "code", "message"),
    [
        pytest.param(
            f"job ns/a min=2 {ASKS}",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            Code.NO_NODES,
            "no nodes are known",
            id="an empty cluster is not overused",
        ),
        pytest.param(
            f"job ns/a min=2 {ASKS}",
            CAPACITY,
            Whereabouts.WAITS,
            Code.NO_NODES,
            "no nodes are known",
            id="nor does a queue without a capability have a quota there",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=8 pods=8 cpu=1 minResources=cpu:8",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            Code.RESOURCES,
            beyond_cluster([Shortage("cpu", 0, 8000, 4000)]),
            id="what is larger than the cluster is told so",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=8 pods=8 cpu=1 minResources=cpu:8",
            CAPACITY,
            Whereabouts.NEVER,
            Code.RESOURCES,
            beyond_cluster([Shortage("cpu", 0, 8000, 4000)]),
            id="whoever divides it",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=8 pods=2 cpu=1 minResources=cpu:8",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            Code.RESOURCES,
            beyond_cluster([Shortage("cpu", 0, 8000, 4000)]),
            id="however few of its pods exist",
        ),
        pytest.param(
            "node n1 cpu=4\njob ns/a min=3 pods=2 cpu=1 minResources=cpu:3",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            Code.GANG_INCOMPLETE,
            "2 of the gang's 3 pods exist",
            id="where there is room for it, missing pods are the cause",
        ),
        pytest.param(
            f"{FULL}\njob ns/a min=2 {ASKS}",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            Code.QUEUE_ADMISSION,
            "admitted jobs may ask for 4800m cpu: 4 held or reserved by them, 2 more asked",
            id="a full cluster is told with what is held",
        ),
        pytest.param(
            f"{GUARANTEED}\njob ns/a queue=q min=3 pods=3 cpu=1 minResources=cpu:3",
            CAPACITY,
            Whereabouts.NEVER,
            Code.QUEUE_SHARE,
            LEAVES_Q,
            id="a limit that nobody wrote is told by the guarantee that makes it",
        ),
        pytest.param(
            f"{GUARANTEED}\njob ns/a queue=q min=3 pods=3 cpu=1 minResources=cpu:3",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            Code.QUEUE_SHARE,
            LEAVES_Q,
            id="whoever divides the cluster, at admission",
        ),
        pytest.param(
            f"{GUARANTEED}\njob ns/a queue=q min=3 phase=Inqueue pods=3 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            Code.QUEUE_SHARE,
            LEAVES_Q,
            id="and afterwards",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue q\nqueue r guarantee=cpu:3\nqueue s guarantee=cpu:2\nqueue t guarantee=cpu:1\n"
            "job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=3",
            CAPACITY,
            Whereabouts.NEVER,
            Code.QUEUE_SHARE,
            "what queues r, s and 1 more are guaranteed leaves queue q 2 of 8 cpu at most: 3 asked",
            id="several guarantees are named, a few of them",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue q\nqueue r guarantee=cpu:4\njob x/o queue=q min=1 phase=Running\n"
            "pods x/o 3 cpu=1 on=n1\njob ns/a queue=q min=2 phase=Inqueue pods=2 cpu=1",
            CAPACITY,
            Whereabouts.WAITS,
            Code.QUEUE_CAPABILITY,
            at_limit("q", "q", Shortage("cpu", 3000, 2000, 4000), QueueBound(4000, 8000, guaranteed=("r",))),
            id="the same while others of the queue hold the rest",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue q\nqueue r guarantee=cpu:4\nqueue s\njob x/o queue=s min=1 phase=Running\n"
            "pods x/o 3 cpu=1 on=n1\njob ns/a queue=q min=2 phase=Inqueue pods=2 cpu=1",
            CAPACITY,
            Whereabouts.WAITS,
            Code.QUEUE_SHARE,
            "what queue r is guaranteed is kept free: 3 of 4 cpu held, 2 more asked",
            id="and while other queues do",
        ),
        pytest.param(
            "node n1 cpu=8\nqueue q capability=cpu:2\nqueue r guarantee=cpu:4\n"
            "job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=3",
            CAPACITY,
            Whereabouts.NEVER,
            Code.QUEUE_CAPABILITY,
            "queue q may hold 2 cpu at most: 3 asked",
            id="a limit that is written is told as such",
        ),
        pytest.param(
            f"{FULL}\nqueue q state=Closed\njob ns/a queue=q min=2 phase=Inqueue pods=2 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            Code.QUEUE_CLOSED,
            "queue q is Closed, not Open",
            id="a closed queue is the cause, however full the cluster",
        ),
        pytest.param(
            f"{FULL}\nqueue q state=Closing\njob ns/a queue=q min=2 {ASKS}",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            Code.QUEUE_CLOSED,
            "queue q is Closing, not Open",
            id="and however much was promised",
        ),
        pytest.param(
            f"{FULL}\nqueue q state=Closed\njob ns/a queue=q min=2 phase=Inqueue\npods ns/a 1 cpu=1\npods ns/a 1 cpu=2",
            CAPACITY,
            Whereabouts.WAITS,
            Code.QUEUE_CLOSED,
            "queue q is Closed, not Open",
            id="of a gang of different pods as well",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q state=Closed\njob ns/a queue=q min=3 phase=Inqueue pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            Code.QUEUE_CLOSED,
            "queue q is Closed, not Open",
            id="before pods that are missing",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q state=Closed\njob ns/a queue=q min=2 phase=Inqueue\npods ns/a 1 cpu=1\n"
            "pods ns/a 1 cpu=1 gated",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            Code.QUEUE_CLOSED,
            "queue q is Closed, not Open",
            id="and before gates",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue p state=Closed\nqueue q parent=p state=Closed\n"
            "job ns/a queue=q min=2 phase=Inqueue pods=2 cpu=1",
            CAPACITY,
            Whereabouts.WAITS,
            Code.QUEUE_CLOSED,
            not_open("q", "Closed", "p", "Closed"),
            id="a queue above that is closed is to be opened first",
        ),
        pytest.param(
            "node n1 cpu=10\nqueue q capability=cpu:4\njob x/o phase=Inqueue minResources=cpu:9\n"
            "job ns/a queue=q min=1 pods=1 cpu=5 minResources=cpu:5",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            Code.QUEUE_CAPABILITY,
            "queue q may hold 4 cpu at most: 5 asked",
            id="what lasts is told before what was promised to others",
        ),
        pytest.param(
            "node n1 cpu=10\nquota ns/small requests.cpu=4\njob x/o phase=Inqueue minResources=cpu:9\n"
            "job ns/a min=1 pods=1 cpu=5 minResources=cpu:5",
            QUOTAS,
            Whereabouts.NEVER,
            Code.QUOTA,
            over_quota("small", [("4", "requests.cpu", "0", "5")]),
            id="a quota that never has room as well",
        ),
        pytest.param(
            f"node n1 cpu=4\nnode n2 cpu=8 taint=x:y\n{BEFORE} 3 cpu=1 on=n1\njob ns/a min=1 pods=1 cpu=6",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            Code.RESOURCES,
            "no node fits: no usable node has 6 cpu (largest: 4); 1 node has too little cpu, 1 is tainted {x: y}",
            id="that no node is large enough before what others hold",
        ),
        pytest.param(
            f"node n1 cpu=4\nnode n2 cpu=4 taint=x:y\n{BEFORE} 3 cpu=1 on=n1\njob ns/a min=6 pods=6 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            Code.GANG_SIZE,
            "the gang needs 6, 1 fits, and 4 would if all nodes were empty: 1 node has too little cpu, "
            "1 is tainted {x: y}",
            id="that a gang is larger than the nodes that are open to it, too",
        ),
    ],
)
def test_what_is_told_is_the_cause(text: str, policy: Policy, state: Whereabouts, code: Code, message: str) -> None:
    decided = plan(text, policy)
    found = explained(text, policy=policy)

    assert (found.state, found.constraints[0].code, found.message) == (state, code, message)
    assert decided.message("ns/a") == message
    assert message.partition(": ")[2] in decided.why("ns/a.0") or decided.why("ns/a.0").startswith("0/")


@pytest.mark.parametrize(
    ("taint", "state"),
    [
        pytest.param("ToBeDeletedByClusterAutoscaler:1", Whereabouts.WAITS, id="a node that is about to go"),
        pytest.param("DeletionCandidateOfClusterAutoscaler:1", Whereabouts.WAITS, id="a node that may go"),
        pytest.param("node.cloudprovider.kubernetes.io/uninitialized:true", Whereabouts.WAITS, id="a node that comes"),
        pytest.param("node.kubernetes.io/unreachable", Whereabouts.WAITS, id="a node that is silent"),
        pytest.param("node.kubernetes.io/network-unavailable", Whereabouts.WAITS, id="a node without network"),
        pytest.param("node.kubernetes.io/disk-pressure", Whereabouts.WAITS, id="a node that is short of disk"),
        pytest.param("node.cilium.io/agent-not-ready:true", Whereabouts.WAITS, id="a network agent that starts"),
        pytest.param("ebs.csi.aws.com/agent-not-ready", Whereabouts.WAITS, id="a storage agent that starts"),
        pytest.param("karpenter.sh/unregistered", Whereabouts.WAITS, id="a node that karpenter waits for"),
        pytest.param("karpenter.sh/disrupted", Whereabouts.WAITS, id="a node that karpenter takes away"),
        pytest.param("startup-taint.cluster-autoscaler.kubernetes.io/x", Whereabouts.WAITS, id="a startup taint"),
        pytest.param("example.com/dedicated:ready", Whereabouts.NEVER, id="a taint that somebody put there"),
        pytest.param("karpenter.sh/capacity-type:spot", Whereabouts.NEVER, id="a kind of nodes"),
        pytest.param("nvidia.com/gpu:present", Whereabouts.NEVER, id="nodes with devices"),
    ],
)
def test_a_taint_that_passes_is_waited_for(taint: str, state: Whereabouts) -> None:
    text = f"node n1 cpu=4 taint={taint}\njob ns/a min=1 pods=1 cpu=1"

    assert explained(text).state is state
    assert explained(text, "ns/a.0").state is state


NEW = f"node n1 cpu=4 {NVIDIA} node.kubernetes.io/instance-type=g5"


@pytest.mark.parametrize(
    ("nodes", "state"),
    [
        pytest.param(NEW, Whereabouts.WAITS, id="its labels say that it has devices"),
        pytest.param(
            "node n1 cpu=4 cloud.google.com/gke-accelerator=tesla-t4", Whereabouts.WAITS, id="those of a cloud"
        ),
        pytest.param(
            "node n1 cpu=4 feature.node.kubernetes.io/pci-10de.present=true", Whereabouts.WAITS, id="of hardware"
        ),
        pytest.param(
            "node n1 cpu=4 node.kubernetes.io/instance-type=g5\nnode n2 cpu=4 nvidia=1 cordoned "
            "node.kubernetes.io/instance-type=g5",
            Whereabouts.WAITS,
            id="others of its kind have some",
        ),
        pytest.param(
            "node n1 cpu=4 nvidia.com/gpu.present=false", Whereabouts.NEVER, id="its labels say that it has none"
        ),
        pytest.param("node n1 cpu=4 app.example.com/gpus=yes", Whereabouts.NEVER, id="its labels say something else"),
        pytest.param(f"{NEW} taint=example.com/mine:yes", Whereabouts.NEVER, id="it is closed for good"),
        pytest.param(f"{NEW} taint=node.kubernetes.io/not-ready", Whereabouts.WAITS, id="it is not ready yet"),
    ],
)
@pytest.mark.parametrize("minimum", ["", " minResources=cpu:1,nvidia.com/gpu:1"], ids=["placed", "admitted"])
@pytest.mark.parametrize("policy", [DEFAULT_POLICY, CAPACITY], ids=["by weight", "by amounts"])
def test_devices_that_are_not_registered_yet_are_waited_for(
    nodes: str, state: Whereabouts, minimum: str, policy: Policy
) -> None:
    text = f"{nodes}\njob ns/a min=1 pods=1 cpu=1 nvidia=1{minimum}"
    found = explained(text, policy=policy)

    assert found.state is state
    named = not_registered(1, "nvidia.com/gpu").removeprefix("1 node ") in found.message
    assert named or state is Whereabouts.NEVER or " cordoned" in nodes


BUDGET = budgets_forbid(["x/guard"])
GUARDED = (
    "class high 9\nnode n1 cpu=4\npdb x/guard selector=job:o allowed=0\njob x/o min=1 phase=Running\n"
    "pods x/o 4 cpu=1 on=n1\njob x/a min=1 phase=Inqueue class=high pods=1 cpu=2"
)


@pytest.mark.parametrize("plugins", ["priority gang pdb", "priority gang"], ids=["with the plugin", "without it"])
def test_a_budget_that_forbids_the_victims_is_told_first_and_when_it_is_asked_again(plugins: str) -> None:
    policy = policy_of(plugins, "predicates", actions="enqueue, allocate, preempt, backfill")
    decided = plan(GUARDED, policy)
    job, pod = explained(GUARDED, "x/a", policy), explained(GUARDED, "x/a.0", policy)

    assert decided.message("x/a").startswith(f"{BUDGET}; no node fits")
    assert decided.why("x/a.0").startswith(f"{BUDGET}; 0/1 nodes are available")
    for found in (job, pod):
        assert found.message.startswith(BUDGET)
        assert found.constraints[0].code == Code.BUDGET
