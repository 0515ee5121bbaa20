"""A daemon that is killed while it binds a gang with volumes and devices: the next one binds all of it, or frees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import devices, volumes
from tests.support.claiming import cluster_with
from tests.support.killing import (
    CLAIM_WRITES,
    broken_promises,
    is_free,
    killed_after,
    killed_for_real,
    member,
    wrong,
)
from tests.support.running import nodes_of, podgroup, scheduling, sessions
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

LOCAL = volumes.storage_class("local", provisioner=volumes.NO_PROVISIONER)
MANIFESTS = (
    volumes.storage_class(),
    LOCAL,
    volumes.volume("pv", node="n1", storage_class="local"),
    volumes.claim("data", namespace="default"),
    volumes.claim("disk", namespace="default", storage_class="local"),
    devices.device_class(),
    devices.resource_slice("n1", 4),
    devices.resource_slice("n2", 4),
    devices.claim_template("gpus", namespace="default"),
)
GANG = [podgroup("g", 2), member("g-0", "g", ("data",), "gpus"), member("g-1", "g", ("disk",), "gpus")]
WRITES = 8
"""The node selected for one claim, the volume of the other, a finalizer and a status for each of two device claims,
and two bindings."""


def running(cluster: Cluster) -> int:
    return sum(each["status"].get("phase") == "Running" for each in cluster.client.list("pods"))


def cordon(cluster: Cluster) -> None:
    """Leave no room: what was reserved is of no use to the gang any more."""
    for name in ("n1", "n2"):
        cluster.client.patch("nodes", "", name, lambda node: {**node, "spec": {"unschedulable": True}})


@pytest.mark.parametrize("count", range(WRITES + 1))
async def test_the_next_daemon_binds_what_was_reserved(count: int) -> None:
    async with cluster_with(*MANIFESTS) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, CLAIM_WRITES, count)
        async with scheduling(cluster.url):
            await until(lambda: running(cluster) == 2)
            await cluster.settle()
            assert broken_promises(cluster) == []


@pytest.mark.real_time
async def test_the_same_with_kill_9(tmp_path: Path) -> None:
    async with cluster_with(*MANIFESTS) as cluster:
        cluster.apply(GANG)
        await killed_for_real(cluster, CLAIM_WRITES, WRITES - 1, tmp_path / "kubeconfig")
        async with scheduling(cluster.url):
            await until(lambda: running(cluster) == 2)
            await cluster.settle()
            assert broken_promises(cluster) == []


async def test_a_gang_is_bound_although_every_daemon_is_killed_after_its_first_write() -> None:
    async with cluster_with(*MANIFESTS) as cluster:
        cluster.apply(GANG)
        lives = 0
        while await killed_after(cluster, CLAIM_WRITES, 1):
            lives += 1
            assert lives <= WRITES, "a daemon writes what another has written, or takes it back"
            assert wrong(cluster) == []
        await until(lambda: running(cluster) == 2)
        await cluster.settle()
        assert broken_promises(cluster) == []


async def test_there_are_no_more_writes_than_those() -> None:
    async with cluster_with(*MANIFESTS) as cluster:
        cluster.apply(GANG)
        assert not await killed_after(cluster, CLAIM_WRITES, WRITES + 1)


@pytest.mark.parametrize("count", range(1, WRITES - 1))
async def test_the_next_daemon_frees_what_it_cannot_use(count: int) -> None:
    async with cluster_with(*MANIFESTS, provisioning=3600.0) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, CLAIM_WRITES, count)
        cordon(cluster)
        assert count < 3 or not is_free(cluster)
        async with scheduling(cluster.url):
            await until(lambda: is_free(cluster))
            assert nodes_of(cluster) == {}


UNDOING = range(WRITES - 1, WRITES + 4)
"""A node for one claim, a volume for the other, two writes for each device claim; then these are given back."""


@pytest.mark.parametrize("count", UNDOING)
async def test_a_daemon_that_is_killed_while_it_gives_back_leaves_the_rest_to_the_next_one(count: int) -> None:
    fails = volumes.storage_class(parameters={"provisioner.vsched.io/fail": "no more disks"})
    async with cluster_with(fails, *MANIFESTS[1:]) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, CLAIM_WRITES, count)
        cordon(cluster)
        async with scheduling(cluster.url) as daemon:
            await sessions(daemon, 2)
            await until(lambda: is_free(cluster))
            assert nodes_of(cluster) == {}
