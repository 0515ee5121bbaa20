"""Objects of arbitration and storage as dictionaries."""

from __future__ import annotations

from typing import Any

from tests.support.builders import Fields, merged


def consumer(name: str = "c", *, namespace: str = "ns", **fields: Any) -> Fields:
    return merged({"kind": "Consumer", "metadata": {"name": name, "namespace": namespace}}, fields)


def bucket(name: str = "b", **fields: Any) -> Fields:
    return merged({"kind": "Bucket", "metadata": {"name": name}}, fields)


def allocation(name: str = "c", *, namespace: str = "ns", **fields: Any) -> Fields:
    return merged({"kind": "Allocation", "metadata": {"name": name, "namespace": namespace}}, fields)


def volume_claim(
    name: str = "v", size: str = "1Gi", storage_class: str | None = None, *, namespace: str = "ns", **fields: Any
) -> Fields:
    spec: Fields = {"resources": {"requests": {"storage": size}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    base = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": {"phase": "Bound"},
    }
    return merged(base, fields)


def volume(name: str = "pv", size: str = "1Gi", storage_class: str = "", **fields: Any) -> Fields:
    base = {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": size}, "storageClassName": storage_class},
        "status": {"phase": "Available"},
    }
    return merged(base, fields)


def storage_class(name: str, provisioner: str = "disks.example.com") -> Fields:
    return {"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner}


def capacity(name: str, storage_class: str, size: Any = "1Gi") -> Fields:
    base = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": storage_class,
    }
    return base if size is None else base | {"capacity": size}
