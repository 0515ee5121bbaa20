"""Volumes and devices from manifest files: what names another object by its uid names the new one."""

from __future__ import annotations

from tests.support import devices, volumes
from vsched.apimachinery.manifests.documents import Manifest
from vsched.sim.bootstrap import seed
from vsched.sim.client import LocalClient
from vsched.sim.manifests import apply_all
from vsched.sim.store.store import Store
from vsched.sim.writer import ObjectWriter


def test_a_volume_and_a_reservation_name_the_new_objects(
    store: Store, client: LocalClient, writer: ObjectWriter
) -> None:
    seed(writer)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "uid-p"},
        "spec": {"containers": [{"name": "main", "image": "i"}]},
    }
    claim = devices.allocated(devices.resource_claim(namespace="default"), "n1", "gpu-0", pods=[pod])
    found = [pod, claim, volumes.claim(namespace="default", volume="pv"), volumes.volume(claim="default/data")]
    apply_all(client, store.registry, [Manifest(each, "here") for each in found])
    stored = {
        resource: client.get(resource, namespace, name)
        for resource, namespace, name in (
            ("pods", "default", "p"),
            ("resource.k8s.io/resourceclaims", "default", "gpus"),
            ("persistentvolumeclaims", "default", "data"),
            ("persistentvolumes", "", "pv"),
        )
    }
    pod, claim, volume_claim, volume = (each or {} for each in stored.values())
    assert volume["spec"]["claimRef"]["uid"] == volume_claim["metadata"]["uid"] != "uid-data"
    assert [each["uid"] for each in claim["status"]["reservedFor"]] == [pod["metadata"]["uid"]]
    assert (volume_claim["status"]["phase"], volume["status"]["phase"]) == ("Bound", "Bound")
