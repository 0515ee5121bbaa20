"""Claims and volumes in a running cluster: bound, made, lost, released and protected."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.sim.controllers.claimed import claim_of, cluster, node, phase, pod, reasons
from tests.support import volumes
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"


@pytest.fixture
async def running() -> AsyncIterator[Cluster]:
    """Three nodes in the zones a, b and c."""
    async with cluster([node(f"n{zone}", zone=zone) for zone in "abc"]) as found:
        yield found


def claim(name: str = "data", size: str = "1Gi", **more: Any) -> Obj:
    return volumes.claim(name, size, namespace="default", **more)


def select(running: Cluster, name: str, node: str) -> None:
    """Writes the node that a scheduler chose for a claim."""

    def chosen(found: Obj) -> Obj:
        metadata = found["metadata"]
        annotations = {**metadata.get("annotations", {}), volumes.SELECTED_NODE: node}
        return {**found, "metadata": {**metadata, "annotations": annotations}}

    running.client.patch(CLAIMS, "default", name, chosen)


async def bound(running: Cluster, name: str = "data") -> Obj:
    """The volume of a claim, once both are bound."""
    await until(lambda: phase(running, CLAIMS, name) == "Bound")
    found = running.client.get(VOLUMES, "", claim_of(running, name)["spec"]["volumeName"])
    assert found is not None
    assert found["status"]["phase"] == "Bound"
    assert found["spec"]["claimRef"]["uid"] == claim_of(running, name)["metadata"]["uid"]
    return found


async def test_a_claim_is_bound_to_the_smallest_volume_that_fits(running: Cluster) -> None:
    sizes = {"small": "1Gi", "right": "4Gi", "large": "9Gi"}
    running.apply([volumes.storage_class(waits=False, provisioner=volumes.NO_PROVISIONER)])
    running.apply([volumes.volume(name, size) for name, size in sizes.items()])
    running.apply([claim(size="3Gi")])
    volume = await bound(running)
    assert volume["metadata"]["name"] == "right"
    assert volume["metadata"]["annotations"] == {volumes.BOUND_BY_CONTROLLER: "yes"}
    found = claim_of(running)
    assert found["metadata"]["annotations"] == {volumes.BIND_COMPLETED: "yes", volumes.BOUND_BY_CONTROLLER: "yes"}
    assert found["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "4Gi"}}


async def test_two_claims_never_get_the_same_volume(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False, provisioner=volumes.NO_PROVISIONER)])
    running.apply(
        [*(claim(f"c{number}") for number in range(4)), *(volumes.volume(f"pv{number}") for number in range(3))]
    )
    await until(lambda: [phase(running, CLAIMS, f"c{number}") for number in range(4)].count("Bound") == 3)
    assert await running.settle()
    names = {claim_of(running, f"c{number}")["spec"].get("volumeName") for number in range(4)}
    assert names == {"pv0", "pv1", "pv2", None}
    running.apply([volumes.volume("pv3")])
    await until(lambda: all(phase(running, CLAIMS, f"c{number}") == "Bound" for number in range(4)))


async def test_a_claim_of_an_immediate_class_gets_a_volume_made(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False), claim(size="3Gi")])
    volume = await bound(running)
    assert volume["metadata"]["name"] == f"pvc-{claim_of(running)['metadata']['uid']}"
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": volumes.DRIVER}
    assert volume["spec"]["capacity"] == {"storage": "3Gi"}
    assert volume["spec"]["csi"] == {"driver": volumes.DRIVER, "volumeHandle": volume["metadata"]["name"]}
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["key"] == volumes.ZONE
    assert reasons(running, "data").keys() == {"ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"}


async def test_a_claim_that_waits_gets_its_volume_once_a_node_is_chosen(running: Cluster) -> None:
    running.apply([volumes.storage_class(), claim()])
    await until(lambda: "WaitForFirstConsumer" in reasons(running, "data"))
    assert await running.settle()
    assert phase(running, CLAIMS, "data") == "Pending"
    select(running, "data", "nb")
    volume = await bound(running)
    assert volume["spec"]["nodeAffinity"]["required"] == volumes.in_topology(volumes.ZONE, "b")


async def test_a_claim_with_a_chosen_node_gets_no_volume_that_nobody_chose(running: Cluster) -> None:
    running.apply([volumes.storage_class(), volumes.volume(zone="a")])
    await until(lambda: phase(running, VOLUMES, "pv", "") == "Available")
    running.apply([claim(selected_node="nb")])
    assert (await bound(running))["metadata"]["name"].startswith("pvc-")
    assert phase(running, VOLUMES, "pv", "") == "Available"


async def test_a_volume_that_a_scheduler_chose_is_bound_to_the_claim(running: Cluster) -> None:
    running.apply([volumes.storage_class(), volumes.volume(size="9Gi", zone="a"), claim()])
    await until(lambda: phase(running, VOLUMES, "pv", "") == "Available")
    uid = claim_of(running)["metadata"]["uid"]
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": uid,
    }
    running.client.patch(VOLUMES, "", "pv", lambda pv: {**pv, "spec": {**pv["spec"], "claimRef": reference}})
    assert (await bound(running))["metadata"]["name"] == "pv"


async def test_local_volumes_belong_to_one_node(running: Cluster) -> None:
    local = volumes.storage_class("local", parameters={"provisioner.vsched.io/topology": volumes.HOSTNAME})
    running.apply([local, claim(storage_class="local", selected_node="nc")])
    required = (await bound(running))["spec"]["nodeAffinity"]["required"]
    assert required == volumes.in_topology(volumes.HOSTNAME, "nc")


async def test_the_topology_keys_of_a_driver_say_where_its_volumes_can_be_used(running: Cluster) -> None:
    running.apply([volumes.storage_class(), volumes.csi_node("nb", topology_keys=(volumes.HOSTNAME,))])
    running.apply([claim(selected_node="nb")])
    required = (await bound(running))["spec"]["nodeAffinity"]["required"]
    assert required == volumes.in_topology(volumes.HOSTNAME, "nb")


async def test_an_immediate_volume_is_made_in_the_allowed_topologies(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False, zones=("c",)), *(claim(f"c{number}") for number in range(4))])
    for number in range(4):
        required = (await bound(running, f"c{number}"))["spec"]["nodeAffinity"]["required"]
        assert required == volumes.in_topology(volumes.ZONE, "c")


@pytest.mark.parametrize(
    ("node", "parameters", "zones", "why"),
    [
        pytest.param("na", {"provisioner.vsched.io/fail": "out of disks"}, (), "out of disks", id="as the class says"),
        pytest.param("nb", {"provisioner.vsched.io/fail-nodes": "nb, nc"}, (), "no volume can be made", id="on a node"),
        pytest.param("gone", {}, (), 'node "gone" not found', id="for a node that is gone"),
        pytest.param("na", {}, ("b",), "not in the allowed topologies", id="outside of the allowed topologies"),
        pytest.param("na", {"provisioner.vsched.io/delay": "soon"}, (), "'soon' is not a duration", id="no duration"),
    ],
)
async def test_provisioning_that_fails_asks_the_scheduler_for_another_node(
    running: Cluster, node: str, parameters: dict[str, str], zones: tuple[str, ...], why: str
) -> None:
    running.apply([volumes.storage_class(parameters=parameters, zones=zones), claim(selected_node=node)])
    await until(lambda: volumes.SELECTED_NODE not in claim_of(running)["metadata"]["annotations"])
    message = reasons(running, "data")["ProvisioningFailed"]
    assert message.startswith('failed to provision volume with StorageClass "standard": ')
    assert why in message
    assert phase(running, CLAIMS, "data") == "Pending"


async def test_a_claim_that_failed_on_one_node_gets_its_volume_on_another(running: Cluster) -> None:
    running.apply(
        [volumes.storage_class(parameters={"provisioner.vsched.io/fail-nodes": "na"}), claim(selected_node="na")]
    )
    await until(lambda: volumes.SELECTED_NODE not in claim_of(running)["metadata"]["annotations"])
    select(running, "data", "nb")
    assert (await bound(running))["spec"]["nodeAffinity"]["required"] == volumes.in_topology(volumes.ZONE, "b")


async def test_storage_capacity_counts_down_and_comes_back(running: Cluster) -> None:
    def free() -> str:
        found = running.client.get("storage.k8s.io/csistoragecapacities", "kube-system", "capacity")
        assert found is not None
        return str(found["capacity"])

    running.apply([volumes.storage_class(), volumes.csi_driver(counts_capacity=True)])
    running.apply([volumes.storage_capacity(size="5Gi", zone="a"), claim("one", "3Gi", selected_node="na")])
    await bound(running, "one")
    assert free() == "2Gi"
    running.apply([claim("two", "3Gi", selected_node="na")])
    await until(lambda: volumes.SELECTED_NODE not in claim_of(running, "two")["metadata"]["annotations"])
    assert "ResourceExhausted" in reasons(running, "two")["ProvisioningFailed"]
    running.client.delete(CLAIMS, "default", "one")
    await until(lambda: free() == "5Gi")
    select(running, "two", "na")
    await bound(running, "two")
    assert free() == "2Gi"


async def test_a_volume_is_where_its_capacity_is(running: Cluster) -> None:
    running.apply([volumes.storage_class(), volumes.csi_driver(counts_capacity=True)])
    running.apply([volumes.storage_capacity(f"of-{name}", node=name) for name in ("na", "nb")])
    running.apply([claim(selected_node="nb")])
    required = (await bound(running))["spec"]["nodeAffinity"]["required"]
    assert required == volumes.in_topology(volumes.HOSTNAME, "nb")
    found = running.client.get("storage.k8s.io/csistoragecapacities", "kube-system", "of-nb")
    assert (found or {})["capacity"] == "9Gi"


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [pytest.param("Delete", None, id="Delete"), pytest.param("Retain", "Released", id="Retain")],
)
async def test_what_comes_of_a_volume_whose_claim_is_deleted(
    running: Cluster, policy: str, outcome: str | None
) -> None:
    running.apply([volumes.storage_class(waits=False, reclaimPolicy=policy), claim()])
    name = (await bound(running))["metadata"]["name"]
    running.client.delete(CLAIMS, "default", "data")
    await until(lambda: phase(running, CLAIMS, "data") is None and phase(running, VOLUMES, name, "") == outcome)


async def test_a_claim_is_lost_with_its_volume(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False), claim()])
    name = (await bound(running))["metadata"]["name"]
    running.client.delete(VOLUMES, "", name)
    assert await running.settle()
    assert phase(running, VOLUMES, name, "") == "Bound", "a bound volume is protected"

    def unprotected(found: Obj) -> Obj:
        return {**found, "metadata": {**found["metadata"], "finalizers": []}}

    running.client.patch(VOLUMES, "", name, unprotected)
    await until(lambda: phase(running, CLAIMS, "data") == "Lost")
    assert reasons(running, "data")["ClaimLost"].endswith("Data on the volume is lost!")


async def test_a_claim_may_name_its_volume(running: Cluster) -> None:
    running.apply([volumes.storage_class(), volumes.volume("mine"), claim(spec={"volumeName": "mine"})])
    await bound(running)
    running.apply([volumes.volume("small"), claim("big", "2Gi", spec={"volumeName": "small"})])
    await until(lambda: "requested PV is too small" in reasons(running, "big").get("VolumeMismatch", ""))
    running.apply([claim("late", spec={"volumeName": "mine"})])
    await until(lambda: "already bound to a different claim" in reasons(running, "late").get("FailedBinding", ""))


@pytest.mark.parametrize(
    ("claimed", "reason", "message"),
    [
        pytest.param({"storage_class": ""}, "FailedBinding", "no storage class is set", id="without a class"),
        pytest.param({"storage_class": "x"}, "ProvisioningFailed", '"x" not found', id="of a class that is not there"),
        pytest.param({}, "ProvisioningFailed", "no volume plugin matched name", id="of a class without provisioner"),
    ],
)
async def test_claims_that_nobody_serves(running: Cluster, claimed: Obj, reason: str, message: str) -> None:
    running.apply([volumes.storage_class(waits=False, provisioner=volumes.NO_PROVISIONER), claim(**claimed)])
    await until(lambda: message in reasons(running, "data").get(reason, ""))
    assert phase(running, CLAIMS, "data") == "Pending"


async def test_a_class_that_comes_later_serves_the_claims_that_wait_for_it(running: Cluster) -> None:
    running.apply([claim()])
    await until(lambda: "ProvisioningFailed" in reasons(running, "data"))
    running.apply([volumes.storage_class(waits=False)])
    await bound(running)


async def test_a_claim_without_a_class_gets_the_default_one_as_soon_as_there_is_one(running: Cluster) -> None:
    bare = claim()
    del bare["spec"]["storageClassName"]
    running.apply([bare])
    await until(lambda: "FailedBinding" in reasons(running, "data"))
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    running.apply([volumes.storage_class("other", waits=False), volumes.storage_class(waits=False, metadata=default)])
    await bound(running)
    assert claim_of(running)["spec"]["storageClassName"] == volumes.CLASS
    at_once = claim("at-once")
    del at_once["spec"]["storageClassName"]
    running.apply([at_once])
    assert claim_of(running, "at-once")["spec"]["storageClassName"] == volumes.CLASS


async def test_a_provisioner_takes_its_time(running: Cluster) -> None:
    slow = {"provisioner.vsched.io/delay": "1h"}
    quick = {"provisioner.vsched.io/delay": "20ms"}
    running.apply([volumes.storage_class("slow", parameters=slow), volumes.storage_class("quick", parameters=quick)])
    running.apply([claim(name, storage_class=name, selected_node="na") for name in ("slow", "quick")])
    await bound(running, "quick")
    await until(lambda: "Provisioning" in reasons(running, "slow"))
    assert await running.settle()
    assert phase(running, CLAIMS, "slow") == "Pending"


async def test_a_deleted_claim_stays_as_long_as_a_pod_on_a_node_uses_it(running: Cluster) -> None:
    running.apply([volumes.storage_class(waits=False), claim("used"), claim("idle")])
    running.apply(
        [pod("p", "na", volumes=volumes.claim_volumes("used")), pod("q", volumes=volumes.claim_volumes("idle"))]
    )
    for name in ("used", "idle"):
        running.client.delete(CLAIMS, "default", name)
    await until(lambda: phase(running, CLAIMS, "idle") is None)
    assert await running.settle()
    assert phase(running, CLAIMS, "used") is not None
    running.client.delete("pods", "default", "p")
    await until(lambda: phase(running, CLAIMS, "used") is None)


async def test_an_ephemeral_volume_has_a_claim_that_goes_with_its_pod(running: Cluster) -> None:
    running.apply([volumes.storage_class(), pod(volumes=[volumes.ephemeral_volume(size="2Gi")])])
    await until(lambda: phase(running, CLAIMS, "p-scratch") == "Pending")
    found = claim_of(running, "p-scratch")
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "p", True)
    assert found["spec"]["resources"] == {"requests": {"storage": "2Gi"}}
    running.client.delete("pods", "default", "p")
    await until(lambda: phase(running, CLAIMS, "p-scratch") is None)


async def test_an_ephemeral_volume_does_not_take_the_claim_of_somebody_else(running: Cluster) -> None:
    running.apply([volumes.storage_class(), claim("p-scratch"), pod(volumes=[volumes.ephemeral_volume()])])
    why = 'PVC "default/p-scratch" was not created for pod "default/p" (pod is not owner)'
    await until(lambda: reasons(running, "p").get("FailedBinding") == f"ephemeral volume scratch: {why}")
    running.client.delete(CLAIMS, "default", "p-scratch")
    await until(
        lambda: phase(running, CLAIMS, "p-scratch") and "ownerReferences" in claim_of(running, "p-scratch")["metadata"]
    )


async def test_a_bound_volume_of_a_claim_that_chose_another_is_free_again(running: Cluster) -> None:
    running.apply([volumes.storage_class(), volumes.volume("one"), volumes.volume("two")])
    running.apply([claim(spec={"volumeName": "two"})])
    await bound(running)
    uid = claim_of(running)["metadata"]["uid"]
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": uid}

    def taken(found: Obj) -> Obj:
        metadata = {**found["metadata"], "annotations": {volumes.BOUND_BY_CONTROLLER: "yes"}}
        return {**found, "metadata": metadata, "spec": {**found["spec"], "claimRef": reference}}

    running.client.patch(VOLUMES, "", "one", taken)
    await until(lambda: "claimRef" not in (running.client.get(VOLUMES, "", "one") or {}).get("spec", {"claimRef": 1}))
    assert phase(running, VOLUMES, "one", "") == "Available"
