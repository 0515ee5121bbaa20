"""Manifests of volumes and of what volumes depend on, as short as they can be told.

They are plain dictionaries: ``Cluster(manifests=...)`` and ``Cluster.apply`` take them, and ``builders.read`` decodes
them for the mirror. ``fields`` of each function are laid over what it makes.
"""

from __future__ import annotations

from typing import Any

from tests.support.builders import Fields, merged

DRIVER = "csi.example.com"
"""The CSI driver of all these objects, unless they name another."""
CLASS = "standard"
"""The storage class of all these objects, unless they name another."""
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def storage_class(
    name: str = CLASS, *, waits: bool = True, provisioner: str = DRIVER, zones: tuple[str, ...] = (), **fields: Any
) -> Fields:
    """A StorageClass that waits for the first consumer, or binds at once; ``zones`` are its allowedTopologies."""
    base: Fields = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "provisioner": provisioner,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }
    if zones:
        base["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}]
    return merged(base, fields)


def claim(
    name: str = "data",
    size: str = "1Gi",
    *,
    namespace: str = "ns",
    storage_class: str = CLASS,
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    volume: str = "",
    selected_node: str = "",
    **fields: Any,
) -> Fields:
    """A PersistentVolumeClaim; with a ``volume`` it is bound to it."""
    base: Fields = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "annotations": {}},
        "spec": {
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": size}},
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }
    if selected_node:
        base["metadata"]["annotations"][SELECTED_NODE] = selected_node
    if volume:
        base["metadata"]["annotations"] |= {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
        base["spec"]["volumeName"] = volume
        base["status"] |= {"accessModes": list(modes), "capacity": {"storage": size}}
    return merged(base, fields)


def volume(
    name: str = "pv",
    size: str = "1Gi",
    *,
    storage_class: str = CLASS,
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    node: str = "",
    zone: str = "",
    claim: str = "",
    driver: str = DRIVER,
    **fields: Any,
) -> Fields:
    """A PersistentVolume of a CSI driver; ``claim`` (``namespace/name``) is the one that it is bound to.

    ``node`` and ``zone`` say where pods can use it, by its node affinity.
    """
    base: Fields = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": driver, "volumeHandle": f"handle-{name}"},
        },
        "status": {"phase": "Bound" if claim else "Available"},
    }
    if claim:
        namespace, _, claimed = claim.rpartition("/")
        base["spec"]["claimRef"] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": namespace or "ns",
            "name": claimed,
            "uid": f"uid-{claimed}",
        }
    if node or zone:
        base["spec"]["nodeAffinity"] = {"required": in_topology(HOSTNAME, node) if node else in_topology(ZONE, zone)}
    return merged(base, fields)


def in_topology(key: str, *values: str) -> Fields:
    """A node selector for nodes whose label has one of these values."""
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]}


def csi_node(name: str = "n1", limits: dict[str, int] | None = None, *, topology_keys: tuple[str, ...] = ()) -> Fields:
    """The CSINode of a node: how many volumes of each driver may be attached to it."""
    drivers = [
        {"name": driver, "nodeID": name, "topologyKeys": list(topology_keys), "allocatable": {"count": count}}
        for driver, count in (limits or {DRIVER: 3}).items()
    ]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "uid": f"uid-csi-{name}"},
        "spec": {"drivers": drivers},
    }


def csi_driver(name: str = DRIVER, *, counts_capacity: bool = False, **fields: Any) -> Fields:
    """A CSIDriver; ``counts_capacity`` has the scheduler look at the CSIStorageCapacities of its classes."""
    base = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"attachRequired": True, "storageCapacity": counts_capacity},
    }
    return merged(base, fields)


def storage_capacity(
    name: str = "capacity",
    size: str = "10Gi",
    *,
    namespace: str = "kube-system",
    storage_class: str = CLASS,
    node: str = "",
    zone: str = "",
    **fields: Any,
) -> Fields:
    """A CSIStorageCapacity: what is free for a class on a node, in a zone, or anywhere."""
    topology = {HOSTNAME: node} if node else {ZONE: zone} if zone else {}
    base = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "storageClassName": storage_class,
        "nodeTopology": {"matchLabels": topology},
        "capacity": size,
    }
    return merged(base, fields)


def attachment(volume: str = "pv", node: str = "n1", *, driver: str = DRIVER, attached: bool = True) -> Fields:
    """A VolumeAttachment of a volume to a node."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"csi-{volume}-{node}", "uid": f"uid-csi-{volume}-{node}"},
        "spec": {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}},
        "status": {"attached": attached},
    }


def claim_volumes(*claims: str) -> list[Fields]:
    """``spec.volumes`` of a pod that uses these claims; each volume is called as its claim."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def ephemeral_volume(name: str = "scratch", size: str = "1Gi", *, storage_class: str = CLASS) -> Fields:
    """One of ``spec.volumes``: a generic ephemeral volume."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
    }
    return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
