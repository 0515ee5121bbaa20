"""What objects ask for that is not built: tables. Who builds a thing takes its entries out, and is done here.

What is asked for makes pods wait, unless people say that it is to be ignored. What is only wished for is told to the
owner of the object, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec

from vsched.errors import UNREADABLE
from vsched.mirror.ingest.annotations import NO_EFFECT, Remarks
from vsched.mirror.ingest.rules import NUMERIC_TOLERATION_OPERATORS, decoded
from vsched.mirror.wire.base import NO_BYTES, Raw
from vsched.mirror.wire.objects import NetworkTopology, PodGroup, Queue
from vsched.mirror.wire.pods import Pod
from vsched.model.ignorable import PRIORITY_CLASSES
from vsched.model.resources import PODS, ResourceAxis
from vsched.model.shape import Shape

PATHS_NAMED = 3
"""So many fields of one object are named; the others are counted."""

NODE_BOUND = (
    "persistentVolumeClaim",
    "ephemeral",
    "awsElasticBlockStore",
    "azureDisk",
    "cinder",
    "gcePersistentDisk",
    "iscsi",
    "portworxVolume",
    "rbd",
    "vsphereVolume",
)
"""Volumes that say where a pod can be: claims, and disks that kube-scheduler counts or gives to one pod at a time.

Whatever else a volume may be (configMap, secret, emptyDir, projected, downwardAPI, hostPath, image, csi, nfs, cephfs …)
is there on every node as far as schedulers know.
"""
SHARED_DEVICES = ("volcano.sh/gpu-memory", "volcano.sh/gpu-number", "volcano.sh/vgpu-")
"""How the names of resources begin that whoever binds a pod has to choose cards for."""
DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
"""How the names of resources begin that stand for a resource claim."""
DEVICES_OF_CLASS = "deviceclass/"
"""What the names of amounts have in them that queues state of resource claims."""
NUMA_POLICY = "volcano.sh/numa-topology-policy"
NUMA_POLICIES = {"": None, "none": None, "best-effort": False, "restricted": True, "single-numa-node": True}
"""Whether a policy has to be kept; None where there is nothing to keep."""
TOPOLOGY_MODE, TOPOLOGY_TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"
SOFT = "soft"
GROUP_WISHES_SAID = (
    "volcano.sh/task-topology-affinity",
    "volcano.sh/task-topology-anti-affinity",
    "volcano.sh/task-topology-task-order",
    "volcano.sh/forward-cluster",
)
"""Annotations of PodGroups: which roles had better be together, and which cluster."""
FIFO = "fifo"

_NONE: Mapping[str, str] = {}
_ELSEWHERE = frozenset(NODE_BOUND).isdisjoint
_VOLUMES = msgspec.json.Decoder(list[dict[str, Raw]])
Paths = Iterator[str]
"""Where an object asks for something."""


# -- whether pods may ask ---------------------------------------------------------------------------------------------


def _may_have_volumes(pod: Pod) -> bool:
    if pod.spec.volumes is NO_BYTES:
        return False
    try:
        return not all(map(_ELSEWHERE, _VOLUMES.decode(pod.spec.volumes)))
    except UNREADABLE:
        return True  # whoever looks closer says what is wrong with it, or that there are none


def _may_have_group(pod: Pod) -> bool:
    return pod.spec.scheduling_group is not NO_BYTES or pod.spec.workload_ref is not NO_BYTES


def _is_annotated(pod: Pod) -> bool:
    return NUMA_POLICY in (pod.metadata.annotations or _NONE)


# -- where pods ask -------------------------------------------------------------------------------------------------


def _volumes(pod: Pod) -> Paths:
    volumes = decoded(pod.spec.volumes, list[dict[str, Raw]], "spec.volumes")
    for number, volume in enumerate(volumes or ()):
        for kind in NODE_BOUND:
            if kind in volume and bytes(volume[kind]) != b"null":
                yield f"spec.volumes[{number}].{kind}"


def _claims(pod: Pod) -> Paths:
    for number, _ in enumerate(decoded(pod.spec.resource_claims, list[Raw], "spec.resourceClaims") or ()):
        yield f"spec.resourceClaims[{number}]"


def _scheduling_groups(pod: Pod) -> Paths:
    spec = pod.spec
    for raw, path in ((spec.scheduling_group, "spec.schedulingGroup"), (spec.workload_ref, "spec.workloadRef")):
        if decoded(raw, dict[str, Raw], path):
            yield path


def _numa(pod: Pod) -> Paths:
    if _numa_policy(pod) is True:
        yield f"metadata.annotations[{NUMA_POLICY}]"


def _numa_wishes(pod: Pod) -> Paths:
    if _numa_policy(pod) is False:
        yield f"metadata.annotations[{NUMA_POLICY}]"


def _numeric_tolerations(pod: Pod) -> Paths:
    raw = bytes(pod.spec.tolerations)
    if b'"Gt"' not in raw and b'"Lt"' not in raw:
        return
    for number, toleration in enumerate(decoded(pod.spec.tolerations, list[dict[str, Any]], "spec.tolerations") or ()):
        if toleration.get("operator") in NUMERIC_TOLERATION_OPERATORS:
            yield f"spec.tolerations[{number}]"


def _numa_policy(pod: Pod) -> bool | None:
    return NUMA_POLICIES.get((pod.metadata.annotations or _NONE).get(NUMA_POLICY, ""), True)


def _own_topology(annotations: Mapping[str, str]) -> Paths:
    mode = annotations.get(TOPOLOGY_MODE)
    if mode is not None and mode.lower() != SOFT:
        yield f"metadata.annotations[{TOPOLOGY_MODE}]"
    elif mode is None and TOPOLOGY_TIER in annotations:
        yield f"metadata.annotations[{TOPOLOGY_TIER}]"


# -- where PodGroups and Queues ask ---------------------------------------------------------------------------------


def _group_topology(group: PodGroup) -> Paths:
    if _is_required(group.spec.network_topology):
        yield "spec.networkTopology"
    for number, part in enumerate(group.spec.sub_group_policy or ()):
        if _is_required(part.network_topology):
            yield f"spec.subGroupPolicy[{number}].networkTopology"


def _group_topology_wishes(group: PodGroup) -> Paths:
    if group.spec.network_topology is not None and not _is_required(group.spec.network_topology):
        yield "spec.networkTopology"
    for number, part in enumerate(group.spec.sub_group_policy or ()):
        if part.network_topology is not None and not _is_required(part.network_topology):
            yield f"spec.subGroupPolicy[{number}].networkTopology"


def _is_required(topology: NetworkTopology | None) -> bool:
    return topology is not None and topology.mode != SOFT


def _sub_groups(group: PodGroup) -> Paths:
    for number, _ in enumerate(group.spec.sub_group_policy or ()):
        yield f"spec.subGroupPolicy[{number}]"


def _annotated_wishes(group: PodGroup) -> Paths:
    for name in GROUP_WISHES_SAID:
        if name in (group.metadata.annotations or _NONE):
            yield f"metadata.annotations[{name}]"


def _queue_wishes(queue: Queue) -> Paths:
    if queue.spec.dequeue_strategy == FIFO:
        yield "spec.dequeueStrategy"
    if queue.spec.extend_clusters:
        yield "spec.extendClusters"
    spec = queue.spec
    guarantee = spec.guarantee.resource if spec.guarantee is not None else None
    stated = {"capability": spec.capability, "deserved": spec.deserved, "guarantee.resource": guarantee}
    for field, amounts in stated.items():
        yield from (f"spec.{field}[{name[:80]}]" for name in amounts or () if DEVICES_OF_CLASS in name)


# -- the tables -----------------------------------------------------------------------------------------------------

POD_ASKS: tuple[tuple[str, Callable[[Pod], bool], Callable[[Pod], Paths]], ...] = (
    ("volumes", _may_have_volumes, _volumes),
    ("claims", lambda pod: pod.spec.resource_claims is not NO_BYTES, _claims),
    ("scheduling-groups", _may_have_group, _scheduling_groups),
    ("numa", _is_annotated, _numa),
)
"""What pods may ask for: as what it is ignored, whether a pod may ask for it at all, and where it does.

Most pods ask for nothing of this, and every one of them that waits is looked at.
"""
OWN_GROUP_ASKS: tuple[tuple[str, Callable[[Mapping[str, str]], Paths]], ...] = (("topology", _own_topology),)
"""The same of the annotations of pods that name no PodGroup, and of their workloads."""
RESOURCES: tuple[tuple[str, str], ...] = (("claims", DEVICE_CLASS), *(("devices", name) for name in SHARED_DEVICES))
"""Resources that a request cannot be met of by counting: as what that is ignored, and how their names begin."""
GROUP_ASKS: tuple[tuple[str, Callable[[PodGroup], Paths]], ...] = (
    ("topology", _group_topology),
    ("subgroups", _sub_groups),
)

POD_WISHES: tuple[tuple[Callable[[Pod], bool], Callable[[Pod], Paths]], ...] = (
    (_is_annotated, _numa_wishes),
    (lambda pod: pod.spec.tolerations is not NO_BYTES, _numeric_tolerations),
)
GROUP_WISHES: tuple[Callable[[PodGroup], Paths], ...] = (_group_topology_wishes, _annotated_wishes)
QUEUE_WISHES: tuple[Callable[[Queue], Paths], ...] = (_queue_wishes,)


def asked_by_pod(pod: Pod, shape: Shape, axis: ResourceAxis, ignored: Collection[str]) -> str:
    """Why a pod waits that asks for what is not built, empty where it does not."""
    found: list[tuple[str, str]] = []
    for word, may_ask, paths in POD_ASKS:
        if may_ask(pod) and word not in ignored:
            found += [(word, path) for path in paths(pod)]
    for column, _ in shape.request:
        if column > PODS:
            found += _asked_of_resource(axis.names[column], ignored)
    return sentence(found) if found else ""


def _asked_of_resource(name: str, ignored: Collection[str]) -> list[tuple[str, str]]:
    path = f"resources.requests[{name[:80]}]"
    return [(word, path) for word, start in RESOURCES if word not in ignored and name.startswith(start)]


def asked_by_group(group: PodGroup, ignored: Collection[str]) -> str:
    """Why the pods of a PodGroup wait that asks for what is not built, empty where it does not."""
    return sentence([(word, path) for word, paths in GROUP_ASKS if word not in ignored for path in paths(group)])


def asked_of_own_group(annotations: Mapping[str, str], ignored: Collection[str]) -> str:
    """The same of pods that name no PodGroup, by their own annotations and those of their workload."""
    return sentence(
        [(word, path) for word, paths in OWN_GROUP_ASKS if word not in ignored for path in paths(annotations)]
    )


def sentence(found: list[tuple[str, str]]) -> str:
    """The fields, and how people have them ignored; empty where there are none."""
    if not found:
        return ""
    paths = ", ".join(path for _, path in found[:PATHS_NAMED])
    more = f" and {len(found) - PATHS_NAMED} more" if len(found) > PATHS_NAMED else ""
    words = ",".join(dict.fromkeys(word for word, _ in found))
    return f"{paths}{more}: not supported yet ({ignoring(words)})"


def no_such_class(name: str, ignored: Collection[str] | None = None) -> str:
    """What is said of a PriorityClass that does not exist; of an object that waits for it, also how that is ignored.

    Empty where it is ignored.
    """
    lines = f"spec.priorityClassName: PriorityClass {name[:80]} does not exist"
    if ignored is None:
        return lines
    return "" if PRIORITY_CLASSES in ignored else f"{lines} ({ignoring(PRIORITY_CLASSES)})"


def ignoring(words: str) -> str:
    """How people have something ignored."""
    return f"--ignore-unsupported {words} ignores it"


def remark_wishes_of_pod(pod: Pod, remarks: Remarks) -> None:
    """Remark on each wish of a pod that nothing comes of."""
    for may_wish, paths in POD_WISHES:
        if may_wish(pod):
            remark_wishes((paths,), pod, remarks)


def remark_wishes(wishes: tuple[Callable[[Any], Paths], ...], found: object, remarks: Remarks) -> tuple[str, ...]:
    """Remark on each wish of an object that nothing comes of; returns the lines."""
    lines = tuple(f"{path}: {NO_EFFECT}" for paths in wishes for path in paths(found))
    remarks += lines[:PATHS_NAMED]
    return lines[:PATHS_NAMED]
