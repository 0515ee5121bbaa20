"""Claims that waiting pods hold in vain are given back, and never those of pods that have a node or get one."""

from __future__ import annotations

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.claiming import (
    NS,
    RESOURCE_CLAIMS,
    VOLUME_CLAIMS,
    VOLUMES,
    Claiming,
    allocation,
    claiming,
    cluster_with,
)
from tests.support.fault_proxy import faulty
from tests.support.waiting import until
from vsched.mirror.ingest.device_claims import EXTENDED_CLAIM
from vsched.writes.claims.releases import FAILED, KEPT, RELEASED
from vsched.writes.claims.transaction import TransactionPhase

DATA = volumes.claim("data", namespace="default", selected_node="n1")
GPUS = devices.resource_claim("gpus", namespace="default")
WAITS = volumes.storage_class()
CLASS = devices.device_class()
LONG = 3600.0


def reserve(at: Claiming, claim: str, *pods: dict[str, object], device: str = "gpu-0") -> None:
    """A daemon before this one has reserved the claim for these pods."""
    given = devices.allocated(at.get(RESOURCE_CLAIMS, claim), "n1", device, pods=pods)
    at.cluster.client.patch(RESOURCE_CLAIMS, NS, claim, lambda found: given)
    at.cluster.client.patch_status(
        RESOURCE_CLAIMS, NS, claim, lambda found: make.merged(found, {"status": given["status"]})
    )


async def test_devices_and_reservations_are_given_back() -> None:
    async with cluster_with(GPUS, CLASS) as cluster, claiming(cluster) as at:
        reserve(at, "gpus", at.pod())
        assert at.reserved("gpus") == ["p1"]
        at.submit(released=[at.release("gpus", device=True)])
        await until(lambda: at.writes.releases.results[RELEASED])
        assert at.is_free()


async def test_the_node_that_was_selected_for_a_volume_is_given_back() -> None:
    async with cluster_with(WAITS, DATA, provisioning=LONG) as cluster, claiming(cluster) as at:
        at.submit(released=[at.release("data", device=False)])
        await until(lambda: at.writes.releases.results[RELEASED])
        assert at.selected("data") == ""


async def test_a_static_volume_that_was_chosen_is_given_back() -> None:
    pv = volumes.volume("pv", node="n1", storage_class="local")
    local = volumes.storage_class("local", provisioner=volumes.NO_PROVISIONER)
    disk = volumes.claim("disk", namespace="default", storage_class="local")
    async with cluster_with(local, controllers=False) as cluster, claiming(cluster) as at:
        made = cluster.client.create(VOLUME_CLAIMS, make.merged(disk, {"metadata": {"uid": ""}}))
        ref = {"kind": "PersistentVolumeClaim", "namespace": NS, "name": "disk", "uid": made["metadata"]["uid"]}
        by = {"annotations": {volumes.BOUND_BY_CONTROLLER: "yes"}}
        cluster.client.create(VOLUMES, make.merged(pv, {"spec": {"claimRef": ref}, "metadata": by}))
        at.chosen["disk"] = "pv"
        at.submit(released=[at.release("disk", device=False)])
        await until(lambda: at.writes.releases.results[RELEASED])
        assert "claimRef" not in at.get(VOLUMES, "pv")["spec"]


async def test_what_a_pod_with_a_node_uses_stays() -> None:
    async with cluster_with(GPUS, CLASS) as cluster, claiming(cluster) as at:
        one, two = at.pod(), at.pod()
        reserve(at, "gpus", one, two)
        # The mirror has not seen yet that an earlier leader's binding arrived.
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p1"}, "target": {"name": "n1"}}
        await at.client.create("/api/v1/namespaces/default/pods/p1/binding", binding)
        at.submit(released=[at.release("gpus", device=True)])
        await until(lambda: at.writes.releases.results[RELEASED])
        assert (at.reserved("gpus"), at.devices("gpus")) == (["p1"], ["gpu-0"])


async def test_what_a_gang_is_being_bound_with_stays() -> None:
    data = volumes.claim("data", namespace="default")
    async with cluster_with(WAITS, data, GPUS, CLASS, provisioning=LONG) as cluster, claiming(cluster) as at:
        pod = at.pod()
        at.submit(
            at.bind(
                pod,
                devices=(at.give("gpus", allocation("n1", "gpu-0")),),
                reserve=("default/gpus",),
                volumes=(at.choose("data"),),
                wait=("default/data",),
            )
        )
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        at.submit(released=[at.release("gpus", device=True), at.release("data", device=False)])
        await until(lambda: at.writes.releases.results[KEPT] == 2)
        assert (at.reserved("gpus"), at.selected("data")) == (["p1"], "n1")


async def test_a_release_that_fails_is_no_longer_assumed() -> None:
    async with cluster_with(GPUS, CLASS) as cluster, faulty(cluster.url) as proxy, claiming(cluster, proxy.url) as at:
        reserve(at, "gpus", at.pod())
        at.cache.intake.apply("ResourceClaim", "ADDED", make.read(at.get(RESOURCE_CLAIMS, "gpus")))
        proxy.spoil("PATCH", r".*/resourceclaims/gpus/status", 403, 1, "you may not")
        at.submit(released=[at.release("gpus", device=True)])
        await until(lambda: at.writes.releases.results[FAILED])
        shown = at.cache.stores.claims.devices.claims.get("default/gpus")
        assert shown is not None
        assert [consumer.name for consumer in shown.consumers] == ["p1"]


async def test_a_claim_that_was_made_for_extended_resources_is_deleted() -> None:
    async with cluster_with(CLASS) as cluster, claiming(cluster) as at:
        pod = at.pod()
        owner = {**devices.from_template(GPUS, pod)["metadata"]["ownerReferences"][0]}
        made = make.merged(
            devices.resource_claim("made", namespace=NS),
            {"metadata": {"annotations": {EXTENDED_CLAIM: "true"}, "ownerReferences": [owner]}},
        )
        made["metadata"].pop("uid")
        cluster.client.create(RESOURCE_CLAIMS, made)
        reserve(at, "made", pod)
        status = {"extendedResourceClaimStatus": {"resourceClaimName": "made", "requestMappings": []}}
        cluster.client.patch_status("pods", NS, "p1", lambda found: make.merged(found, {"status": status}))
        at.submit(released=[at.release("made", device=True)])
        await until(lambda: at.writes.releases.results[RELEASED])
        assert cluster.client.get(RESOURCE_CLAIMS, NS, "made") is None
        assert "extendedResourceClaimStatus" not in at.get("pods", "p1")["status"]
