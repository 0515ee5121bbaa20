"""What is read of volumes and of the objects around them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support import volumes as of
from vsched.errors import BadObject
from vsched.mirror.ingest.volumes import (
    attach_limits_of,
    attachment_of,
    capacity_of,
    driver_of,
    storage_class_of,
    volume_claim_of,
    volume_of,
)
from vsched.model import words
from vsched.model.claims.volumes import Attachment, CSIDriver, StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.pods.shape import NodeTerm, Requirement, Selector

Fields = make.Fields
GIB = 1 << 30
SINCE = "2026-08-01T10:00:00Z"
RWO = ("ReadWriteOnce",)
OLD_CLASS = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
CLAIM = VolumeClaim("ns/data", "uid-data", "standard", GIB, RWO)
VOLUME = Volume("pv", "standard", GIB, RWO, driver=of.DRIVER, handle="handle-pv")


def owner(kind: str, *, controller: bool = True) -> Fields:
    return {"metadata": {"ownerReferences": [{"kind": kind, "uid": "owner", "controller": controller}]}}


def changed(record: Any, **fields: Any) -> Any:
    return type(record)(**{name: getattr(record, name) for name in record.__struct_fields__} | fields)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(of.claim(), CLAIM, id="waits for its first pod"),
        pytest.param(
            of.claim(volume="pv"), changed(CLAIM, volume="pv", bound=True), id="bound: the volume and the annotation"
        ),
        pytest.param(
            of.claim(spec={"volumeName": "pv"}), changed(CLAIM, volume="pv"), id="a volume alone is no complete binding"
        ),
        pytest.param(
            of.claim(metadata={"annotations": {of.BIND_COMPLETED: "yes"}}), CLAIM, id="nor is the annotation alone"
        ),
        pytest.param(of.claim(selected_node="n1"), changed(CLAIM, selected_node="n1"), id="a volume is being made"),
        pytest.param(of.claim(metadata=OLD_CLASS), changed(CLAIM, storage_class="old"), id="the old annotation wins"),
        pytest.param(of.claim(spec={"volumeMode": "Block"}), changed(CLAIM, block=True), id="a block device"),
        pytest.param(
            of.claim(spec={"selector": {"matchLabels": {"tier": "gold"}}}),
            changed(CLAIM, selector=Selector((Requirement("tier", "In", ("gold",)),))),
            id="a selector of volumes",
        ),
        pytest.param(
            of.claim(spec={"selector": {}}), changed(CLAIM, selector=Selector()), id="an empty selector selects all"
        ),
        pytest.param(of.claim(status={"phase": "Lost"}), changed(CLAIM, lost=True), id="its volume is gone"),
        pytest.param(of.claim(metadata={"deletionTimestamp": SINCE}), changed(CLAIM, deleting=True), id="leaving"),
        pytest.param(of.claim(**owner("Pod")), changed(CLAIM, owner="owner"), id="made for a pod"),
        pytest.param(of.claim(**owner("Pod", controller=False)), CLAIM, id="owned, but not controlled"),
        pytest.param(of.claim(**owner("StatefulSet")), CLAIM, id="owned by something else"),
        pytest.param(
            of.claim(status={"allocatedResources": {"storage": "2Gi"}}), changed(CLAIM, allocated=2 * GIB), id="growing"
        ),
        pytest.param(
            of.claim(spec={"volumeAttributesClassName": "fast"}),
            changed(CLAIM, attributes_class="fast"),
            id="attributes",
        ),
        pytest.param(of.claim(size="1500m"), changed(CLAIM, request=2), id="part of a byte is a byte"),
    ],
)
def test_a_claim(found: Fields, expected: VolumeClaim) -> None:
    assert volume_claim_of(make.decode(found), "ns/data") == expected


IN_ZONE = (NodeTerm((Requirement(of.ZONE, "In", ("a",)),)),)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(of.volume(), VOLUME, id="available"),
        pytest.param(of.volume(status={"phase": ""}), VOLUME, id="just made"),
        pytest.param(
            of.volume(claim="data"),
            changed(VOLUME, available=False, claim="ns/data", claim_uid="uid-data"),
            id="somebody's",
        ),
        pytest.param(
            of.volume(spec={"claimRef": {"namespace": "ns", "name": "data"}}),
            changed(VOLUME, claim="ns/data"),
            id="reserved by name, as an administrator does",
        ),
        pytest.param(
            of.volume(status={"phase": "Released"}), changed(VOLUME, available=False, spent=True), id="was somebody's"
        ),
        pytest.param(
            of.volume(status={"phase": "Failed"}),
            changed(VOLUME, available=False, spent=True),
            id="could not be cleaned",
        ),
        pytest.param(
            of.volume(metadata={"deletionTimestamp": SINCE}), changed(VOLUME, available=False), id="being deleted"
        ),
        pytest.param(of.volume(zone="a"), changed(VOLUME, affinity=IN_ZONE), id="nodes of a zone reach it"),
        pytest.param(
            of.volume(spec={"nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}}}),
            changed(VOLUME, affinity=()),
            id="a term without expressions matches no node",
        ),
        pytest.param(
            of.volume(metadata={"labels": {of.ZONE: "a__b"}}),
            changed(VOLUME, labels={of.ZONE: "a__b"}),
            id="zone labels",
        ),
        pytest.param(of.volume(metadata=OLD_CLASS), changed(VOLUME, storage_class="old"), id="the old annotation wins"),
    ],
)
def test_a_volume(found: Fields, expected: Volume) -> None:
    assert volume_of(make.decode(found)) == expected


@pytest.mark.parametrize(
    ("source", "driver", "handle"),
    [
        pytest.param({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "ebs.csi.aws.com", "vol-1", id="EBS"),
        pytest.param({"gcePersistentDisk": {"pdName": "disk"}}, "pd.csi.storage.gke.io", "disk", id="GCE"),
        pytest.param({"azureDisk": {"diskURI": "/disks/d"}}, "disk.csi.azure.com", "/disks/d", id="Azure disk"),
        pytest.param({"azureFile": {"shareName": "share"}}, "file.csi.azure.com", "share", id="Azure file"),
        pytest.param({"cinder": {"volumeID": "c"}}, "cinder.csi.openstack.org", "c", id="Cinder"),
        pytest.param({"vsphereVolume": {"volumePath": "[ds] v"}}, "csi.vsphere.vmware.com", "[ds] v", id="vSphere"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, "pxd.portworx.com", "p", id="Portworx"),
        pytest.param({"nfs": {"server": "s", "path": "/"}}, "", "", id="nobody attaches it"),
    ],
)
def test_the_driver_that_attaches_a_volume_of_a_plugin_of_the_tree(source: Fields, driver: str, handle: str) -> None:
    fields = of.volume()
    del fields["spec"]["csi"]
    found = volume_of(make.decode(make.merged(fields, {"spec": source})))
    assert (found.driver, found.handle) == (driver, handle)


def test_volumes_that_are_alike_share_what_they_say() -> None:
    labels = {"labels": {"zone": "a"}}
    first = volume_of(make.decode(of.volume("a", zone="a", metadata=labels)))
    second = volume_of(make.decode(of.volume("b", zone="a", metadata=labels)))
    assert first.affinity is second.affinity
    assert first.labels is second.labels
    assert first.modes is second.modes


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(of.storage_class(), StorageClass("standard", of.DRIVER, True), id="waits"),
        pytest.param(of.storage_class(waits=False), StorageClass("standard", of.DRIVER), id="at once"),
        pytest.param(
            of.storage_class(zones=("b", "a")),
            StorageClass("standard", of.DRIVER, True, (NodeTerm((Requirement(of.ZONE, "In", ("a", "b")),)),)),
            id="in some zones",
        ),
        pytest.param(
            of.storage_class(allowedTopologies=[{"matchLabelExpressions": []}]),
            StorageClass("standard", of.DRIVER, True, (NodeTerm((Requirement("", "In"),)),)),
            id="an empty term matches no node",
        ),
    ],
)
def test_a_storage_class(found: Fields, expected: StorageClass) -> None:
    assert storage_class_of(make.decode(found)) == expected


def test_what_drivers_say() -> None:
    spec = {"preventPodSchedulingIfMissing": True}
    assert driver_of(make.decode(of.csi_driver())) == CSIDriver(of.DRIVER)
    assert driver_of(make.decode(of.csi_driver(counts_capacity=True, spec=spec))) == CSIDriver(of.DRIVER, True, True)
    fields = of.csi_node("n1", {"a": 3, "b": 0})
    fields["spec"]["drivers"] += [{"name": "c", "nodeID": "n1"}, {"name": "d", "nodeID": "n1", "allocatable": {}}]
    assert attach_limits_of(make.decode(fields)) == {"a": 3, "b": 0, "c": None, "d": None}


def test_free_capacity() -> None:
    nodes = Selector((Requirement(of.ZONE, "In", ("a",)),))
    found = of.storage_capacity(zone="a", maximumVolumeSize="1Gi")
    expected = StorageCapacity("kube-system/capacity", "standard", nodes, 10 * GIB, GIB)
    assert capacity_of(make.decode(found), "kube-system/capacity") == expected
    del found["nodeTopology"], found["capacity"], found["maximumVolumeSize"]
    assert capacity_of(make.decode(found), "k") == StorageCapacity("k", "standard")


def test_an_attachment() -> None:
    expected = Attachment("csi-pv-n1", "n1", of.DRIVER, "pv")
    assert attachment_of(make.decode(of.attachment())) == expected
    inline = make.merged(of.attachment(), {"spec": {"source": {"persistentVolumeName": None}}})
    assert attachment_of(make.decode(inline)) is None


@pytest.mark.parametrize(
    ("read", "found", "begins"),
    [
        pytest.param(
            lambda found: volume_claim_of(found, "ns/data"),
            of.claim(size="x"),
            "PersistentVolumeClaim ns/data: spec.resources.requests.storage: 'x' is not a quantity",
            id="the size of a claim",
        ),
        pytest.param(
            lambda found: volume_claim_of(found, "ns/data"),
            of.claim(spec={"selector": {"matchExpressions": [{"key": "k", "operator": "Like"}]}}),
            "PersistentVolumeClaim ns/data: spec.selector.matchExpressions[0].operator: 'Like' is unknown",
            id="the selector of a claim",
        ),
        pytest.param(
            volume_of,
            of.volume(size="-1"),
            words.negative("PersistentVolume pv: spec.capacity.storage", "-1"),
            id="the size of a volume",
        ),
        pytest.param(
            volume_of,
            of.volume(spec={"nodeAffinity": {"required": {"nodeSelectorTerms": 1}}}),
            "PersistentVolume pv: spec.nodeAffinity.required.nodeSelectorTerms: must be a list",
            id="the affinity of a volume",
        ),
        pytest.param(
            lambda found: capacity_of(found, "k"),
            of.storage_capacity(size="x"),
            "CSIStorageCapacity kube-system/capacity: capacity: 'x' is not a quantity",
            id="a capacity",
        ),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(read: Any, found: Fields, begins: str) -> None:
    with pytest.raises(BadObject) as caught:
        read(make.decode(found))
    assert str(caught.value).startswith(begins)
