"""Volumes, the claims for them, and what limits them: pure functions of one object each; raise BadObject."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from vsched import api
from vsched.api.affinity import LabelSelector, NodeSelector
from vsched.api.base import Raw, ResourceList
from vsched.api.volumes import InTreeVolume, TopologyTerm, VolumeSpec
from vsched.errors import BadObject, BadQuantity
from vsched.mirror.ingest.bounds import DRIVERS_MAX, LABELS_MAX, MODES_MAX, VALUES_MAX, read
from vsched.mirror.ingest.memo import remembered
from vsched.mirror.ingest.metadata import naming, pod_owner_of
from vsched.mirror.ingest.rules import decoded, node_terms, selector_of
from vsched.model.amounts.counted import STORAGE, parse_counted
from vsched.model.claims.volumes import Attachment, CSIDriver, StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.names import shared
from vsched.model.pods.shape import NodeTerm, Requirement, Selector

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""The old way to name a class; it takes precedence over the field, as in Kubernetes."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
IN_TREE: tuple[tuple[str, str, str, str], ...] = (
    ("awsElasticBlockStore", "aws_elastic_block_store", "ebs.csi.aws.com", "volume_id"),
    ("azureDisk", "azure_disk", "disk.csi.azure.com", "disk_uri"),
    ("azureFile", "azure_file", "file.csi.azure.com", "share_name"),
    ("cinder", "cinder", "cinder.csi.openstack.org", "volume_id"),
    ("gcePersistentDisk", "gce_persistent_disk", "pd.csi.storage.gke.io", "pd_name"),
    ("portworxVolume", "portworx_volume", "pxd.portworx.com", "volume_id"),
    ("vsphereVolume", "vsphere_volume", "csi.vsphere.vmware.com", "volume_path"),
)
"""Plugins of the tree: their field and its name here, the CSI driver that they are migrated to, and what names the
disk."""
_NOWHERE = (NodeTerm((Requirement("", "In"),)),)
"""Terms that match no node."""

_NONE: Mapping[str, str] = {}
_NO_LABELS: dict[str, str] = {}


def volume_claim_of(found: api.PersistentVolumeClaim, key: str) -> VolumeClaim:
    """What a PersistentVolumeClaim says."""
    metadata, spec = found.metadata, found.spec
    annotations = metadata.annotations or _NONE
    with naming("PersistentVolumeClaim", metadata):
        volume = spec.volume_name or ""
        return VolumeClaim(
            key,
            metadata.uid,
            _class_of(metadata, spec.storage_class_name),
            _storage(spec.resources.requests, "spec.resources.requests"),
            _modes(spec.access_modes, "spec.accessModes"),
            spec.volume_mode == "Block",
            _selector(spec.selector, "spec.selector"),
            volume,
            bool(volume) and BIND_COMPLETED in annotations,
            shared(annotations.get(SELECTED_NODE, "")),
            found.status.phase == "Lost",
            metadata.deletion_timestamp is not None,
            pod_owner_of(metadata),
            _storage(found.status.allocated_resources, "status.allocatedResources"),
            shared(spec.volume_attributes_class_name or ""),
        )


def claim_key_of(found: api.PersistentVolume) -> str:
    """The key of the claim that a volume is for; empty where it is for none."""
    reference = found.spec.claim_ref
    return "" if reference is None else f"{reference.namespace or 'default'}/{reference.name}"


def volume_of(found: api.PersistentVolume, claim: VolumeClaim | None = None) -> Volume:
    """What a PersistentVolume says; ``claim`` is the one that it is for, if that is known: they share strings."""
    metadata, spec, phase = found.metadata, found.spec, found.status.phase or ""
    with naming("PersistentVolume", metadata):
        uid = "" if spec.claim_ref is None else spec.claim_ref.uid
        driver, handle = _source(spec)
        return Volume(
            claim.volume if claim is not None and claim.volume == metadata.name else metadata.name,
            _class_of(metadata, spec.storage_class_name),
            _storage(spec.capacity, "spec.capacity"),
            _modes(spec.access_modes, "spec.accessModes"),
            spec.volume_mode == "Block",
            phase in ("", "Available") and metadata.deletion_timestamp is None,
            claim_key_of(found) if claim is None else claim.key,
            claim.uid if claim is not None and claim.uid == uid else uid,
            None if spec.node_affinity is None else _affinity(spec.node_affinity.required),
            _labels(metadata),
            shared(driver),
            handle,
            shared(spec.volume_attributes_class_name or ""),
            phase in ("Released", "Failed"),
        )


def storage_class_of(found: api.StorageClass) -> StorageClass:
    """What a StorageClass says."""
    with naming("StorageClass", found.metadata):
        read(found.allowed_topologies, DRIVERS_MAX, "allowedTopologies")
        terms = [
            _topology(term, f"allowedTopologies[{number}]")
            for number, term in enumerate(found.allowed_topologies or ())
        ]
    # A term without expressions matches no node.
    somewhere = tuple(term for term in terms if term.expressions)
    return StorageClass(
        found.metadata.name,
        found.provisioner,
        found.volume_binding_mode == "WaitForFirstConsumer",
        somewhere or (_NOWHERE if terms else ()),
    )


def driver_of(found: api.CSIDriver) -> CSIDriver:
    """What a CSIDriver says."""
    spec = found.spec
    return CSIDriver(found.metadata.name, bool(spec.storage_capacity), bool(spec.prevent_pod_scheduling_if_missing))


def attach_limits_of(found: api.CSINode) -> Mapping[str, int | None]:
    """How many volumes of each driver a node can attach, None where there is no limit."""
    drivers = found.spec.drivers
    with naming("CSINode", found.metadata):
        read(drivers, DRIVERS_MAX, "spec.drivers")
    return {
        shared(driver.name): None if driver.allocatable is None else driver.allocatable.count
        for driver in drivers or ()
    }


def capacity_of(found: api.CSIStorageCapacity, key: str) -> StorageCapacity:
    """The free capacity of a storage class in one part of the cluster."""
    with naming("CSIStorageCapacity", found.metadata):
        at = "nodeTopology"
        nodes = selector_of(decoded(found.node_topology, LabelSelector, at), at, {})
        return StorageCapacity(
            key,
            shared(found.storage_class_name),
            nodes,
            None if found.capacity is None else _bytes(found.capacity, "capacity"),
            None if found.maximum_volume_size is None else _bytes(found.maximum_volume_size, "maximumVolumeSize"),
        )


def attachment_of(found: api.VolumeAttachment) -> Attachment | None:
    """What is attached where; None for volumes without a PersistentVolume, which kube-scheduler does not count."""
    spec = found.spec
    if not spec.source.persistent_volume_name:
        return None
    volume = shared(spec.source.persistent_volume_name)
    return Attachment(found.metadata.name, shared(spec.node_name), shared(spec.attacher), volume)


def _class_of(metadata: api.Metadata, field: str | None) -> str:
    return shared((metadata.annotations or _NONE).get(CLASS_ANNOTATION, field or ""))


def _modes(modes: list[str] | None, at: str) -> tuple[str, ...]:
    read(modes, MODES_MAX, at)
    return _same_modes(tuple(modes or ()))


@lru_cache(maxsize=64)
def _same_modes(modes: tuple[str, ...]) -> tuple[str, ...]:
    return modes


def _labels(metadata: api.Metadata) -> dict[str, str]:
    """The labels; those of equal volumes are one object."""
    read(metadata.labels, LABELS_MAX, "metadata.labels")
    return _same_labels(tuple(sorted(metadata.labels.items()))) if metadata.labels else _NO_LABELS


@lru_cache(maxsize=1024)
def _same_labels(pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(pairs)


def _source(spec: VolumeSpec) -> tuple[str, str]:
    """The CSI driver of a volume and its name of the disk; empty where no driver attaches it."""
    if spec.csi is not None:
        return spec.csi.driver, spec.csi.volume_handle
    for field, attribute, driver, name in IN_TREE:
        source = decoded(getattr(spec, attribute), InTreeVolume, f"spec.{field}")
        if source is not None:
            return driver, getattr(source, name)
    return "", ""


def _topology(term: TopologyTerm, at: str) -> NodeTerm:
    expressions = term.match_label_expressions or ()
    for number, expression in enumerate(expressions):
        read(expression.values, VALUES_MAX, f"{at}.matchLabelExpressions[{number}].values")
    return NodeTerm(tuple(Requirement(each.key, "In", tuple(sorted(set(each.values or ())))) for each in expressions))


@remembered
def _affinity(raw: Raw) -> tuple[NodeTerm, ...] | None:
    at = "spec.nodeAffinity.required"
    selector = decoded(raw, NodeSelector, at)
    return None if selector is None else node_terms(selector, at)


def _selector(raw: Raw, at: str) -> Selector | None:
    return selector_of(decoded(raw, LabelSelector, at), at, {}) if bytes(raw) else None


def _storage(resources: ResourceList | None, at: str) -> int:
    quantity = (resources or {}).get("storage")
    return 0 if quantity is None else _bytes(quantity, f"{at}.storage")


def _bytes(quantity: str | float, at: str) -> int:
    try:
        return parse_counted(STORAGE, quantity)
    except BadQuantity as error:
        raise BadObject(f"{at}{str(error).removeprefix(STORAGE)}") from None
