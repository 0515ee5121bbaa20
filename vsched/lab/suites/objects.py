"""Objects as an API server would have them after it took them: named, with defaults, for a scheduler called vsched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from vsched.lab.suites.operations import CreateNodes, CreatePods
from vsched.lab.suites.templates import Obj, template_of
from vsched.sim.fleet.sample_gangs import SCHEDULER_NAME

CLUSTER_WIDE = frozenset(
    {
        *("Node", "Namespace", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "PriorityClass"),
        *("DeviceClass", "ResourceSlice", "DeviceTaintRule"),
    }
)
"""The kinds in templates that have no namespace."""
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
HOSTNAME = "kubernetes.io/hostname"
RESOURCE_API = "resource.k8s.io/v1"
_HELD = (("pods", "110"), ("cpu", "4"), ("memory", "32Gi"))


class Maker:
    """Makes the objects of one workload; no two of a kind have the same generated name."""

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()
        self._labelled: Counter[str] = Counter()

    def make(self, path: Path, namespace: str, count: int) -> Iterator[Obj]:
        """So many objects of a template."""
        template = template_of(path)
        for index in range(count):
            yield self.named(template.make(index, count), namespace)

    def named(self, found: Obj, namespace: str) -> Obj:
        """An object with its name and namespace."""
        metadata = found["metadata"]
        generated = metadata.pop("generateName", "")
        if not metadata.get("name"):
            prefix = generated or f"{found['kind'].lower()}-"
            metadata["name"] = f"{prefix}{self._made[prefix]:05d}"
            self._made[prefix] += 1
        if found["kind"] not in CLUSTER_WIDE:
            metadata.setdefault("namespace", namespace or "default")
        return _for_scheduler(found) if found["kind"] == "Pod" else found

    def nodes(self, operation: CreateNodes) -> Iterator[Obj]:
        """Nodes, and their CSINodes where volumes can be attached."""
        for index in range(operation.count):
            node = (
                _plain_node()
                if operation.template is None
                else template_of(operation.template).make(index, operation.count)
            )
            node = self.named(node, "")
            name = node["metadata"]["name"]
            labels = node["metadata"]["labels"] = {**(node["metadata"].get("labels") or {}), HOSTNAME: name}
            if operation.label:
                labels[operation.label] = self._label(operation, name)
            status = node["status"] = dict(node.get("status") or {})
            status.pop("phase", None)
            allocatable = dict(status.get("allocatable") or status.get("capacity") or {})
            status["allocatable"] = allocatable | dict(operation.allocatable)
            yield node
            if operation.attachable:
                yield _csi_node(name, operation)

    def _label(self, operation: CreateNodes, name: str) -> str:
        if not operation.values:
            return name
        at = self._labelled[operation.label]
        self._labelled[operation.label] += 1
        return operation.values[at % len(operation.values)]

    def pods(self, operation: CreatePods, namespace: str, first: int = 0) -> Iterator[tuple[list[Obj], Obj]]:
        """Pods, each with the volume and the claim that it has."""
        for index in range(first, first + operation.count):
            if operation.template is None:
                pod = _plain_pod()
            else:
                pod = template_of(operation.template).make(index, operation.count)
            pod = self.named(pod, namespace)
            volumes: list[Obj] = []
            if operation.claim is not None and operation.volume is not None:
                volumes = _volume(operation.volume, operation.claim, pod["metadata"]["namespace"], index)
                reference = {"claimName": volumes[1]["metadata"]["name"]}
                pod["spec"]["volumes"] = [{"name": "vol", "persistentVolumeClaim": reference}]
            yield volumes, pod


def _for_scheduler(pod: Obj) -> Obj:
    """The pod, for vsched unless it names another scheduler; its priority is that of a class, as API servers want."""
    spec = pod["spec"]
    spec.setdefault("schedulerName", SCHEDULER_NAME)
    if "priority" in spec:
        spec.setdefault("priorityClassName", f"priority-{spec['priority']}")
    for constraint in spec.get("topologySpreadConstraints") or ():
        for key in [key for key in constraint if key[:1].isupper()]:
            constraint[key[0].lower() + key[1:]] = constraint.pop(key)  # Go takes field names in any case
    return pod


def class_of(pod: Obj) -> Obj | None:
    """The PriorityClass for the priority of a pod; None where it has none."""
    if "priority" not in pod["spec"]:
        return None
    metadata = {"name": pod["spec"]["priorityClassName"]}
    found = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata}
    return {**found, "value": pod["spec"]["priority"]}


def _plain_node() -> Obj:
    held = dict(_HELD)
    ready = {"type": "Ready", "status": "True"}
    status = {"capacity": held, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "node-"}, "status": status}


def _plain_pod() -> Obj:
    spec = {"containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10.1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "pod-"}, "spec": spec}


def _csi_node(name: str, operation: CreateNodes) -> Obj:
    metadata: Obj = {"name": name}
    if operation.migrated:
        metadata["annotations"] = {MIGRATED: ",".join(operation.migrated)}
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": {"count": count}}
        for driver, count in operation.attachable.items()
    ]
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def _volume(volume_path: Path, claim_path: Path, namespace: str, index: int) -> list[Obj]:
    """A PersistentVolume and the claim it is bound to."""
    volume, claim = template_of(volume_path).make(index, 1), template_of(claim_path).make(index, 1)
    name, claim_name = f"pv-{namespace}-{index}", f"pvc-{index}"
    volume["metadata"]["name"] = name
    volume["spec"]["claimRef"] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": claim_name,
    }
    if "csi" in volume["spec"]:
        volume["spec"]["csi"] = {"volumeHandle": name, **volume["spec"]["csi"]}
    volume["status"] = {"phase": "Bound"}
    claim["metadata"] |= {"name": claim_name, "namespace": namespace}
    claim["spec"] |= {"volumeName": name, "storageClassName": ""}
    claim["status"] = {"phase": "Bound"}
    return [volume, claim]


def slice_of(driver: str, node: str, devices: int) -> Obj:
    """What a DRA driver publishes about a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"instance-{number:03d}"} for number in range(devices)]
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": listed}
    return {"apiVersion": RESOURCE_API, "kind": "ResourceSlice", "metadata": {"name": f"{node}-devices"}, "spec": spec}


def allocation_of(claim: Obj, device: tuple[str, str, str]) -> Obj:
    """The status of a claim that holds a device: its driver, its node (and pool), its name."""
    driver, node, name = device
    [request] = claim["spec"]["devices"]["requests"]
    result = {"request": request["name"], "driver": driver, "pool": node, "device": name}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "allocation": {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        }
    }


def matches(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether labels have these values."""
    return all(labels.get(key) == value for key, value in wanted.items())


def key_of(found: Obj) -> str:
    """``namespace/name``; the name alone of what has no namespace."""
    metadata = found["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
