"""A cluster of any size as the API server lists it: page after page of encoded objects of the usual size.

Each kind of object is encoded once with gaps for what differs, so that half a million pods are made in seconds and
nothing of a page stays once it has been read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
import orjson

from vsched.lab.bench.queue_trees import QueueTree

NODE_CPU, NODE_MEMORY_GIB, NODE_PODS = 64, 256, 256
POD_MILLIS, POD_MIB = 200, 512
"""The largest request of a pod that runs: so many pods fill a node no further than to 80 % of its cpu."""
PAGE = 500
LEVELS = 3
ZONES = 10
SHAPES = 20
POOLS = 10
FOREIGN_PERCENT, SINGLE_PERCENT = 30, 5
"""Of the running pods: those of another scheduler, and ours without a PodGroup. All others are in gangs."""
REPLICAS = 10
"""Pods of the other scheduler that share a label set."""
CREATED = b"2026-01-01T00:00:00Z"
FIELDS: dict[str, Any] = {
    f"f:{name}": {}
    for name in ("name", "image", "resources", "imagePullPolicy", "terminationMessagePath", "env", "ports", "volumes")
}

Page = tuple[str, bytes]
"""A kind, and a page of its list."""


class ClusterSize(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of a cluster."""

    nodes: int
    pods: int
    """Pods that run."""
    queues: int = 1000
    namespaces: int = 5000
    gang: int = 20
    waiting: int = 1000
    """Pods that wait for the first decision."""


def room(nodes: int) -> int:
    """How many pods may run on so many nodes, with some room left for others."""
    return nodes * (NODE_PODS - 6)


def lists(cluster: ClusterSize) -> Iterator[Page]:
    """Every list of the cluster, page after page."""
    tree = QueueTree(cluster.queues, LEVELS, cluster.nodes * NODE_CPU * 1000, cluster.nodes * NODE_MEMORY_GIB * 1024)
    yield from _pages("Namespace", (_plain(f"team-{number}") for number in range(cluster.namespaces)))
    yield from _pages("Queue", map(orjson.dumps, (*tree.branches(), *tree.leaves())))
    yield from _pages("Node", (_node(number) for number in range(cluster.nodes)))
    gangs = _gangs(cluster)
    yield from _pages("PodGroup", (_group(cluster, number, running, size) for number, running, size in gangs))
    yield from _pages("Pod", _pods(cluster))


def new_gang(cluster: ClusterSize, number: int, size: int) -> list[tuple[str, bytes]]:
    """The objects of a gang that waits and asks for what nobody has asked for; each number asks for something else."""
    name, namespace = f"new-{number}", f"team-{number % cluster.namespaces}"
    queue = f"queue-{number % cluster.queues}"
    group = GROUP % {b"name": name.encode(), b"namespace": namespace.encode(), b"queue": queue.encode(),
                     b"minimum": b"%d" % size, b"phase": b"Pending"}  # fmt: skip
    millis, mib = POD_MILLIS + 1 + number, POD_MIB + 1 + number
    pods = (_pod(namespace, f"{name}-{at}", name, OURS, "", millis, mib) for at in range(size))
    return [("PodGroup", group), *(("Pod", pod) for pod in pods)]


def _pages(kind: str, objects: Iterable[bytes]) -> Iterator[Page]:
    objects = iter(objects)
    while page := list(islice(objects, PAGE)):
        yield kind, b'{"metadata":{"resourceVersion":"1"},"items":[' + b",".join(page) + b"]}"


def _gangs(cluster: ClusterSize) -> Iterator[tuple[int, bool, int]]:
    """The number and the size of each gang, and whether it runs; the last of each kind may be smaller."""
    number = 0
    ours = cluster.pods * (100 - FOREIGN_PERCENT - SINGLE_PERCENT) // 100
    for running, pods in ((True, ours), (False, cluster.waiting)):
        for first in range(0, pods, cluster.gang):
            yield number, running, min(cluster.gang, pods - first)
            number += 1


def _pods(cluster: ClusterSize) -> Iterator[bytes]:
    nodes, at, ours = cluster.nodes, 0, 0
    for number, running, size in _gangs(cluster):
        namespace, name = f"team-{number % cluster.namespaces}", f"gang-{number}"
        for member in range(size):
            node = f"node-{at % nodes:05d}" if running else ""
            yield _pod(namespace, f"{name}-{member}", name, OURS, node, *_request(number))
            at += running
        ours += size if running else 0
    singles = cluster.pods * SINGLE_PERCENT // 100
    for number in range(cluster.pods - ours):
        namespace, node = f"team-{number % cluster.namespaces}", f"node-{(at + number) % nodes:05d}"
        if number < singles:
            yield _pod(namespace, f"single-{number}", "", SINGLE, node, *_request(number))
        else:
            app = f"web-{number // REPLICAS}"
            namespace = f"team-{number // REPLICAS % cluster.namespaces}"
            yield _pod(namespace, f"{app}-{number}", app, OTHERS, node, *_request(number))


def _request(number: int) -> tuple[int, int]:
    step = number % SHAPES
    return POD_MILLIS - 5 * step, POD_MIB - 8 * step


def _plain(name: str) -> bytes:
    return b'{"metadata":{"name":"%b","uid":"%b","resourceVersion":"1"}}' % (name.encode(), name.encode())


def _node(number: int) -> bytes:
    name = b"node-%05d" % number
    return NODE % {b"name": name, b"zone": b"zone-%d" % (number % ZONES), b"pool": b"pool-%d" % (number % POOLS)}


def _group(cluster: ClusterSize, number: int, running: bool, size: int) -> bytes:
    return GROUP % {
        b"name": b"gang-%d" % number,
        b"namespace": b"team-%d" % (number % cluster.namespaces),
        b"queue": b"queue-%d" % (number % cluster.queues),
        b"minimum": b"%d" % size,
        b"phase": b"Running" if running else b"Pending",
    }


def _pod(
    namespace: str, name: str, gang: str, template: tuple[bytes, bytes], node: str, millis: int, mib: int
) -> bytes:
    waits, runs = template
    return (runs if node else waits) % {
        b"name": name.encode(),
        b"namespace": namespace.encode(),
        b"uid": _uid(namespace, name),
        b"gang": gang.encode(),
        b"node": node.encode(),
        b"millis": b"%d" % millis,
        b"mib": b"%d" % mib,
    }


def _uid(namespace: str, name: str) -> bytes:
    """As long as uids are, and always the same for a name."""
    return f"{namespace}.{name}".encode().rjust(36, b"0")


def _template(document: dict[str, Any]) -> bytes:
    """The encoded object, whose words in ``@`` are gaps to be filled."""
    parts = orjson.dumps(document).split(b"@")
    return b"".join(b"%(" + part + b")b" if at % 2 else part for at, part in enumerate(parts))


def _managed(manager: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": CREATED.decode(),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _pod_document(scheduler: str, annotations: dict[str, str], labels: dict[str, str], runs: bool) -> dict[str, Any]:
    moment = CREATED.decode()
    container = {
        "name": "main",
        "image": "registry.example/team/work:1",
        "command": ["python", "-m", "train"],
        "env": [{"name": f"SETTING_{number}", "value": "x" * 12} for number in range(6)],
        "resources": {"requests": {"cpu": "@millis@m", "memory": "@mib@Mi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    kept = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")]  # fmt: skip
    spec: dict[str, Any] = {
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        "containers": [container],
        "restartPolicy": "Never" if annotations else "Always",
        "serviceAccountName": "default",
        "schedulerName": scheduler,
        "tolerations": kept,
        "priority": 0,
        "enableServiceLinks": True,
    }
    status: dict[str, Any] = {"phase": "Pending", "qosClass": "Burstable"}
    if runs:
        spec["nodeName"] = "@node@"
        kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        status = {
            "phase": "Running",
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": moment} for kind in kinds],
            "hostIP": "10.0.0.1",
            "podIP": "10.1.0.1",
            "podIPs": [{"ip": "10.1.0.1"}],
            "startTime": moment,
            "containerStatuses": [
                {
                    "name": "main",
                    "state": {"running": {"startedAt": moment}},
                    "ready": True,
                    "restartCount": 0,
                    "image": "registry.example/team/work:1",
                    "imageID": "sha256:" + "0" * 64,
                    "containerID": "containerd://" + "0" * 64,
                    "started": True,
                }
            ],
            "qosClass": "Burstable",
        }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "@gang@", "uid": "@uid@", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "@name@",
            "namespace": "@namespace@",
            "uid": "@uid@",
            "resourceVersion": "7",
            "creationTimestamp": moment,
            "labels": labels,
            "annotations": annotations,
            **({"ownerReferences": [owner]} if labels else {}),
            "managedFields": [_managed("controller", {"f:spec": FIELDS}), _managed("kubelet", {"f:status": FIELDS})],
        },
        "spec": spec,
        "status": status,
    }


def _node_document() -> dict[str, Any]:
    moment = CREATED.decode()
    amounts = {"cpu": str(NODE_CPU), "memory": f"{NODE_MEMORY_GIB}Gi", "pods": str(NODE_PODS)}
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    images = [{"names": [f"registry.example/team/work:{number}"], "sizeBytes": 1 << 28} for number in range(20)]
    return {
        "metadata": {
            "name": "@name@",
            "uid": "@name@",
            "resourceVersion": "7",
            "creationTimestamp": moment,
            "labels": {
                "kubernetes.io/hostname": "@name@",
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": "@zone@",
                "volcano.sh/nodegroup-name": "@pool@",
            },
            "managedFields": [_managed("kubelet", {"f:status": FIELDS})],
        },
        "spec": {"podCIDR": "10.1.0.0/24"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {"type": kind, "status": str(kind == "Ready"), "lastTransitionTime": moment} for kind in kinds
            ],
            "images": images,
        },
    }


_OF_GANG = {"scheduling.k8s.io/group-name": "@gang@"}, {"volcano.sh/job-name": "@gang@", "app": "train"}
_OF_SINGLE: tuple[dict[str, str], dict[str, str]] = {}, {}
_OF_OTHERS: tuple[dict[str, str], dict[str, str]] = {}, {"app": "@gang@", "pod-template-hash": "5d4f8c7b9d"}


def _both(scheduler: str, annotations: dict[str, str], labels: dict[str, str]) -> tuple[bytes, bytes]:
    """The pod before it has a node, and as it runs."""
    waits, runs = (_template(_pod_document(scheduler, annotations, labels, on_a_node)) for on_a_node in (False, True))
    return waits, runs


OURS = _both("vsched", *_OF_GANG)
SINGLE = _both("vsched", *_OF_SINGLE)
OTHERS = _both("default-scheduler", *_OF_OTHERS)
NODE = _template(_node_document())
GROUP = _template(
    {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": "@name@",
            "namespace": "@namespace@",
            "uid": "@namespace@/@name@",
            "resourceVersion": "7",
            "creationTimestamp": CREATED.decode(),
        },
        "spec": {"queue": "@queue@", "minMember": -1},
        "status": {"phase": "@phase@"},
    }
).replace(b"-1", b"%(minimum)b")
