"""A shard goes from one daemon to another: nothing that the first has on its way meets what the second decides."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.support import devices, volumes
from tests.support.builders import merged
from tests.support.claiming import RESOURCE_CLAIMS, cluster_with
from tests.support.fault_proxy import faulty
from tests.support.killing import member, wrong
from tests.support.replicas import LEASES, WATCHFUL, Replica, bound_twice, overfull, replica
from tests.support.running import gang, node, nodes_of, podgroup
from tests.support.sharded import held, of_queue, queue
from tests.support.waiting import until
from vsched.daemon.lead.shards import ShardElection
from vsched.mirror.sharding import shard_of
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
NODES = [node(f"n{number}", cpu="8") for number in range(6)]
BINDINGS = r"POST .*/binding"
RENEWALS = 5
"""Of the Lease that is not given away: so often the daemon had its turn."""


def leaving(found: Replica) -> list[int]:
    assert isinstance(found.daemon.election, ShardElection)
    return sorted(found.daemon.election.leaving)


def renewal(cluster: Cluster) -> str:
    lease = cluster.client.get(LEASES, "kube-system", "vsched-0") or {}
    return str(lease["metadata"]["resourceVersion"])


def has_renewed(cluster: Cluster, before: str) -> bool:
    return renewal(cluster) != before


async def test_a_shard_goes_only_once_every_binding_on_its_nodes_has_ended_of_whatever_job() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy:
        cluster.apply([queue("a", 0), queue("b", 1)])
        async with replica(proxy.url, shards=2, lease=WATCHFUL) as first:
            await until(lambda: held(first) == [0, 1])
            proxy.hold(BINDINGS)
            cluster.apply(of_queue("a", gang("g", 30)))
            await until(lambda: proxy.holding == 30)
            async with replica(cluster.url, shards=2, lease=WATCHFUL) as second:
                cluster.apply(of_queue("b", gang("h", 18)))
                await until(lambda: leaving(first) == [1])
                for _ in range(RENEWALS):
                    await until(partial(has_renewed, cluster, renewal(cluster)))
                assert (leaving(first), held(second)) == ([1], [])
                proxy.let_go()
                await until(lambda: held(second) == [1])
                assert {shard_of(name, 2) for name in nodes_of(cluster, "g").values()} == {0, 1}
                await until(lambda: len(nodes_of(cluster)) == 48)
                assert bound_twice(cluster) == overfull(cluster, 8) == []


async def test_a_gang_that_waits_for_its_volumes_goes_to_the_next_daemon_with_what_it_has_reserved() -> None:
    manifests = (
        volumes.storage_class(),
        volumes.claim("data", namespace="default"),
        devices.device_class(),
        *(devices.resource_slice(name, 4) for name in ("n1", "n2")),
        devices.claim_template("gpus", namespace="default"),
        queue("b", 1),
    )
    group = merged(podgroup("g", 2), {"spec": {"queue": "b"}})
    async with (
        cluster_with(*manifests, provisioning=3600.0) as cluster,
        replica(cluster.url, shards=2, lease=WATCHFUL) as first,
    ):
        await until(lambda: held(first) == [0, 1])
        cluster.apply([group, member("g-0", "g", ("data",), "gpus"), member("g-1", "g", (), "gpus")])
        gangs = first.daemon._writes.claims.gangs
        await until(lambda: gangs.phases()["waiting"] == 1)
        reserved = [each["status"] for each in cluster.client.list(RESOURCE_CLAIMS)]
        async with replica(cluster.url, shards=2, lease=WATCHFUL) as second:
            await until(lambda: held(second) == [1])
            assert not gangs.busy
            taken_on = second.daemon._writes.claims.gangs
            await until(lambda: taken_on.phases()["waiting"] == 1)
            assert [each["status"] for each in cluster.client.list(RESOURCE_CLAIMS)] == reserved
            assert wrong(cluster) == []


async def test_who_takes_a_shard_over_sees_what_was_bound_although_its_watch_is_silent() -> None:
    async with Cluster(NODES) as cluster, faulty(cluster.url) as proxy:
        closed = merged(queue("c", 1), {"spec": {"capability": {"cpu": "1"}}})
        cluster.apply([queue("a", 0), queue("b", 1), closed])
        async with replica(proxy.url, shards=2, lease=WATCHFUL) as first:
            await until(lambda: held(first) == [0, 1])
            async with replica(cluster.url, shards=2, lease=WATCHFUL) as second:
                await until(lambda: (held(first), held(second)) == ([0], [1]))
                cluster.apply(of_queue("c", gang("c", 20)))
                await until(lambda: len(first.daemon.mirror.snapshot(0.0).active) == 1)
                proxy.silence("/api/v1/pods")
                cluster.apply(of_queue("b", gang("b", 24)))
                await until(lambda: len(nodes_of(cluster, "b")) == 24)
                await second.kill()
            cluster.apply([queue("c", 1)])
            cluster.client.patch(
                LEASES, "kube-system", "vsched-1", lambda found: merged(found, {"spec": {"holderIdentity": ""}})
            )
            await until(lambda: len(nodes_of(cluster, "c")) == 20)
            assert bound_twice(cluster) == overfull(cluster, 8) == []
