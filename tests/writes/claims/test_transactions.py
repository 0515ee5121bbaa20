"""Gangs with claims at an embedded cluster: all of what they claim and all of their pods, or nothing."""

from __future__ import annotations

from tests.support import devices, volumes
from tests.support.claiming import RESOURCE_CLAIMS, VOLUME_CLAIMS, VOLUMES, allocation, claiming, cluster_with
from tests.support.waiting import until
from vsched.writes.claims import words

DATA = volumes.claim("data", namespace="default")
GPUS = devices.resource_claim("gpus", namespace="default")
WAITS = volumes.storage_class(zones=("a", "b"))


async def test_claims_are_reserved_and_bound_before_the_pods_are() -> None:
    more = devices.resource_claim("more", namespace="default")
    async with cluster_with(WAITS, DATA, GPUS, more, devices.device_class()) as cluster, claiming(cluster) as at:
        one, two = at.pod(), at.pod()
        at.submit(
            at.bind(
                one,
                volumes=(at.choose("data"),),
                wait=("default/data",),
                devices=(at.give("gpus", allocation("n1", "gpu-0")),),
                reserve=("default/gpus",),
            ),
            at.bind(two, devices=(at.give("more", allocation("n1", "gpu-1", "gpu-2")),), reserve=("default/more",)),
        )
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1", "p2": "n1"}
        assert at.selected("data") == "n1"
        assert at.get(VOLUME_CLAIMS, "data")["status"]["phase"] == "Bound"
        claim = at.get(RESOURCE_CLAIMS, "gpus")
        assert claim["metadata"]["finalizers"] == [devices.FINALIZER]
        assert claim["status"]["reservedFor"] == [devices.reserved_for(one)]
        given = claim["status"]["allocation"]
        assert given["devices"]["results"] == [
            {"request": "gpu", "driver": devices.DRIVER, "pool": "n1", "device": "gpu-0"}
        ]
        assert given["nodeSelector"] == {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
        }
        assert given["allocationTimestamp"]
        assert (at.devices("more"), at.reserved("more")) == (["gpu-1", "gpu-2"], ["p2"])
        known = at.cache.stores.claims.devices.claims.get("default/more")
        assert known is not None
        assert [each.name for each in known.consumers] == ["p2"], (
            "the mirror knows it from the answers, without a watch"
        )
        assert [outcome.bound for outcome in at.outcomes] == [True, True]
        assert not at.undone


async def test_others_are_left_to_others() -> None:
    async with cluster_with(GPUS, devices.device_class()) as cluster, claiming(cluster) as at:
        claiming_pod, plain, other = at.pod(), at.pod(), at.pod()
        alone = at.bind(other, job="default/other")
        gang = at.bind(claiming_pod, devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",))
        assert at.submit(alone) == [alone]
        assert at.submit(gang, at.bind(plain)) == []
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1", "p2": "n1"}


async def test_a_claim_that_others_took_gives_the_whole_gang_back() -> None:
    more = devices.resource_claim("more", namespace="default")
    pv = volumes.volume("pv", node="n1", storage_class="local")
    local = volumes.storage_class("local", provisioner=volumes.NO_PROVISIONER)
    disk = volumes.claim("disk", namespace="default", storage_class="local")
    manifests = (WAITS, DATA, GPUS, more, pv, local, disk, devices.device_class())
    async with cluster_with(*manifests, provisioning=3600.0) as cluster, claiming(cluster) as at:
        one, two = at.pod(), at.pod()
        taken = devices.allocated(at.get(RESOURCE_CLAIMS, "more"), "n1", "gpu-7", pods=[at.pod("other")])
        cluster.client.patch_status("resource.k8s.io/resourceclaims", "default", "more", lambda found: taken)
        at.submit(
            at.bind(
                one,
                volumes=(at.choose("data"), at.choose("disk", "pv")),
                wait=("default/data", "default/disk"),
                devices=(at.give("gpus", allocation("n1", "gpu-0")),),
                reserve=("default/gpus",),
            ),
            at.bind(two, devices=(at.give("more", allocation("n1", "gpu-1")),), reserve=("default/more",)),
        )
        await until(lambda: not at.gangs.busy)
        [(_, obstacle)] = at.undone
        assert obstacle == (
            words.other_devices("ResourceClaim", "default/more"),
            "ResourceClaim",
            "default/more",
        )
        assert at.nodes() == {}
        assert (at.devices("gpus"), at.reserved("gpus"), at.selected("data")) == ([], [], "")
        assert "finalizers" not in at.get(RESOURCE_CLAIMS, "gpus")["metadata"]
        assert (at.devices("more"), at.reserved("more")) == (["gpu-7"], ["other"]), "what others have stays"
        assert at.cache.task(one["metadata"]["uid"]).node == ""


async def test_a_static_volume_is_reserved_and_bound() -> None:
    pv = volumes.volume("pv", node="n1", storage_class="local")
    local = volumes.storage_class("local", provisioner=volumes.NO_PROVISIONER)
    disk = volumes.claim("disk", namespace="default", storage_class="local")
    async with cluster_with(pv, local, disk) as cluster, claiming(cluster) as at:
        at.submit(at.bind(at.pod(), volumes=(at.choose("disk", "pv"),), wait=("default/disk",)))
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1"}
        assert at.get(VOLUMES, "pv")["metadata"]["annotations"][volumes.BOUND_BY_CONTROLLER] == "yes"
        assert at.get(VOLUME_CLAIMS, "disk")["spec"]["volumeName"] == "pv"
        assert at.selected("disk") == ""


async def test_volumes_that_are_never_bound_give_the_gang_back_after_a_while() -> None:
    slow = cluster_with(WAITS, DATA, GPUS, devices.device_class(), provisioning=3600.0)
    async with slow as cluster, claiming(cluster, bind_seconds=3.0) as at:
        at.submit(
            at.bind(at.pod(), volumes=(at.choose("data"),), wait=("default/data",)),
            at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
        )
        await until(lambda: at.devices("gpus") and at.selected("data") == "n1")
        await until(lambda: not at.gangs.busy)
        [(_, obstacle)] = at.undone
        assert obstacle.why == "PersistentVolumeClaim default/data was not bound within 3 s"
        assert at.nodes() == {}
        assert at.is_free()
