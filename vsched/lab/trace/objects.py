"""The nodes, queues and pods of a trace as objects of the API.

GPUs are two resources. ``nvidia.com/gpu`` counts whole devices: pods with whole GPUs request them, and a node does not
offer a device of which a part is used. ``vsched.io/gpu-milli`` is the amount, 1000 a device: all pods with GPUs request
it, so that shares, quotas and utilisation count parts and whole GPUs alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.lab.trace.files import WHOLE_GPU, TraceGang, TraceNode, TracePod
from vsched.mirror.ingest.annotations import EXPECTED_DURATION
from vsched.mirror.ingest.implicit import GROUP_NAME
from vsched.model.amounts.resources import format_amount
from vsched.record.lines import QueueThere, Requests
from vsched.sim.controllers.nodes.kubelet import Addresses
from vsched.sim.controllers.nodes.node_status import ready_status

GPU, GPU_MILLI = "nvidia.com/gpu", "vsched.io/gpu-milli"
GPU_MODEL = "vsched.io/gpu-model"
LARGEST_FREE = "vsched.io/gpu-largest-free"
"""Labels of nodes: the model of their GPUs, and the largest free part of one."""
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
NAMESPACE = "trace"
"""Of pods whose user the trace does not name."""
DEFAULT_QUEUE = "default"
ONE_QUEUE = "all"
"""The queue of all pods where they are to come in one line."""
MOST_PODS = "1000"
"""Pods that fit on a node: the trace does not say, and the usual 110 is too few for its machines."""


def queue_of(pod: TracePod) -> str:
    """The queue of a pod: the one that the trace names, or one named after its class of service."""
    return pod.queue or pod.qos.lower().replace("_", "-") or DEFAULT_QUEUE


def queue_object(name: str, weight: int, seen: QueueThere | None = None) -> Obj:
    """A queue with a weight, as it was seen; else one whose resources others may borrow and have to return."""
    spec: Obj = {"weight": weight, "reclaimable": True}
    if seen is not None:
        spec |= {"reclaimable": seen.reclaimable, "priority": seen.priority, "parent": seen.parent}
        spec |= {"capability": _written(seen.capability), "deserved": _written(seen.deserved)}
        spec["guarantee"] = {"resource": _written(seen.guarantee)} if seen.guarantee else None
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {key: value for key, value in spec.items() if value not in ("", {}, None)},
    }


def _written(amounts: Requests) -> dict[str, str]:
    return {name: format_amount(name, amount) for name, amount in amounts.items()}


def namespace_of(pod: TracePod) -> str:
    """The namespace of a pod: its user's, where the trace names one."""
    return pod.user or NAMESPACE


def namespace_object(name: str) -> Obj:
    """A namespace of pods."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def priority_class_of(pod: TracePod) -> dict[str, str]:
    """The field that names a pod's class of priority, where the trace gives it one."""
    return {"priorityClassName": f"priority-{pod.priority}"} if pod.priority else {}


def priority_class_object(priority: int) -> Obj:
    """The class of all pods with this priority."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"priority-{priority}"},
        "value": priority,
    }


def allocatable_of(node: TraceNode, offered: int) -> dict[str, str]:
    """The allocatable amounts of a node that offers so many whole GPUs."""
    amounts = {"cpu": f"{node.cpu_milli}m", "memory": f"{node.memory_mib}Mi", "pods": MOST_PODS}
    if node.gpus:
        amounts |= {GPU: str(offered), GPU_MILLI: str(node.gpus * WHOLE_GPU)}
    return amounts


def node_object(node: TraceNode, addresses: Addresses, now: datetime) -> Obj:
    """A node that is ready and empty."""
    labels = {"kubernetes.io/hostname": node.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    labels |= dict(node.labels)
    if node.model:
        labels.setdefault(GPU_MODEL, node.model)
    if node.gpus:
        labels[LARGEST_FREE] = str(WHOLE_GPU)
    amounts = allocatable_of(node, node.gpus)
    made: Obj = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    made["status"] = ready_status(made, addresses(), "v1.36.2", now)
    return made


def offering(obj: Obj, node: TraceNode, offered: int, largest_free: int) -> Obj:
    """The node with other numbers of whole GPUs, and of thousandths in the largest free part."""
    metadata, status = obj["metadata"], obj["status"]
    return {
        **obj,
        "metadata": {**metadata, "labels": {**metadata["labels"], LARGEST_FREE: str(largest_free)}},
        "status": {**status, "allocatable": allocatable_of(node, offered)},
    }


OWNER = {"apiVersion": "traces.vsched.io/v1", "kind": "TraceJob", "controller": True}
"""Who makes a pod of the trace again that was evicted: the replay itself."""


def group_object(pod: TracePod, gang: TraceGang, name: str, queue: str) -> Obj:
    """The PodGroup of a pod's gang in a queue, with a name of its own: all its pods start, or none."""
    asked = {}
    if gang.cpu_milli:
        asked["cpu"] = f"{gang.cpu_milli}m"
    if gang.memory_mib:
        asked["memory"] = f"{gang.memory_mib}Mi"
    if gang.gpus:
        asked[GPU_MILLI] = str(gang.gpus * gang.gpu_milli)
    if pod.takes_whole_gpus:
        asked[GPU] = str(gang.gpus)
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace_of(pod)},
        "spec": {"minMember": gang.pods, "queue": queue, "minResources": asked, **priority_class_of(pod)},
    }


def pod_object(pod: TracePod, name: str, scheduler: str, queue: str, group: str = "") -> Obj:
    """A pod of the trace in a queue, with names of its own for it and its PodGroup; evicted, it ends at once."""
    requests = {"cpu": f"{pod.cpu_milli}m", "memory": f"{pod.memory_mib}Mi"}
    extended = {}
    if pod.gpus:
        extended[GPU_MILLI] = str(pod.gpu_amount)
    if pod.takes_whole_gpus:
        extended[GPU] = str(pod.gpus)
    container = {
        "name": "main",
        "image": "trace",
        # Limits and requests of extended resources have to be equal.
        "resources": {"requests": requests | extended, "limits": extended},
    }
    spec: Obj = {
        "schedulerName": scheduler,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **priority_class_of(pod),
    }
    if pod.selector:
        spec["nodeSelector"] = dict(pod.selector)
    wanted = []
    if pod.models and pod.gpus:
        wanted.append(_one_of_models(pod))
    if pod.gpus and not pod.takes_whole_gpus:
        wanted.append({"key": LARGEST_FREE, "operator": "Gt", "values": [str(pod.gpu_milli - 1)]})
    if wanted:
        spec["affinity"] = _on_nodes_with(wanted)
    annotations = {QUEUE_NAME: queue}
    if group:
        annotations[GROUP_NAME] = group
    if pod.declared_seconds:
        annotations[EXPECTED_DURATION] = f"{pod.declared_seconds}s"
    metadata: Obj = {"name": name, "namespace": namespace_of(pod), "annotations": annotations}
    metadata["ownerReferences"] = [{**OWNER, "name": name, "uid": name}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def models_affinity(pod: TracePod) -> Obj:
    """Affinity to nodes with one of the models of GPUs that a pod accepts."""
    return _on_nodes_with([_one_of_models(pod)])


def _one_of_models(pod: TracePod) -> Obj:
    return {"key": GPU_MODEL, "operator": "In", "values": list(pod.models)}


def _on_nodes_with(wanted: Sequence[Obj]) -> Obj:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [*wanted]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
