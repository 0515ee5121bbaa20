"""What can happen to a gang while it is being bound, and claims that gangs share."""

from __future__ import annotations

import pytest

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.claiming import RESOURCE_CLAIMS, VOLUME_CLAIMS, allocation, claiming, cluster_with
from tests.support.fault_proxy import faulty
from tests.support.waiting import until
from vsched.model.claims.plan import DeviceChoice
from vsched.writes.bindings import BindOutcome
from vsched.writes.claims import words
from vsched.writes.claims.transaction import TransactionPhase
from vsched.writes.claims.transactions import BOUND, DROPPED, PARTLY_BOUND, UNDONE

DATA = volumes.claim("data", namespace="default")
GPUS = devices.resource_claim("gpus", namespace="default")
MORE = devices.resource_claim("more", namespace="default")
WAITS = volumes.storage_class()
CLASS = devices.device_class()
LONG = 3600.0
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/gpus"


async def test_a_pod_that_is_deleted_while_its_gang_waits_gives_everything_back() -> None:
    async with cluster_with(WAITS, DATA, GPUS, CLASS, provisioning=LONG) as cluster, claiming(cluster) as at:
        one, two = at.pod(), at.pod()
        at.submit(
            at.bind(one, volumes=(at.choose("data"),), wait=("default/data",)),
            at.bind(two, devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
        )
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        at.cache.intake.apply("Pod", "DELETED", make.read(two))
        await until(lambda: not at.gangs.busy)
        [(_, obstacle)] = at.undone
        assert (obstacle.why, obstacle.kind) == ("pod default/p2 was deleted", "Pod")
        assert at.is_free()
        assert at.gangs.results == {UNDONE: 1}


async def test_a_node_that_goes_while_a_gang_waits_gives_everything_back() -> None:
    async with cluster_with(WAITS, DATA, provisioning=LONG) as cluster, claiming(cluster) as at:
        at.submit(at.bind(at.pod(), volumes=(at.choose("data"),), wait=("default/data",)))
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        at.cache.intake.apply("Node", "DELETED", make.read(at.get("nodes", "n1")))
        await until(lambda: not at.gangs.busy)
        [(wish, obstacle)] = at.undone
        assert obstacle.why == "node n1 is gone"
        assert wish.users(obstacle.kind, obstacle.key) == list(wish.binds)
        assert at.is_free()


async def test_a_claim_that_is_deleted_while_its_gang_waits_gives_everything_back() -> None:
    async with cluster_with(WAITS, DATA, GPUS, CLASS, provisioning=LONG) as cluster, claiming(cluster) as at:
        at.submit(
            at.bind(at.pod(), volumes=(at.choose("data"),), wait=("default/data",)),
            at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
        )
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        cluster.client.delete(VOLUME_CLAIMS, "default", "data")
        await until(lambda: not at.gangs.busy)
        [(_, obstacle)] = at.undone
        assert obstacle.why.startswith("PersistentVolumeClaim default/data ")
        assert at.nodes() == {}
        assert (at.devices("gpus"), at.reserved("gpus")) == ([], [])


async def test_a_volume_that_cannot_be_made_on_the_node_gives_everything_back() -> None:
    fails = volumes.storage_class(parameters={"provisioner.vsched.io/fail": "no more disks"})
    async with cluster_with(fails, DATA, GPUS, CLASS) as cluster, claiming(cluster) as at:
        at.submit(
            at.bind(at.pod(), volumes=(at.choose("data"),), wait=("default/data",)),
            at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
        )
        await until(lambda: not at.gangs.busy)
        [(_, obstacle)] = at.undone
        assert obstacle.why == words.no_volume_could_be_made("PersistentVolumeClaim", "default/data", "n1")
        assert at.is_free()


async def test_devices_that_have_to_be_made_ready_are_waited_for() -> None:
    given = allocation("n1", "gpu-0", conditions=("Attached",), failures=("Broken",))
    async with cluster_with(GPUS, CLASS, controllers=False) as cluster, claiming(cluster) as at:
        at.submit(at.bind(at.pod(), devices=(at.give("gpus", given),), reserve=("default/gpus",)))
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        assert at.nodes() == {}
        at.say("gpus", "gpu-0", "Attached")
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1"}


async def test_devices_that_cannot_be_made_ready_are_given_back() -> None:
    given = allocation("n1", "gpu-0", conditions=("Attached",), failures=("Broken",))
    async with cluster_with(GPUS, CLASS, controllers=False) as cluster, claiming(cluster) as at:
        at.submit(at.bind(at.pod(), devices=(at.give("gpus", given),), reserve=("default/gpus",)))
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        at.say("gpus", "gpu-0", "Broken")
        await until(lambda: not at.gangs.busy)
        assert at.undone[0][1].why == words.device_cannot_be_made_ready(
            "device gpu-0 of ResourceClaim default/gpus", "Broken"
        )
        assert at.is_free()


async def test_a_shared_claim_is_allocated_once_and_reserved_for_all() -> None:
    async with cluster_with(GPUS, CLASS) as cluster, claiming(cluster) as at:
        one, two, three = at.pod(), at.pod(), at.pod()
        given = at.give("gpus", allocation("n1", "gpu-0"))
        at.submit(at.bind(one, devices=(given,), reserve=("default/gpus",)), at.bind(two, reserve=("default/gpus",)))
        # The next session sees the decision, not yet the claim: its gang waits until the claim is written.
        at.submit(at.bind(three, job="default/later", reserve=("default/gpus",)))
        await until(lambda: not at.gangs.busy)
        assert sorted(at.nodes()) == ["p1", "p2", "p3"]
        assert sorted(at.reserved("gpus")) == ["p1", "p2", "p3"]
        assert at.gangs.results == {BOUND: 2}


async def test_a_gang_that_is_given_back_leaves_the_reservations_of_others() -> None:
    async with (
        cluster_with(WAITS, DATA, GPUS, CLASS, provisioning=LONG) as cluster,
        claiming(cluster, bind_seconds=0.5) as at,
    ):
        one, two = at.pod(), at.pod()
        given = at.give("gpus", allocation("n1", "gpu-0"))
        at.submit(
            at.bind(
                one,
                devices=(given,),
                reserve=("default/gpus",),
                volumes=(at.choose("data"),),
                wait=("default/data",),
            )
        )
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        at.submit(at.bind(two, job="default/later", reserve=("default/gpus",)))
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p2": "n1"}
        assert (at.devices("gpus"), at.reserved("gpus")) == (["gpu-0"], ["p2"])
        assert at.selected("data") == ""


async def test_a_claim_that_is_changed_before_the_binding_gives_everything_back() -> None:
    async with cluster_with(WAITS, DATA, GPUS, CLASS, provisioning=LONG) as cluster, claiming(cluster) as at:
        one, two = at.pod(), at.pod()
        at.submit(
            at.bind(one, volumes=(at.choose("data"),), wait=("default/data",)),
            at.bind(two, devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
        )
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        free = {"status": {}}
        cluster.client.patch_status(RESOURCE_CLAIMS, "default", "gpus", lambda found: {**found, **free})
        at.bind_volume("data", "pv-1")
        await until(lambda: not at.gangs.busy)
        [(_, obstacle)] = at.undone
        assert obstacle.why == words.changed_before_binding("ResourceClaim", "default/gpus")
        assert at.nodes() == {}


async def test_a_volume_of_another_zone_is_found_before_the_pod_is_bound() -> None:
    async with cluster_with(WAITS, DATA, provisioning=LONG) as cluster, claiming(cluster) as at:
        at.submit(at.bind(at.pod(), volumes=(at.choose("data"),), wait=("default/data",)))
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        at.bind_volume("data", "pv-1", zone="b")
        await until(lambda: not at.gangs.busy)
        assert at.undone[0][1].why == words.volume_not_on_node("PersistentVolume", "pv-1", "n1")


async def test_a_pod_whose_binding_is_refused_is_left_to_the_next_session() -> None:
    async with (
        cluster_with(GPUS, MORE, CLASS) as cluster,
        faulty(cluster.url) as proxy,
        claiming(cluster, proxy.url) as at,
    ):
        proxy.spoil("POST", r"/api/v1/namespaces/default/pods/p2/binding", 422, 1, "a webhook denies it")
        at.submit(
            at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
            at.bind(at.pod(), devices=(at.give("more", allocation("n1", "gpu-1")),), reserve=("default/more",)),
        )
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1"}
        assert {outcome.verdict for outcome in at.outcomes} == {BindOutcome.BOUND, BindOutcome.REFUSED}
        assert at.gangs.results == {PARTLY_BOUND: 1}
        assert at.reserved("more") == ["p2"], "the pod is placed with it again, or it is released"


@pytest.mark.parametrize(
    ("code", "times"),
    [
        pytest.param(409, 3, id="conflicts"),
        pytest.param(500, 3, id="internal errors"),
        pytest.param(429, 2, id="too many requests"),
        pytest.param(0, 2, id="answers that are lost after the write"),
    ],
)
async def test_writes_that_fail_for_a_while_are_tried_again(code: int, times: int) -> None:
    async with (
        cluster_with(GPUS, CLASS) as cluster,
        faulty(cluster.url) as proxy,
        claiming(cluster, proxy.url) as at,
    ):
        proxy.spoil("PATCH", f"{CLAIMS}(/status)?", code, times)
        proxy.spoil("GET", CLAIMS, 500, 2)
        at.submit(at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)))
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1"}
        assert at.reserved("gpus") == ["p1"]


async def test_a_write_that_is_refused_gives_everything_back_and_says_why() -> None:
    async with (
        cluster_with(GPUS, MORE, CLASS) as cluster,
        faulty(cluster.url) as proxy,
        claiming(cluster, proxy.url) as at,
    ):
        proxy.spoil("PATCH", f"{CLAIMS}/status", 403, 1, "you may not")
        one, two = at.pod(), at.pod()
        at.submit(
            at.bind(one, devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
            at.bind(two, devices=(at.give("more", allocation("n1", "gpu-1")),), reserve=("default/more",)),
        )
        await until(lambda: not at.gangs.busy)
        assert at.undone[0][1].why == words.could_not_be("ResourceClaim", "default/gpus", "written: you may not")
        assert at.is_free()


async def test_a_gang_that_fails_again_waits_before_it_is_decided_again() -> None:
    async with (
        cluster_with(GPUS, CLASS) as cluster,
        faulty(cluster.url) as proxy,
        claiming(cluster, proxy.url) as at,
    ):
        proxy.spoil("PATCH", CLAIMS, 403, 2, "you may not")
        pod = at.pod()
        uid = pod["metadata"]["uid"]
        bind = at.bind(pod, devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",))
        for _ in range(2):
            at.submit(bind)
            await until(lambda: not at.gangs.busy)
        assert at.cache.assumptions.awaits(uid), "the second time the place is kept for a while"
        await until(lambda: not at.cache.assumptions.awaits(uid))


async def test_at_the_end_gangs_that_wait_are_left_to_the_next_daemon() -> None:
    async with cluster_with(WAITS, DATA, GPUS, CLASS, provisioning=LONG) as cluster, claiming(cluster) as at:
        one, two = at.pod(), at.pod()
        at.submit(
            at.bind(one, volumes=(at.choose("data"),), wait=("default/data",)),
            at.bind(two, devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
        )
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        assert await at.writes.drain(5.0) == 0
        assert at.gangs.results == {DROPPED: 1}
        assert {outcome.verdict for outcome in at.outcomes} == {BindOutcome.DROPPED}
        assert (at.selected("data"), at.reserved("gpus")) == ("n1", ["p2"])
        at.submit(at.bind(one, reserve=("default/gpus",)))
        assert at.outcomes[-1].message == "the scheduler is stopping"


async def test_a_claim_is_made_for_extended_resources_and_named_on_the_pod() -> None:
    resource = "example.com/gpu"
    asked = {"resources": {"requests": {resource: "2"}, "limits": {resource: "2"}}}
    container = {"name": "main", "image": "busybox", **asked}
    async with cluster_with(CLASS) as cluster, claiming(cluster) as at:
        at.extended[resource] = devices.DRIVER
        pod = at.pod(containers=[container])
        given = DeviceChoice("", "", allocation("n1", "gpu-0", "gpu-1", request=resource))
        at.submit(at.bind(pod, devices=(given,)))
        await until(lambda: not at.gangs.busy)
        assert at.nodes() == {"p1": "n1"}
        [claim] = cluster.client.list(RESOURCE_CLAIMS)
        name = claim["metadata"]["name"]
        assert (at.reserved(name), at.devices(name)) == (["p1"], ["gpu-0", "gpu-1"])
        assert at.get("pods", "p1")["status"]["extendedResourceClaimStatus"] == {
            "resourceClaimName": name,
            "requestMappings": [
                {"containerName": "main", "resourceName": resource, "requestName": "container-0-request-0"}
            ],
        }


async def test_a_claim_that_was_made_for_extended_resources_is_given_back_with_the_gang() -> None:
    resource = "example.com/gpu"
    asked = {"resources": {"requests": {resource: "1"}, "limits": {resource: "1"}}}
    container = {"name": "main", "image": "busybox", **asked}
    slow = cluster_with(WAITS, DATA, CLASS, provisioning=LONG)
    async with slow as cluster, claiming(cluster, bind_seconds=0.3) as at:
        at.extended[resource] = devices.DRIVER
        pod = at.pod(containers=[container])
        given = DeviceChoice("", "", allocation("n1", "gpu-0", request=resource))
        at.submit(at.bind(pod, devices=(given,), volumes=(at.choose("data"),), wait=("default/data",)))
        await until(lambda: cluster.client.list(RESOURCE_CLAIMS))
        await until(lambda: not at.gangs.busy)
        assert at.is_free()
        assert not cluster.client.list(RESOURCE_CLAIMS)
        assert "extendedResourceClaimStatus" not in at.get("pods", "p1")["status"]


async def test_what_classes_and_claims_say_to_drivers_is_copied_into_the_allocation() -> None:
    opaque = {"opaque": {"driver": devices.DRIVER, "parameters": {"mode": "shared"}}}
    own = {"requests": ["gpu"], "opaque": {"driver": devices.DRIVER, "parameters": {"mode": "own"}}}
    configured = devices.device_class(spec={"config": [opaque]})
    claim = devices.resource_claim(
        "gpus",
        devices.request(tolerations=[{"key": "bad", "operator": "Exists", "tolerationSeconds": 5}]),
        namespace="default",
    )
    claim["spec"]["devices"]["config"] = [own]
    async with cluster_with(configured, claim) as cluster, claiming(cluster) as at:
        at.submit(at.bind(at.pod(), devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)))
        await until(lambda: not at.gangs.busy)
        given = at.get(RESOURCE_CLAIMS, "gpus")["status"]["allocation"]["devices"]
        assert given["config"] == [
            {"source": "FromClass", "requests": ["gpu"], **opaque},
            {"source": "FromClaim", **own},
        ]
        assert given["results"][0]["tolerations"] == [{"key": "bad", "operator": "Exists", "tolerationSeconds": 5}]


async def test_a_daemon_that_leads_no_longer_writes_nothing_more() -> None:
    leads = [True]
    slow = cluster_with(WAITS, DATA, GPUS, CLASS, provisioning=LONG)
    async with slow as cluster, claiming(cluster, permit=lambda: leads[0]) as at:
        one, two = at.pod(), at.pod()
        at.submit(
            at.bind(one, volumes=(at.choose("data"),), wait=("default/data",)),
            at.bind(two, devices=(at.give("gpus", allocation("n1", "gpu-0")),), reserve=("default/gpus",)),
        )
        await until(lambda: at.gangs.phases()[TransactionPhase.WAITING])
        leads[0] = False
        cluster.client.delete(VOLUME_CLAIMS, "default", "data")
        await until(lambda: not at.gangs.busy)
        assert {outcome.verdict for outcome in at.outcomes} == {BindOutcome.DROPPED}
        assert at.undone == []
        assert at.reserved("gpus") == ["p2"], "the next leader finds it"
