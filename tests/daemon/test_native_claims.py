"""Claims that the pods of a native PodGroup share: reserved once, for the group, and given back with it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import devices, volumes
from tests.support.claiming import NS, RESOURCE_CLAIMS, cluster_with, machine
from tests.support.killing import CLAIM_WRITES, broken_promises, is_free, killed_after
from tests.support.native_claims import GROUPS, VERSION, claims_of, consumers, group, made_for, member, members
from tests.support.running import condition_of, digested, nodes_of, reasons_of, scheduling, sessions
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
MANIFESTS = (
    devices.device_class(),
    devices.resource_slice("n1", 1),
    devices.resource_slice("n2", 1),
    devices.claim_template("gpus", namespace=NS),
)
SHARED = {"gpu": "template/gpus"}
OLDER = "v1alpha2"


def running(cluster: Cluster) -> int:
    return sum(each["status"].get("phase") == "Running" for each in cluster.client.list("pods"))


@pytest.mark.parametrize("version", [VERSION, OLDER])
async def test_a_claim_of_a_template_is_made_once_and_reserved_for_the_group(version: str) -> None:
    async with cluster_with(*MANIFESTS, native=(version,)) as cluster, scheduling(cluster.url):
        cluster.apply([group("g", 3, version, **SHARED), *members("g", 3, **SHARED)])
        await until(lambda: running(cluster) == 3)
        [claim] = claims_of(cluster)
        assert made_for(cluster, "g") == {"gpu": claim["metadata"]["name"]}
        assert consumers(claim) == [("podgroups", "g")]
        [reserved] = claim["status"]["reservedFor"]
        found = cluster.client.get(GROUPS, NS, "g")
        assert found is not None
        assert (reserved["apiGroup"], reserved["uid"]) == ("scheduling.k8s.io", found["metadata"]["uid"])
        assert len(set(nodes_of(cluster).values())) == 1, "the device is on one node"
        assert broken_promises(cluster) == []

        cluster.apply([member("late", "g", **SHARED)])
        await until(lambda: running(cluster) == 4)
        [claim] = claims_of(cluster)
        assert consumers(claim) == [("podgroups", "g")]


async def test_a_claim_is_freed_with_its_group_and_not_with_its_pods() -> None:
    async with cluster_with(*MANIFESTS, native=(VERSION,)) as cluster, scheduling(cluster.url) as daemon:
        cluster.apply([group("g", 2, **SHARED), *members("g", 2, **SHARED)])
        await until(lambda: running(cluster) == 2)
        for name in ("g-0", "g-1"):
            cluster.client.delete("pods", NS, name)
        await digested(cluster, daemon)
        [claim] = claims_of(cluster)
        assert consumers(claim) == [("podgroups", "g")], "who made the group decides when it needs nothing any more"

        cluster.client.delete(GROUPS, NS, "g")
        await until(lambda: not claims_of(cluster))
        cluster.apply([group("h", 2, **SHARED), *members("h", 2, **SHARED)])
        await until(lambda: running(cluster) == 2)


async def test_a_claim_by_name_is_reserved_for_each_group_that_names_it_and_for_other_pods() -> None:
    asked = devices.resource_claim("one", namespace=NS)
    async with cluster_with(*MANIFESTS, asked, native=(VERSION,)) as cluster, scheduling(cluster.url):
        cluster.apply([group("g", 2, gpu="one"), *members("g", 2, gpu="one")])
        await until(lambda: running(cluster) == 2)
        cluster.apply([group("h", 2, gpu="one"), *members("h", 2, gpu="one")])
        await until(lambda: running(cluster) == 4)
        cluster.apply([group("plain", 1), member("own", "plain", gpu="one")])
        await until(lambda: running(cluster) == 5)
        [claim] = claims_of(cluster)
        assert sorted(consumers(claim)) == [("podgroups", "g"), ("podgroups", "h"), ("pods", "own")]
        assert broken_promises(cluster) == []


async def test_an_entry_of_another_name_is_the_claim_of_the_pod_itself() -> None:
    async with cluster_with(*MANIFESTS, native=(VERSION,)) as cluster, scheduling(cluster.url):
        pods = [member("g-0", "g", **SHARED), member("g-1", "g", own="template/gpus")]
        cluster.apply([group("g", 2, **SHARED), *pods])
        await until(lambda: running(cluster) == 2)
        assert sorted(consumers(each)[0] for each in claims_of(cluster)) == [("podgroups", "g"), ("pods", "g-1")]
        assert len(set(nodes_of(cluster).values())) == 2, "no device belongs to both claims"


async def test_a_group_for_which_no_device_is_left_waits_whole_and_starts_when_another_goes() -> None:
    async with cluster_with(*MANIFESTS, native=(VERSION,)) as cluster, scheduling(cluster.url) as daemon:
        for name in ("a", "b"):
            cluster.apply([group(name, 2, **SHARED), *members(name, 2, **SHARED)])
        await until(lambda: running(cluster) == 4)
        cluster.apply([group("c", 2, **SHARED), *members("c", 2, **SHARED)])
        await until(
            lambda: (
                condition_of(cluster.client.get(GROUPS, NS, "c"), "PodGroupInitiallyScheduled").get("status") == "False"
            )
        )
        await digested(cluster, daemon)
        assert not nodes_of(cluster, "c-")

        for name in ("a-0", "a-1"):
            cluster.client.delete("pods", NS, name)
        cluster.client.delete(GROUPS, NS, "a")
        await until(lambda: len(nodes_of(cluster, "c-")) == 2)
        await until(lambda: running(cluster) == 4)
        assert broken_promises(cluster) == []


async def test_more_pods_than_a_claim_could_be_reserved_for_share_it() -> None:
    count = 260
    machines = [machine("n1"), machine("n2")]
    for each in machines:
        each["status"]["allocatable"].update(cpu="400", pods="400")
    async with cluster_with(*MANIFESTS, nodes=machines, native=(VERSION,)) as cluster, scheduling(cluster.url):
        cluster.apply([group("g", count, **SHARED), *members("g", count, **SHARED)])
        await until(lambda: len(nodes_of(cluster)) == count)
        [claim] = claims_of(cluster)
        assert consumers(claim) == [("podgroups", "g")]


# -- killed


GANG = [group("g", 2, **SHARED), *members("g", 2, **SHARED)]
WRITES = 4
"""A finalizer and a status of the claim, and two bindings."""


@pytest.mark.parametrize("count", range(WRITES + 1))
async def test_the_next_daemon_binds_what_was_reserved_for_a_group(count: int) -> None:
    async with cluster_with(*MANIFESTS, native=(VERSION,)) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, CLAIM_WRITES, count)
        async with scheduling(cluster.url):
            await until(lambda: running(cluster) == 2)
            await cluster.settle()
            assert broken_promises(cluster) == []
            assert [consumers(each) for each in claims_of(cluster)] == [[("podgroups", "g")]]


async def test_the_next_daemon_frees_what_a_group_cannot_use() -> None:
    async with cluster_with(*MANIFESTS, native=(VERSION,)) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, CLAIM_WRITES, 2)
        for name in ("n1", "n2"):
            cluster.client.patch("nodes", "", name, lambda node: {**node, "spec": {"unschedulable": True}})
        assert not is_free(cluster)
        async with scheduling(cluster.url) as daemon:
            await until(lambda: is_free(cluster))
            await sessions(daemon, 1)
            assert nodes_of(cluster) == {}


async def test_what_is_reserved_stays_while_one_pod_of_the_group_has_a_node() -> None:
    async with cluster_with(*MANIFESTS, native=(VERSION,)) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, CLAIM_WRITES, WRITES - 1)
        assert len(nodes_of(cluster)) == 1
        for name in ("n1", "n2"):
            cluster.client.patch("nodes", "", name, lambda node: {**node, "spec": {"unschedulable": True}})
        async with scheduling(cluster.url) as daemon:
            await digested(cluster, daemon)
            [claim] = cluster.client.list(RESOURCE_CLAIMS, NS)
            assert consumers(claim) == [("podgroups", "g")]
            assert len(nodes_of(cluster)) == 1


# -- given back


FAILING = volumes.storage_class("broken", parameters={"provisioner.vsched.io/fail": "no more disks"})


def with_disk(pod: Obj) -> Obj:
    """The pod with a volume that nobody can make."""
    return {**pod, "spec": {**pod["spec"], "volumes": volumes.claim_volumes("disk")}}


async def test_what_was_reserved_for_a_group_is_given_back_when_one_of_its_pods_cannot_be_bound() -> None:
    disk = volumes.claim("disk", namespace=NS, storage_class="broken")
    async with cluster_with(*MANIFESTS, FAILING, disk, native=(VERSION,)) as cluster, scheduling(cluster.url):
        first, second = members("g", 2, **SHARED)
        cluster.apply([group("g", 2, **SHARED), first, with_disk(second)])
        told = "PodGroupInitiallyScheduled"
        await until(lambda: condition_of(cluster.client.get(GROUPS, NS, "g"), told).get("reason") == "SchedulerError")
        assert "no volume could be made" in condition_of(cluster.client.get(GROUPS, NS, "g"), told)["message"]
        assert not nodes_of(cluster)
        cluster.client.delete("pods", NS, "g-1")
        await until(lambda: is_free(cluster))


async def test_what_a_group_uses_stays_when_a_later_pod_cannot_be_bound() -> None:
    disk = volumes.claim("disk", namespace=NS, storage_class="broken")
    async with cluster_with(*MANIFESTS, FAILING, disk, native=(VERSION,)) as cluster, scheduling(cluster.url):
        first, second = members("g", 2, **SHARED)
        cluster.apply([group("g", 1, **SHARED), first])
        await until(lambda: running(cluster) == 1)
        cluster.apply([with_disk(second)])
        await until(lambda: "FailedBinding" in reasons_of(cluster, "g-1"))
        await cluster.settle()
        [claim] = claims_of(cluster)
        assert consumers(claim) == [("podgroups", "g")]
        assert (running(cluster), broken_promises(cluster)) == (1, [])
