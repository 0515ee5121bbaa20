"""The nodes, queues and pods of a trace as objects of the API.

GPUs are two resources. ``nvidia.com/gpu`` counts whole devices: a pod that takes whole GPUs asks for so many, and a
device that somebody has a part of is not offered. ``vsched.io/gpu-milli`` is the amount, 1000 a device: everybody who
uses GPUs asks for what they take of it, so shares, quotas and utilisation see parts and wholes alike.
"""

from __future__ import annotations

from datetime import datetime

from vsched.lab.trace.files import WHOLE_GPU, TraceNode, TracePod
from vsched.sim.controllers.nodes.kubelet import Addresses
from vsched.sim.controllers.nodes.node_status import ready_status
from vsched.sim.store.kinds import Obj

GPU, GPU_MILLI = "nvidia.com/gpu", "vsched.io/gpu-milli"
GPU_MODEL = "vsched.io/gpu-model"
LARGEST_FREE = "vsched.io/gpu-largest-free"
"""Labels of nodes: what their GPUs are, and how much is left of the one that has most left."""
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
NAMESPACE = "trace"
DEFAULT_QUEUE = "default"
MOST_PODS = "1000"
"""A node takes: the trace does not say, and the usual 110 is no limit of its machines."""


def queue_of(pod: TracePod) -> str:
    """Its class of service, in the letters of a queue's name."""
    return pod.qos.lower().replace("_", "-") or DEFAULT_QUEUE


def queue_object(name: str, weight: int) -> Obj:
    """A queue that shares by weight; lent out while it is idle, and taken back where the policy does so."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight, "reclaimable": True},
    }


def namespace_object() -> Obj:
    """Where all pods of a trace are."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def allocatable_of(node: TraceNode, offered: int) -> dict[str, str]:
    """What pods may ask of a node that offers so many whole GPUs."""
    amounts = {"cpu": f"{node.cpu_milli}m", "memory": f"{node.memory_mib}Mi", "pods": MOST_PODS}
    if node.gpus:
        amounts |= {GPU: str(offered), GPU_MILLI: str(node.gpus * WHOLE_GPU)}
    return amounts


def node_object(node: TraceNode, addresses: Addresses, now: datetime) -> Obj:
    """A node that is ready, with nothing on it."""
    labels = {"kubernetes.io/hostname": node.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if node.model:
        labels[GPU_MODEL] = node.model
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
    """A node's object once it offers so many whole GPUs, and a piece of so many thousandths at most."""
    metadata, status = obj["metadata"], obj["status"]
    return {
        **obj,
        "metadata": {**metadata, "labels": {**metadata["labels"], LARGEST_FREE: str(largest_free)}},
        "status": {**status, "allocatable": allocatable_of(node, offered)},
    }


def pod_object(pod: TracePod, name: str, scheduler: str) -> Obj:
    """A pod of the trace under a name of its own; one that is evicted is gone at once."""
    requests = {"cpu": f"{pod.cpu_milli}m", "memory": f"{pod.memory_mib}Mi"}
    extended = {}
    if pod.gpus:
        extended[GPU_MILLI] = str(pod.gpu_amount)
    if pod.takes_whole_gpus:
        extended[GPU] = str(pod.gpus)
    container = {
        "name": "main",
        "image": "trace",
        # Of extended resources, limits and requests are the same.
        "resources": {"requests": requests | extended, "limits": extended},
    }
    spec: Obj = {
        "schedulerName": scheduler,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    wanted = []
    if pod.models and pod.gpus:
        wanted.append({"key": GPU_MODEL, "operator": "In", "values": list(pod.models)})
    if pod.gpus and not pod.takes_whole_gpus:
        wanted.append({"key": LARGEST_FREE, "operator": "Gt", "values": [str(pod.gpu_milli - 1)]})
    if wanted:
        terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": {QUEUE_NAME: queue_of(pod)}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
