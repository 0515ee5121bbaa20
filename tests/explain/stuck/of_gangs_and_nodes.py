"""Gangs, nodes and topology: situations in which what pods ask for and what nodes have do not meet."""

from __future__ import annotations

from tests.explain.stuck.case import GI, GROUPS, Case
from tests.support.hypernodes import hypernode_object
from tests.support.plans import Manifest, policy_from
from vsched.explain.edits.jobs import SetHighestTier, SetMinMember, SetRoleMinimum
from vsched.explain.edits.nodes import AddNodes, SetNodeAmount, Uncordon
from vsched.explain.edits.others import EndJobs
from vsched.explain.edits.pods import AddPods, SetRequest
from vsched.explain.edits.queues import AddNodeGroup
from vsched.explain.edits.rules import DropRule, Tolerate
from vsched.explain.edits.subgroups import SetMinSubGroups, SetSubGroupSize
from vsched.framework.codes import Code

HOSTNAME = "kubernetes.io/hostname"
USAGE = policy_from(
    """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: nodeorder}]
- plugins: [{name: usage, arguments: {thresholds: {mem: 70}}}]
"""
)
KEEPING = policy_from(
    """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}]
- plugins:
  - name: resource-strategy-fit
    arguments:
      proportional.enable: true
      proportional.resources: [example.com/gpu]
      proportional.resourceProportion: {example.com/gpu.cpu: 2}
"""
)
RACKS = "\n".join(f"node n{number} cpu=4" for number in range(1, 5))
TREE_OF_RACKS: tuple[Manifest, ...] = (
    hypernode_object("r1", 1, "n1", "n2", tier_name="rack"),
    hypernode_object("r2", 1, "n3", "n4", tier_name="rack"),
    hypernode_object("blk", 2, "^r1", "^r2", tier_name="block"),
)


def affine(kind: str, key: str = HOSTNAME, **labels: str) -> dict[str, object]:
    """A required term of pod affinity or anti-affinity."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def near(key: str, operator: str, *values: str, field: bool = False) -> dict[str, object]:
    """A required term of node affinity."""
    one = {"key": key, "operator": operator, "values": list(values)}
    term = {"matchFields" if field else "matchExpressions": [one]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    }


def spread(**fields: object) -> dict[str, object]:
    one = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"job": "b"}},
    }
    return {"topologySpreadConstraints": [one | fields]}


CASES: dict[str, Case] = {
    "a launcher and workers that do not fit together beside what runs": Case(
        "node gpu-0 cpu=4 gpu=1\nnode gpu-1 cpu=4 gpu=1\nnode cpu-0 cpu=4\njob ns/o min=1 pods=1 cpu=4 on=cpu-0 "
        "phase=Running\njob ns/b min=3\npods ns/b 2 cpu=2 gpu=1 role=worker\npods ns/b 1 cpu=4 role=launcher",
        Code.GANG_SIZE,
        "the gang needs 3, 2 fit|roles worker and launcher|for lack of cpu and example.com/gpu",
        [(SetNodeAmount("gpu-0", "cpu", 6000),), (SetMinMember("ns/b", 2),)],
    ),
    "a launcher and workers that would not fit together on empty nodes": Case(
        "node gpu-0 cpu=4 gpu=1\nnode cpu-0 cpu=2\njob ns/b min=2\npods ns/b 1 cpu=1 gpu=1 role=worker\n"
        "pods ns/b 1 cpu=4 role=launcher",
        Code.GANG_SIZE,
        "the gang needs 2, 1 fits|roles worker and launcher together need 5 cpu|with room for such a pod have 4 free",
        [(SetMinMember("ns/b", 1),)],
        never=True,
    ),
    "a launcher and workers for which nodes of two kinds are missing": Case(
        "node gpu-0 cpu=2 gpu=1\nnode cpu-0 cpu=4\njob ns/o min=1 phase=Running\npods ns/o 1 cpu=2 gpu=1 on=gpu-0\n"
        "pods ns/o 1 cpu=4 on=cpu-0\njob ns/b min=2\npods ns/b 1 cpu=1 gpu=1 role=worker\n"
        "pods ns/b 1 cpu=4 role=launcher",
        Code.RESOURCES,
        "the gang needs 2, none fit: 2 nodes have too little cpu",
        [(AddNodes("gpu-0", 1), AddNodes("cpu-0", 1))],
    ),
    "nobody makes the pods that the gang lacks": Case(
        "node n1 cpu=8\njob ns/b min=5 pods=3 cpu=1 age=90",
        Code.GANG_INCOMPLETE,
        "3 of|5 pods",
        [(AddPods("ns/b", "b.0", 2),), (SetMinMember("ns/b", 3),)],
        never=True,
    ),
    "the workers of a role ask for more accelerators than there are": Case(
        "node n1 cpu=8 gpu=2\njob ns/b min=4 roles=ps:1,worker:3\npods ns/b 1 cpu=1 role=ps\n"
        "pods ns/b 3 cpu=1 gpu=1 role=worker",
        Code.ROLE_MINIMUM,
        "worker|3|2",
        [(SetRoleMinimum("ns/b", "worker", 2, 3),), (SetNodeAmount("n1", "example.com/gpu", 3000),)],
        never=True,
    ),
    "the role of its pods is misspelt": Case(
        "node n1 cpu=8\njob ns/b min=2 roles=ps:1,worker:1\npods ns/b 1 cpu=1 role=ps\npods ns/b 1 cpu=1 role=wroker",
        Code.GANG_INCOMPLETE,
        "worker|0 of the 1",
        [(AddPods("ns/b", "b.0", 1, "worker"),)],
        also="1 pod has role wroker, which minTaskMember does not name",
    ),
    "a gang that lost a pod, and the node has become too small for it": Case(
        "node n1 cpu=5\njob ns/b min=3 phase=Running\npods ns/b 2 cpu=2 on=n1\npods ns/b 1 cpu=2",
        Code.RESOURCES,
        "cpu",
        [(SetNodeAmount("n1", "cpu", 6000),)],
        never=True,
    ),
    "one pod of the gang has finished, and of the others one fits": Case(
        "node n1 cpu=1\njob ns/b min=3 phase=Running\npods ns/b 1 cpu=1 on=n1 succeeded restart=Never\n"
        "pods ns/b 2 cpu=1",
        Code.GANG_SIZE,
        "2|1",
        [(SetMinMember("ns/b", 2),)],
        never=True,
    ),
    "an elastic job that runs has no room for one pod more": Case(
        "node n1 cpu=4\njob ns/b min=2 phase=Running\npods ns/b 2 cpu=2 on=n1\npods ns/b 1 cpu=2",
        Code.RESOURCES,
        "cpu",
        [(SetNodeAmount("n1", "cpu", 6000),)],
        pod="b.2",
    ),
    "one pod of two is larger than the node, beside the other": Case(
        "node n1 cpu=8\njob ns/b min=2\npods ns/b 1 cpu=1\npods ns/b 1 cpu=9",
        Code.GANG_SIZE,
        "needs 2, 1 fits|9 cpu|8",
        [(SetMinMember("ns/b", 1),), (SetRequest("ns/b", "cpu", 7000),)],
        never=True,
    ),
    "pods that ask for nothing, and a node with a taint": Case(
        "node n1 cpu=4 taint=gpu:yes\njob ns/b min=1 pods=1",
        Code.TAINTS,
        "no node fits: 1 node is tainted {gpu: yes}",
        [(Tolerate("ns/b", "gpu", "yes"),)],
        never=True,
    ),
    "a gang of pods that ask for nothing, and a node with a taint": Case(
        "node n1 cpu=4 taint=gpu:yes\njob ns/b min=2 pods=2",
        Code.TAINTS,
        "the gang needs 2, none fit: 1 node is tainted {gpu: yes}",
        [(Tolerate("ns/b", "gpu", "yes"),)],
        never=True,
    ),
    "the only node is not ready": Case(
        "node n1 cpu=4 taint=node.kubernetes.io/not-ready\njob ns/b pods=1 cpu=1",
        Code.TAINTS,
        "not-ready",
        [(AddNodes("n1", 1),)],
    ),
    "more local disk than any node has": Case(
        "node n1 cpu=4 disk=10Gi\njob ns/b pods=1 cpu=1 disk=16Gi",
        Code.RESOURCES,
        "16Gi|ephemeral-storage|10Gi",
        [(SetRequest("ns/b", "ephemeral-storage", 10 * GI),)],
        never=True,
    ),
    "huge pages that no node has": Case(
        "node n1 cpu=4\njob ns/b pods=1 cpu=1",
        Code.RESOURCES,
        "hugepages-2Mi",
        [],
        spec={
            "containers": [
                {
                    "name": "main",
                    "resources": {
                        "requests": {"cpu": "1", "hugepages-2Mi": "1Gi"},
                        "limits": {"hugepages-2Mi": "1Gi"},
                    },
                }
            ]
        },
        never=True,
    ),
    "a gang of four, and a node that takes two pods": Case(
        "node n1 cpu=8 pods=2\njob ns/b min=4 pods=4 cpu=1",
        Code.GANG_SIZE,
        "needs 4|2",
        [(SetMinMember("ns/b", 2),), (SetNodeAmount("n1", "pods", 4),)],
        never=True,
    ),
    "the overhead of its runtime class makes it too large": Case(
        "node n1 cpu=4\njob ns/b pods=1 cpu=4",
        Code.RESOURCES,
        "4500m|4",
        [(SetRequest("ns/b", "cpu", 4000),)],
        spec={"overhead": {"cpu": "500m"}, "runtimeClassName": "kata"},
        never=True,
    ),
    "an init container asks for more than any node has": Case(
        "node n1 cpu=4\njob ns/b pods=1 cpu=1",
        Code.RESOURCES,
        "6 cpu|4",
        [(SetRequest("ns/b", "cpu", 4000),)],
        spec={"initContainers": [{"name": "load", "resources": {"requests": {"cpu": "6"}}}]},
        never=True,
    ),
    "a sidecar makes it too large": Case(
        "node n1 cpu=4\njob ns/b pods=1 cpu=3",
        Code.RESOURCES,
        "5 cpu|4",
        [(SetNodeAmount("n1", "cpu", 5000),)],
        spec={"initContainers": [{"name": "log", "restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}}]},
        never=True,
    ),
    "a taint that evicts, of the effect NoExecute": Case(
        "job ns/b pods=1 cpu=1",
        Code.TAINTS,
        "maintenance",
        [(Tolerate("ns/b", "maintenance", "", "NoExecute"),)],
        more=[
            {
                "kind": "Node",
                "metadata": {"name": "n1", "labels": {HOSTNAME: "n1"}},
                "spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
            }
        ],
        never=True,
    ),
    "it tolerates another value of the taint": Case(
        "node n1 cpu=4 taint=gpu:a100\njob ns/b pods=1 cpu=1",
        Code.TAINTS,
        "gpu: a100",
        [(Tolerate("ns/b", "gpu", "a100"),)],
        spec={"tolerations": [{"key": "gpu", "operator": "Equal", "value": "h100", "effect": "NoSchedule"}]},
        never=True,
    ),
    "its node affinity excludes the only node": Case(
        "node n1 cpu=4\njob ns/b pods=1 cpu=1",
        Code.SELECTOR,
        "node selector or affinity",
        [(DropRule("ns/b", "nodeSelector"),)],
        spec=near(HOSTNAME, "NotIn", "n1"),
        never=True,
        also="its node affinity asks for kubernetes.io/hostname notin (n1)",
    ),
    "it is for a node that is gone": Case(
        "node n1 cpu=4\njob ns/b pods=1 cpu=1",
        Code.SELECTOR,
        "requested node name",
        [(DropRule("ns/b", "nodeSelector"),)],
        spec=near("metadata.name", "In", "n9", field=True),
        never=True,
        also="its node affinity asks for node n9, which does not exist",
    ),
    "the only node that its selector matches is cordoned": Case(
        "node n1 cpu=4 zone=a cordoned\nnode n2 cpu=4 zone=b\nnode n3 cpu=4 zone=b\n"
        "job ns/b pods=1 cpu=1 selector=zone:a",
        Code.CORDONED,
        "1|cordoned",
        [(DropRule("ns/b", "nodeSelector"),), (Uncordon(("n1",)),)],
        also="its node selector is zone=a",
    ),
    "it wants to be beside a database that is not there": Case(
        "node n1 cpu=4\njob ns/b pods=1 cpu=1",
        Code.POD_AFFINITY,
        "affinity",
        [(DropRule("ns/b", "podAffinity"),)],
        spec=affine("podAffinity", app="db"),
        also="asks for a pod with app=db with the same kubernetes.io/hostname, and no such pod is on a node",
    ),
    "its database is in a zone that is full": Case(
        "node n1 cpu=2 zone=a\nnode n2 cpu=4 zone=b\njob x/db phase=Running\npods x/db 1 cpu=2 on=n1 labels=app:db\n"
        "job ns/b pods=1 cpu=1",
        Code.RESOURCES,
        "cpu|affinity",
        [
            (SetNodeAmount("n1", "cpu", 3000),),
            (AddNodes("n1", 1),),
            (DropRule("ns/b", "podAffinity"),),
        ],
        spec={
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "labelSelector": {"matchLabels": {"app": "db"}},
                            "topologyKey": "zone",
                            "namespaces": ["x"],
                        }
                    ]
                }
            }
        },
    ),
    "three that keep apart, and two nodes": Case(
        "node n1 cpu=4\nnode n2 cpu=4\njob ns/b min=3 pods=3 cpu=1 apart=b",
        Code.GANG_SIZE,
        "needs 3|2",
        [(SetMinMember("ns/b", 2),), (DropRule("ns/b", "podAntiAffinity"),), (AddNodes("n1", 1),)],
        never=True,
    ),
    "somebody who runs keeps it away": Case(
        "node n1 cpu=4\njob ns/a phase=Running\npods ns/a 1 cpu=1 on=n1 apart=b\njob ns/b pods=1 cpu=1",
        Code.POD_AFFINITY,
        "anti-affinity",
        [(AddNodes("n1", 1),)],
    ),
    "it has to spread over three zones, and there are two": Case(
        "node n1 cpu=4 zone=a\nnode n2 cpu=4 zone=b\njob ns/b min=3 pods=3 cpu=1",
        Code.GANG_SIZE,
        "needs 3|2|spread",
        [(SetMinMember("ns/b", 2),), (DropRule("ns/b", "topologySpread"),)],
        spec=spread(minDomains=3),
        also="ask for 3 domains by zone (minDomains), and there are 2",
    ),
    "it has to spread over two zones, and one is full": Case(
        "node n1 cpu=2 zone=a\nnode n2 cpu=4 zone=b\njob x/a phase=Running\npods x/a 2 cpu=1 on=n1\n"
        "job ns/b min=3 pods=3 cpu=1",
        Code.GANG_SIZE,
        "needs 3, 1 fits: |spread",
        [(SetMinMember("ns/b", 1),), (DropRule("ns/b", "topologySpread"),)],
        spec=spread(),
        also="3 pods ask for 1 cpu each, 0 free on node n1: x/a holds 2 cpu",
    ),
    "nodes have no label of the zones that it spreads over": Case(
        "node n1 cpu=4\nnode n2 cpu=4\njob ns/b pods=1 cpu=1",
        Code.SPREAD,
        "spread",
        [(DropRule("ns/b", "topologySpread"),)],
        spec=spread(),
        never=True,
        also="the label zone: 2 of 2 nodes lack it",
    ),
    "two with the same host port, and one node": Case(
        "node n1 cpu=4\njob ns/b min=2 pods=2 cpu=1 port=9000",
        Code.GANG_SIZE,
        "needs 2|1",
        [(SetMinMember("ns/b", 1),), (DropRule("ns/b", "hostPorts"),), (AddNodes("n1", 1),)],
        never=True,
    ),
    "the memory of the nodes is used": Case(
        "node n1 cpu=8\nusage n1 cpu=10 memory=91\njob ns/b pods=1 cpu=1",
        Code.USAGE,
        "memory|70",
        [],
        USAGE,
    ),
    "the nodes of its group are full, and those of another free": Case(
        "node n1 cpu=2 volcano.sh/nodegroup-name=g1\nnode n2 cpu=8 volcano.sh/nodegroup-name=g2\n"
        "queue q required=g1\njob x/a phase=Running queue=q\npods x/a 2 cpu=1 on=n1\njob ns/b pods=1 cpu=1 queue=q",
        Code.RESOURCES,
        "cpu|node group",
        [(AddNodeGroup("q", "g2"),)],
        GROUPS,
    ),
    "two nodes with two taints, and both are needed": Case(
        "node n1 cpu=2 taint=team:x\nnode n2 cpu=2 taint=pool:y\njob ns/b min=2 pods=2 cpu=2",
        Code.TAINTS,
        "team: x|pool: y",
        [(Tolerate("ns/b", "team", "x"), Tolerate("ns/b", "pool", "y"))],
        never=True,
    ),
    "what is idle is kept for those who need accelerators": Case(
        "node n1 cpu=4 gpu=2\njob ns/b pods=1 cpu=1",
        Code.KEPT,
        "example.com/gpu",
        [],
        KEEPING,
    ),
    "a gang is larger than any rack": Case(
        f"{RACKS}\njob ns/b min=5 pods=5 cpu=2 topology=hard tier=1",
        Code.TOPOLOGY,
        "rack|4 of 5",
        [(SetMinMember("ns/b", 4),), (SetHighestTier("ns/b", 2),)],
        more=TREE_OF_RACKS,
        never=True,
    ),
    "the racks are taken in part": Case(
        f"{RACKS}\njob x/a phase=Running\npods x/a 1 cpu=4 on=n1\njob x/c phase=Running\npods x/c 1 cpu=4 on=n3\n"
        "job ns/b min=4 pods=4 cpu=2 topology=hard tier=1",
        Code.TOPOLOGY,
        "rack|2 of 4",
        [(SetHighestTier("ns/b", 2),), (EndJobs(("x/a",)),)],
        more=TREE_OF_RACKS,
        also="4 pods ask for 2 cpu each, 4 free on 2 nodes, 4 at most on one (n2): x/a holds 4 cpu",
    ),
    "no tier has the name that it asks for": Case(
        f"{RACKS}",
        Code.TOPOLOGY,
        "rak",
        [],
        more=[
            *TREE_OF_RACKS,
            {
                "kind": "PodGroup",
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "metadata": {"name": "b", "namespace": "ns"},
                "spec": {
                    "minMember": 1,
                    "queue": "default",
                    "networkTopology": {"mode": "hard", "highestTierName": "rak"},
                },
            },
            {
                "kind": "Pod",
                "metadata": {
                    "name": "b.0",
                    "namespace": "ns",
                    "annotations": {"scheduling.k8s.io/group-name": "b"},
                },
                "spec": {
                    "schedulerName": "vsched",
                    "containers": [{"name": "m", "resources": {"requests": {"cpu": "1"}}}],
                },
            },
        ],
        never=True,
    ),
    "nodes with room are in no rack": Case(
        f"{RACKS}\nnode n5 cpu=8\njob x/a phase=Running\npods x/a 1 cpu=4 on=n1\npods x/a 1 cpu=4 on=n2\n"
        "pods x/a 1 cpu=4 on=n3\npods x/a 1 cpu=4 on=n4\njob ns/b min=2 pods=2 cpu=2 topology=hard tier=1",
        Code.TOPOLOGY,
        "rack|0 of 2",
        [(EndJobs(("x/a",)),)],
        more=TREE_OF_RACKS,
    ),
    "two sub-groups of three, and racks for two each": Case(
        "node n1 cpu=2\nnode n2 cpu=2\njob ns/b min=6 topology=hard tier=2\n"
        "pods ns/b 3 cpu=1 labels=rack:x\npods ns/b 3 cpu=1 labels=rack:y",
        Code.GANG_SIZE,
        "needs 6|4",
        [(SetMinMember("ns/b", 4),)],
        more=[
            hypernode_object("r1", 1, "n1", tier_name="rack"),
            hypernode_object("r2", 1, "n2", tier_name="rack"),
            hypernode_object("blk", 2, "^r1", "^r2", tier_name="block"),
        ],
        never=True,
    ),
    "sub-groups of three pods are needed whole, and one pod of one is missing": Case(
        "node n1 cpu=8\njob ns/b min=6 subGroups=rack:3:2 age=90\npods ns/b 3 cpu=1 labels=rack:x age=90\n"
        "pods ns/b 2 cpu=1 labels=rack:y age=90",
        Code.GANG_INCOMPLETE,
        "1 of 2 sub-groups of 3|rack/y lacks 1",
        [
            (AddPods("ns/b", "b.3", 1),),
            (SetMinSubGroups("ns/b", 0, 1, 3),),
            (SetSubGroupSize("ns/b", 0, 2, 4),),
        ],
        never=True,
    ),
}
