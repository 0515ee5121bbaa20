"""The status that a kubelet gives its node, its lease, and the taints for its conditions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import condition
from vsched.apimachinery.meta.times import format_micro_time, format_time
from vsched.apimachinery.workloads.actions import Action, Update, set_status

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_OURS = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE})

HANGS = "vsched.io/kubelet-hangs"
"""The annotation, with any value, of a node whose kubelet does nothing for its pods although the node is ready."""

DEFAULT_CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "512Gi"}
"""For a node without a capacity."""

LEASE_NAMESPACE = "kube-node-lease"

_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def ready_status(node: Obj, address: str, version: str, now: datetime) -> Obj:
    """The status of a node whose kubelet has just started; what the status already has is kept."""
    moment, name = format_time(now), node["metadata"]["name"]
    old = node.get("status") or {}
    capacity = old.get("capacity") or old.get("allocatable") or DEFAULT_CAPACITY
    given = {each["type"]: each for each in old.get("conditions") or ()}
    fresh = [
        {
            "type": type_,
            "status": status,
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
            "reason": reason,
            "message": message,
        }
        for type_, status, reason, message in _CONDITIONS
        if type_ not in given
    ]
    return {
        **old,
        "capacity": capacity,
        "allocatable": old.get("allocatable") or capacity,
        "conditions": [*given.values(), *fresh],
        "addresses": old.get("addresses")
        or [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {**node_facts(name, version), **_given_info(old)},
    }


def _given_info(status: Obj) -> Obj:
    """What a node's nodeInfo already has; the server fills an absent one with empty texts."""
    return {key: value for key, value in (status.get("nodeInfo") or {}).items() if value}


def node_facts(name: str, version: str) -> Obj:
    """status.nodeInfo of a simulated machine."""
    return {
        "machineID": name,
        "systemUUID": name,
        "bootID": name,
        "kernelVersion": "6.1.0-sim",
        "osImage": "vsched embedded cluster",
        "containerRuntimeVersion": "sim://1.0",
        "kubeletVersion": version,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def is_registered(node: Obj) -> bool:
    """Whether the kubelet has set the status. From then on it leaves the Ready condition as it is."""
    status = node.get("status") or {}
    return condition(node, "Ready") is not None and bool(status.get("allocatable")) and bool(status.get("addresses"))


def register(node: Obj, address: str, version: str, now: datetime) -> list[Action]:
    if is_registered(node):
        return []
    return set_status("nodes", node, ready_status(node, address, version, now))


def is_node_ready(node: Obj) -> bool:
    return (condition(node, "Ready") or {}).get("status") == "True"


def does_work(node: Obj) -> bool:
    """Whether the kubelet of a node does anything for its pods."""
    return is_node_ready(node) and HANGS not in (node["metadata"].get("annotations") or {})


def address_of(node: Obj) -> str:
    for each in (node.get("status") or {}).get("addresses") or ():
        if each.get("type") == "InternalIP":
            return str(each["address"])
    return "127.0.0.1"


def lease_of(node: Obj, now: datetime, seconds: int) -> Obj:
    """The lease of a node, renewed now."""
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": meta["name"], "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": meta["name"],
            "leaseDurationSeconds": seconds,
            "renewTime": format_micro_time(now),
        },
    }


def wanted_taints(node: Obj, now: datetime) -> list[Obj]:
    """The taints for the node's conditions and spec.unschedulable, and all other taints that it has."""
    ready = (condition(node, "Ready") or {}).get("status")
    wanted: list[tuple[str, str]] = []
    if ready == "False":
        wanted += [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]
    elif ready == "Unknown":
        wanted += [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]
    elif ready is None:
        wanted.append((NOT_READY, "NoSchedule"))
    if node["spec"].get("unschedulable"):
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    old: Sequence[Obj] = node["spec"].get("taints") or ()
    kept = [each for each in old if each.get("key") not in _OURS or (each["key"], each["effect"]) in wanted]
    have = {(each.get("key"), each.get("effect")) for each in kept}
    moment = format_time(now)
    return [
        *kept,
        *({"key": key, "effect": effect, "timeAdded": moment} for key, effect in wanted if (key, effect) not in have),
    ]


def retaint(node: Obj, now: datetime) -> list[Action]:
    taints = wanted_taints(node, now)
    if taints == list(node["spec"].get("taints") or ()):
        return []
    spec = {key: value for key, value in node["spec"].items() if key != "taints"}
    return [Update("nodes", {**node, "spec": {**spec, "taints": taints} if taints else spec})]
