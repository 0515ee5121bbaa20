"""Odd objects: what nobody in their right mind writes, and an API server lets in all the same."""

from __future__ import annotations

from random import Random
from typing import Any

from vsched.apimachinery.meta.kinds import Obj
from vsched.lab.soak.churn import QUEUES
from vsched.sim.fleet.sample_gangs import GROUP_NAME, SCHEDULER_NAME

ALONE = 0.5
"""The part of what is made that is a pod without a PodGroup of its own."""
LABELS = 200
"""How many labels some objects have."""
TEXTS = (
    *("", " ", "x", "0", "-1", "1", "true", "null", "NaN", "inf", "-inf", "1e400", "1h", "-5m", "9" * 40, "1,5", "%"),
    *(
        "{}",
        "[]",
        "[",
        '{"a":1}',
        "[1,2]",
        "a/b",
        "a=b",
        "a:b;c",
        "missing",
        "2030-01-01T00:00:00Z",
        "\u202e",
        "x" * 5000,
    ),
)
"""Values of annotations."""
ANNOTATIONS = (
    *(GROUP_NAME, "scheduling.volcano.sh/group-name", "scheduling.volcano.sh/queue-name", "vsched.io/gang"),
    *("vsched.io/gang-name", "vsched.io/wall-time", "vsched.io/expected-duration", "vsched.io/user", "vsched.io/shard"),
    *("vsched.io/preempt-min-runtime", "vsched.io/reclaim-min-runtime", "vsched.io/preemption-delay"),
    *("vsched.io/preemptibility", "vsched.io/cooperative-eviction", "vsched.io/eviction-requested"),
    *("vsched.io/eviction-deadline", "vsched.io/eviction-ready", "vsched.io/last-checkpoint", "vsched.io/gpu-milli"),
    *("vsched.io/gpu-model", "vsched.io/attempt", "vsched.io/duration", "vsched.io/exit-code", "vsched.io/scheduler"),
    *("volcano.sh/task-spec", "volcano.sh/task-index", "volcano.sh/job-name", "volcano.sh/revocable-zone"),
    *("volcano.sh/preemptable", "volcano.sh/template-uid", "volcano.sh/gpu-index", "volcano.sh/vgpu-node"),
    *(
        "volcano.sh/vgpu-time",
        "volcano.sh/vgpu-ids-new",
        "volcano.sh/devices-to-allocate",
        "volcano.sh/forward-cluster",
    ),
    *(
        "volcano.sh/vgpu-mode",
        "volcano.sh/vgpu-use-gpuuuid",
        "volcano.sh/vgpu-podgroup-policy",
        "volcano.sh/sla-waiting-time",
    ),
    *("vsched.io/arbitration-promised-until", "sla-waiting-time", "kubectl.kubernetes.io/last-applied-configuration"),
)
QUANTITIES = ("0", "1", "1n", "1m", "1500m", "1e3", "100", "1Ti", "1e18", "9223372036854775807", "8Ei", "1e30", "-1")
RESOURCES = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "nvidia.com/gpu",
    "example.com/none",
    "volcano.sh/vgpu-number",
)
COUNTS = (-(2**31), -5, -1, 0, 1, 2, 3, 1000, 2**31 - 1)
PODGROUP_QUEUES = (*QUEUES, "", "missing", "root", "default")
CLASSES = ("", "missing", "system-cluster-critical", "system-node-critical")
KEYS = ("kubernetes.io/hostname", "missing", "app")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule", "")


def pod(random: Random, name: str, namespace: str, group: str) -> Obj:
    """A pod, which may name a PodGroup."""
    metadata = {"name": name, "namespace": namespace, **_strings(random)}
    if group:
        metadata["annotations"] = {**metadata["annotations"], GROUP_NAME: group}
    requests = {random.choice(RESOURCES): random.choice(QUANTITIES) for _ in range(random.randint(0, 3))}
    container: Obj = {"name": "main", "image": "odd", "resources": {"requests": requests}}
    if random.random() < 0.3:
        container["resources"]["limits"] = {
            key: random.choice((value, random.choice(QUANTITIES))) for key, value in requests.items()
        }
    if random.random() < 0.2:
        container["ports"] = [{"containerPort": 80, "hostPort": random.choice((80, 65535))}]
    spec: Obj = {"schedulerName": SCHEDULER_NAME, "containers": [container]}
    for field, values in {
        "affinity": _affinities(name),
        "nodeSelector": ({"missing": "x"}, {"kubernetes.io/hostname": "missing"}, {}),
        "tolerations": tuple([{"operator": "Exists", "effect": effect}] for effect in EFFECTS),
        "topologySpreadConstraints": tuple([_spread(random, key, name)] for key in KEYS),
        "schedulingGates": ([{"name": "odd.example.com/gate"}],),
        "priorityClassName": CLASSES,
        "restartPolicy": ("Never", "OnFailure", "Always"),
        "terminationGracePeriodSeconds": (0, 1, 600),
        "activeDeadlineSeconds": (1, 2**31 - 1),
        "overhead": ({"cpu": "1e3"}, {}),
        "hostNetwork": (True,),
        "volumes": ([{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}],),
        "resourceClaims": ([{"name": "c", "resourceClaimName": "missing"}],),
    }.items():
        if random.random() < 0.15:
            spec[field] = random.choice(values)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def group(random: Random, name: str, namespace: str) -> Obj:
    """A PodGroup."""
    metadata = {"name": name, "namespace": namespace, **_strings(random)}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": _group_spec(random),
    }


def _group_spec(random: Random) -> Obj:
    spec: Obj = {"minMember": random.choice(COUNTS), "queue": random.choice(PODGROUP_QUEUES)}
    for field, value in {
        "minResources": {random.choice(RESOURCES): random.choice(QUANTITIES)},
        "minTaskMember": {random.choice(("main", "", "missing")): random.choice(COUNTS)},
        "priorityClassName": random.choice(CLASSES),
        "networkTopology": {
            "mode": random.choice(("hard", "soft", "odd")),
            "highestTierAllowed": random.choice(COUNTS),
        },
        "subGroupPolicy": [
            {"name": "odd", "subGroupSize": random.choice(COUNTS), "minSubGroups": random.choice(COUNTS)}
        ],
    }.items():
        if random.random() < 0.25:
            spec[field] = value
    return spec


def changed_pod(random: Random, found: Obj) -> Obj:
    """A pod with other labels and annotations, or without a gate."""
    spec = {field: value for field, value in found["spec"].items() if field != "schedulingGates"}
    return {**found, "metadata": {**found["metadata"], **_strings(random)}, "spec": spec}


def changed_group(random: Random, found: Obj) -> Obj:
    """A PodGroup with another spec."""
    return {**found, "metadata": {**found["metadata"], **_strings(random)}, "spec": _group_spec(random)}


def _strings(random: Random) -> dict[str, Any]:
    """Labels and annotations."""
    count = LABELS if random.random() < 0.1 else random.randint(0, 3)
    annotations = {random.choice(ANNOTATIONS): random.choice(TEXTS) for _ in range(random.randint(0, 4))}
    return {"labels": {"app": "odd", **{f"odd-{index}": "x" for index in range(count)}}, "annotations": annotations}


def _affinities(name: str) -> tuple[Obj, ...]:
    """Affinities that nothing can meet, or that contradict themselves."""

    def terms(*operators: str) -> Obj:
        expressions = [{"key": "kubernetes.io/os", "operator": each, **_values(each)} for each in operators]
        return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}

    own = {"labelSelector": {"matchLabels": {"app": "odd"}}, "topologyKey": "kubernetes.io/hostname"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return (
        {"nodeAffinity": {required: terms("In", "NotIn")}},
        {"nodeAffinity": {required: terms("Exists", "DoesNotExist")}},
        {"nodeAffinity": {required: terms("Gt", "Lt")}},
        {"podAffinity": {required: [own]}, "podAntiAffinity": {required: [own]}},
        {"podAntiAffinity": {required: [{**own, "labelSelector": {}, "topologyKey": "missing"}]}},
        {"podAffinity": {required: [{**own, "namespaceSelector": {}, "topologyKey": "missing"}]}},
    )


def _values(operator: str) -> Obj:
    return {
        "In": {"values": ["linux"]},
        "NotIn": {"values": ["linux"]},
        "Gt": {"values": ["1"]},
        "Lt": {"values": ["1"]},
    }.get(operator, {})


def _spread(random: Random, key: str, name: str) -> Obj:
    return {
        "maxSkew": random.choice((1, 2**31 - 1)),
        "topologyKey": key,
        "whenUnsatisfiable": random.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": "odd"}},
    }
