"""Reads and changes claims, volumes and storage classes. Pure; no object is changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from vsched.apimachinery.meta.kinds import Obj
from vsched.cel import quantities

SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
OLD_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAITS = "WaitForFirstConsumer"

CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"
CLASSES = "storage.k8s.io/storageclasses"
CSI_NODES = "storage.k8s.io/csinodes"
CSI_DRIVERS = "storage.k8s.io/csidrivers"
CAPACITIES = "storage.k8s.io/csistoragecapacities"
ATTACHMENTS = "storage.k8s.io/volumeattachments"


def annotation(obj: Obj, key: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(key, ""))


def with_annotations(obj: Obj, changes: Mapping[str, str | None]) -> Obj:
    """A copy with other annotations; None removes one."""
    metadata = obj["metadata"]
    merged = {**(metadata.get("annotations") or {}), **changes}
    return {**obj, "metadata": {**metadata, "annotations": {k: v for k, v in merged.items() if v is not None}}}


def class_name(obj: Obj) -> str:
    """The storage class of a claim or a volume; empty for none."""
    return str(obj["spec"].get("storageClassName") or "")


def asked_size(claim: Obj) -> Decimal:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantities.amount(requests.get("storage", "0"))


def size_of(volume: Obj) -> Decimal:
    return quantities.amount((volume["spec"].get("capacity") or {}).get("storage", "0"))


def is_bound(claim: Obj) -> bool:
    """Whether the controller has finished the binding of a claim."""
    return bool(claim["spec"].get("volumeName")) and bool(annotation(claim, BIND_COMPLETED))


def is_delayed(storage_class: Obj | None) -> bool:
    """Whether a scheduler chooses the volumes of a class, or the nodes to make them for."""
    return (storage_class or {}).get("volumeBindingMode") == WAITS


def waits_for_consumer(claim: Obj, storage_class: Obj | None) -> bool:
    """Whether nothing is made before a scheduler has chosen a node for the claim."""
    return is_delayed(storage_class) and not annotation(claim, SELECTED_NODE)


def claim_key_of(volume: Obj) -> str:
    """The claim (``namespace/name``) that a volume is bound to or meant for; empty for none."""
    reference = volume["spec"].get("claimRef")
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference else ""


def is_meant_for(volume: Obj, claim: Obj) -> bool:
    """Whether the volume names the claim; without a uid it names any claim of that name."""
    reference, metadata = volume["spec"].get("claimRef"), claim["metadata"]
    if not reference:
        return False
    named = reference.get("namespace") == metadata["namespace"] and reference.get("name") == metadata["name"]
    return named and reference.get("uid") in (None, "", metadata["uid"])


def belongs_to(volume: Obj, claim: Obj) -> bool:
    """Whether the volume is bound to this claim and to no later one of its name."""
    return bool((volume["spec"].get("claimRef") or {}).get("uid") == claim["metadata"]["uid"])


def claim_reference(claim: Obj) -> Obj:
    metadata = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "v1",
        "resourceVersion": metadata["resourceVersion"],
    }
