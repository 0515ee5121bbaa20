"""A pod starts only once its volumes and devices are there; until then its kubelet says what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.sim.controllers.claimed import allocate, bind, claim_of, cluster, node, phase, pod, reasons, resource_claim
from tests.support import devices, volumes
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
PVCS, ATTACHMENTS = "persistentvolumeclaims", "storage.k8s.io/volumeattachments"
CSI_NODES = "storage.k8s.io/csinodes"
DRIVER = volumes.DRIVER


@pytest.fixture
async def running() -> AsyncIterator[Cluster]:
    """Nodes na and nb in the zones a and b, each with two GPUs."""
    async with cluster([node(f"n{zone}", zone=zone) for zone in "ab"]) as found:
        found.apply([devices.resource_slice(f"n{zone}", 2) for zone in "ab"])
        yield found


def claim(name: str = "data", **more: Any) -> Obj:
    return volumes.claim(name, namespace="default", **more)


def user(name: str, *claims: str, node: str = "na") -> Obj:
    return pod(name, node, volumes=volumes.claim_volumes(*claims))


def gpu_user(name: str = "p", claim: str = "gpus", node: str = "na", **more: Any) -> Obj:
    return pod(name, node, resourceClaims=devices.pod_claims(gpu=claim), **more)


async def runs(running: Cluster, name: str = "p") -> None:
    await until(lambda: phase(running, "pods", name) == "Running")


async def waits(running: Cluster, reason: str, why: str, name: str = "p") -> None:
    """The pod does not start, and an Event says why."""
    await until(lambda: why in reasons(running, name).get(reason, ""))
    assert await running.settle()
    assert phase(running, "pods", name) == "Pending"


async def test_a_pod_starts_once_its_claim_is_bound_and_its_volume_attached(running: Cluster) -> None:
    running.apply([volumes.storage_class(), claim(), user("p", "data")])
    await waits(running, "FailedMount", 'PVC default/data has non-bound phase ("Pending")')
    running.client.patch(PVCS, "default", "data", lambda found: _with(found, volumes.SELECTED_NODE, "na"))
    await runs(running)
    (attachment,) = running.client.list(ATTACHMENTS)
    name = claim_of(running)["spec"]["volumeName"]
    assert attachment["spec"] == {"attacher": DRIVER, "nodeName": "na", "source": {"persistentVolumeName": name}}
    assert attachment["status"] == {"attached": True}
    assert reasons(running, "p")["SuccessfulAttachVolume"] == f'AttachVolume.Attach succeeded for volume "{name}" '
    running.client.delete("pods", "default", "p")
    await until(lambda: not running.client.list(ATTACHMENTS))


def _with(obj: Obj, key: str, value: str) -> Obj:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), key: value}}}


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        pytest.param([], 'persistentvolumeclaims "data" not found', id="a claim that is not there"),
        pytest.param(
            [volumes.volume(zone="b", claim="default/data"), claim(volume="pv")],
            'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
            id="a volume of another zone",
        ),
        pytest.param(
            [volumes.storage_class(), claim(spec={"volumeName": "pv"})],
            'has non-bound phase ("Pending")',
            id="a claim whose volume is not there",
        ),
    ],
)
async def test_pods_that_a_scheduler_should_not_have_bound(running: Cluster, objects: list[Obj], why: str) -> None:
    running.apply([*objects, user("p", "data")])
    await waits(running, "FailedMount", why)


async def test_a_deleted_claim_starts_no_pod(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False, zones=("a",)), claim(), user("first", "data")])
    await runs(running, "first")
    running.client.delete(PVCS, "default", "data")
    running.apply([user("p", "data")])
    await waits(running, "FailedMount", "can't start pod because PVC is being deleted")


async def test_a_claim_for_one_pod_starts_the_second_when_the_first_is_gone(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False, zones=("a",)), claim(modes=("ReadWriteOncePod",))])
    running.apply([user("first", "data")])
    await runs(running, "first")
    running.apply([user("p", "data")])
    await waits(running, "FailedMount", "already in use by another pod")
    running.client.delete("pods", "default", "first")
    await runs(running)


async def test_a_node_with_all_the_volumes_it_can_have_takes_the_next_when_one_is_free(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False, zones=("a",)), volumes.csi_node("na", {DRIVER: 2})])
    running.apply([claim(f"c{number}") for number in range(3)])
    running.apply([user(f"p{number}", f"c{number}") for number in range(3)])
    await until(lambda: [phase(running, "pods", f"p{number}") for number in range(3)].count("Running") == 2)
    assert await running.settle()
    (late,) = [name for name in ("p0", "p1", "p2") if phase(running, "pods", name) == "Pending"]
    assert "has all 2 volumes that it can have" in reasons(running, late)["FailedAttachVolume"]
    attached = [each["status"]["attached"] for each in running.client.list(ATTACHMENTS)]
    assert sorted(attached) == [False, True, True]
    running.client.delete("pods", "default", "p0" if late != "p0" else "p1")
    await runs(running, late)


async def test_a_node_that_says_so_has_a_csi_node(running: Cluster) -> None:
    limited = node("nc")
    limited["metadata"]["annotations"] = {"vsched.io/volume-limits": f"{DRIVER}=2"}
    running.apply([limited])
    await until(lambda: running.client.get(CSI_NODES, "", "nc"))
    running.client.patch("nodes", "", "nc", lambda found: _with(found, "vsched.io/volume-limits", f"{DRIVER}=5"))

    def limits() -> list[Obj]:
        found = running.client.get(CSI_NODES, "", "nc")
        assert found is not None
        return list(found["spec"]["drivers"])

    await until(lambda: limits() == [{"name": DRIVER, "nodeID": "nc", "allocatable": {"count": 5}}])
    running.client.delete("nodes", "", "nc")
    await until(lambda: running.client.get(CSI_NODES, "", "nc") is None)


async def test_two_pods_of_a_node_share_an_attachment(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False, zones=("a",)), volumes.csi_node("na", {DRIVER: 1}), claim()])
    running.apply([user(name, "data") for name in ("p", "q")])
    await runs(running)
    await runs(running, "q")
    running.client.delete("pods", "default", "p")
    await until(lambda: phase(running, "pods", "p") is None)
    assert await running.settle()
    assert len(running.client.list(ATTACHMENTS)) == 1


async def test_a_volume_for_one_node_waits_to_be_detached_from_another(running: Cluster) -> None:
    running.apply([volumes.volume("own"), claim("one", spec={"volumeName": "own"})])
    shared = {"modes": ("ReadWriteMany",)}
    running.apply([volumes.volume("shared", **shared), claim("many", spec={"volumeName": "shared"}, **shared)])
    running.apply([user("first", "one", "many")])
    await runs(running, "first")
    running.apply([user("p", "one", node="nb"), user("q", "many", node="nb")])
    await runs(running, "q")
    await waits(running, "FailedAttachVolume", 'Multi-Attach error for volume "own"')
    running.client.delete("pods", "default", "first")
    await runs(running)


async def test_drivers_that_attach_nothing_need_no_attachment(running: Cluster) -> None:
    running.apply([volumes.csi_driver(spec={"attachRequired": False})])
    running.apply([volumes.storage_class(waits=False, zones=("a",)), claim(), user("p", "data")])
    await runs(running)
    assert not running.client.list(ATTACHMENTS)


async def test_a_pod_starts_once_its_devices_are_reserved_for_it(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default"), gpu_user()])
    await waits(running, "FailedPrepareDynamicResources", "is not allowed to use ResourceClaim gpus")
    allocate(running, "gpus", "na", "gpu-0", pods=["p"])
    await runs(running)


async def test_a_reservation_for_somebody_else_is_none(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default"), pod("other"), gpu_user()])
    allocate(running, "gpus", "na", "gpu-0", pods=["other"])
    await waits(running, "FailedPrepareDynamicResources", "is not allowed to use ResourceClaim gpus")


async def test_the_reservation_for_a_group_is_for_its_pods(running: Cluster) -> None:
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    running.apply([devices.resource_claim(namespace="default"), {**group, "spec": {"minMember": 1}}])
    found = running.client.get("scheduling.volcano.sh/podgroups", "default", "g")
    assert found is not None
    consumer = {"apiGroup": "scheduling.volcano.sh", "resource": "podgroups", "name": "g"}
    allocate(running, "gpus", "na", "gpu-0", pods=[], consumers=[{**consumer, "uid": found["metadata"]["uid"]}])
    member = gpu_user()
    member["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "g"}
    running.apply([member, gpu_user("stranger")])
    await runs(running)
    await waits(running, "FailedPrepareDynamicResources", "is not allowed to use", "stranger")


@pytest.mark.parametrize(
    ("node", "device", "why"),
    [
        pytest.param("nb", "gpu-0", "node na is not one of those that can use its devices", id="of another node"),
        pytest.param("na", "gpu-7", f"device {devices.DRIVER}/na/gpu-7 is not published", id="that is not published"),
    ],
)
async def test_devices_that_the_driver_cannot_prepare(running: Cluster, node: str, device: str, why: str) -> None:
    running.apply([devices.resource_claim(namespace="default"), gpu_user()])
    allocate(running, "gpus", node, device, pods=["p"])
    await waits(running, "FailedPrepareDynamicResources", why)


async def test_a_device_that_is_published_later_is_prepared_then(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default"), gpu_user()])
    allocate(running, "gpus", "na", "gpu-2", pods=["p"])
    await waits(running, "FailedPrepareDynamicResources", "is not published")
    running.apply([devices.resource_slice("na", 3, generation=2)])
    await runs(running)


async def test_a_device_is_prepared_for_one_claim_at_a_time(running: Cluster) -> None:
    running.apply([devices.resource_claim(name, namespace="default") for name in ("one", "two")])
    running.apply([gpu_user("first", "one"), gpu_user("p", "two")])
    allocate(running, "one", "na", "gpu-0", pods=["first"])
    await runs(running, "first")
    allocate(running, "two", "na", "gpu-0", pods=["p"])
    await waits(running, "FailedPrepareDynamicResources", "is already prepared for another claim")
    running.client.delete("pods", "default", "first")
    await runs(running)


async def test_pods_share_the_devices_of_one_claim(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default"), gpu_user("p"), gpu_user("q")])
    allocate(running, "gpus", "na", "gpu-0", pods=["p", "q"])
    await runs(running)
    await runs(running, "q")


async def test_a_pod_with_a_template_waits_for_its_claim(running: Cluster) -> None:
    running.apply([gpu_user(claim="template/t")])
    await waits(running, "FailedPrepareDynamicResources", "pod claim gpu: ResourceClaim not created yet")
    running.apply([devices.claim_template("t", namespace="default")])
    await until(lambda: running.client.list("resource.k8s.io/resourceclaims"))
    name = running.client.list("resource.k8s.io/resourceclaims")[0]["metadata"]["name"]
    allocate(running, name, "na", "gpu-0", pods=["p"])
    await runs(running)
    assert resource_claim(running, name)["status"]["reservedFor"]


async def test_the_claim_for_extended_resources_counts_like_any_other(running: Cluster) -> None:
    running.apply([devices.resource_claim("extra", namespace="default"), pod()])
    mappings = [{"containerName": "main", "resourceName": "example.com/gpu", "requestName": "gpu"}]
    status = {"resourceClaimName": "extra", "requestMappings": mappings}

    def noted(found: Obj) -> Obj:
        return {**found, "status": {**found["status"], "extendedResourceClaimStatus": status}}

    running.client.patch_status("pods", "default", "p", noted)
    bind(running, "p", "na")
    await waits(running, "FailedPrepareDynamicResources", "is not allowed to use ResourceClaim extra")
    allocate(running, "extra", "na", "gpu-0", pods=["p"])
    await runs(running)


async def test_a_pod_that_waits_on_its_node_says_so_and_can_be_deleted(running: Cluster) -> None:
    waiting = user("p", "data")
    waiting["metadata"]["finalizers"] = ["example.com/kept"]
    running.apply([waiting])
    await waits(running, "FailedMount", "not found")
    found = running.client.get("pods", "default", "p")
    assert found is not None
    (container,) = found["status"]["containerStatuses"]
    assert container["state"] == {"waiting": {"reason": "ContainerCreating"}}
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert (conditions["Ready"], conditions["Initialized"]) == ("False", "True")
    running.client.delete("pods", "default", "p")
    await until(lambda: phase(running, "pods", "p") == "Failed")
