"""Daemons that share a cluster and divide it among namespaces: one acts, the others keep to the same shares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from tests.support.builders import merged
from tests.support.plans import NOW, manifests, mirror
from tests.support.replicas import LEASES, WATCHFUL, Replica, bound_twice, replica
from tests.support.running import Obj
from tests.support.sharded import queue
from tests.support.sharing import (
    ALLOCATIONS,
    QUICK,
    RULES,
    allocation,
    consumer,
    cpus,
    deployment,
    evicted,
    machine,
    namespace,
    overused,
    rounds,
    runs,
    scale,
)
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.arbitrate.sharing import PROMISED, Together
from vsched.daemon.lead.shards import ShardElection, shards_held
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.parts.shard_mirror import ShardMirror
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LeaseSettings
from vsched.mirror.sharding import ShardDivision
from vsched.mirror.turns import TURN_SECONDS
from vsched.model.arbitration.records import WHOLE, Ceiling
from vsched.sim.cluster import Cluster


def work(where: str, replicas: int, queue: str) -> Obj:
    """A Deployment ``web`` in a queue."""
    said = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": queue}}}
    return merged(deployment(where, replicas, "vsched", memory="64Mi"), {"spec": {"template": said}})


def held(found: Replica) -> list[int]:
    told: Any = shards_held(found.daemon.election)
    return list(told["held"])


def lease(cluster: Cluster) -> Obj:
    return cluster.client.get(LEASES, "kube-system", "vsched-0") or {}


def run_out(cluster: Cluster) -> None:
    """The first shard's Lease has run out by now."""
    cluster.client.patch(
        LEASES, "kube-system", "vsched-0", lambda found: merged(found, {"spec": {"holderIdentity": ""}})
    )


@asynccontextmanager
async def two(cluster: Cluster, *, arbitrate: bool = True) -> AsyncIterator[tuple[Replica, Replica]]:
    """Daemons that arbitrate, each with one of two shards."""
    cluster.apply([queue("a", 0), queue("b", 1)])
    quick: dict[str, Any] = {"rules": RULES, "period_seconds": 0.1, "lease": WATCHFUL, "shards": 2}
    quick["arbitrate"] = arbitrate
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(replica(cluster.url, **quick))
        await until(lambda: held(first) == [0, 1])
        second = await stack.enter_async_context(replica(cluster.url, **quick))
        await until(lambda: (held(first), held(second)) == ([0], [1]))
        yield first, second


def written(found: Replica) -> float:
    """How many Allocations a daemon has made or changed."""
    return found.value("vsched_api_writes_total", kind="allocation", code="200") + found.value(
        "vsched_api_writes_total", kind="allocation", code="201"
    )


async def test_one_arbitrates_both_keep_to_it_and_the_other_takes_over_when_it_is_killed() -> None:
    async with Cluster([machine(f"n{number}") for number in range(4)], settings=QUICK) as cluster, two(cluster) as both:
        first, second = both
        cluster.apply([namespace("one"), work("one", 4, "a")])
        await until(lambda: runs(cluster) == {"one": 4} and cpus(cluster, "one") == ["4"])
        cluster.apply([namespace("two"), work("two", 4, "b")])
        await until(lambda: runs(cluster) == {"one": 2, "two": 2})
        await until(lambda: overused(cluster, "one") == "False")
        await rounds(first.daemon, 3)
        await rounds(second.daemon, 3)
        assert runs(cluster) == {"one": 2, "two": 2}
        assert (evicted(first.daemon), evicted(second.daemon)) == ({"one": 2}, {})
        assert second.value("vsched_pods_bound_total") >= 2, "it placed what it was given room for"
        found = [each.daemon.telemetry.findings.arbitrated for each in both]
        assert all(one is not None and one.division.namespaces["two"].deserved["cpu"] == 2000 for one in found)
        assert (written(first) > 0, written(second)) == (True, 0)

        await first.kill()
        cluster.apply([namespace("three")])
        scale(cluster, "two", 0)
        await rounds(second.daemon, 3)
        assert allocation(cluster, "three") == {}, "nobody acts yet"
        run_out(cluster)
        await until(lambda: held(second) == [0, 1] and runs(cluster) == {"one": 4})
        await until(lambda: allocation(cluster, "three"))
        scale(cluster, "two", 4)
        await until(lambda: runs(cluster) == {"one": 2, "two": 2})
        await until(lambda: evicted(second.daemon) == {"one": 2})
        assert bound_twice(cluster) == []


async def test_a_namespace_with_work_in_two_shards_is_filled_to_its_limit_by_both_in_turn() -> None:
    known = [namespace("one"), consumer("one", hard={"cpu": "3"})]
    nodes = [machine(f"n{number}", cpu="4") for number in range(4)]
    async with Cluster(nodes, manifests=known, settings=QUICK) as cluster, two(cluster) as both:
        await until(lambda: cluster.client.get(ALLOCATIONS, "one", "defaults"))
        one, other = work("one", 4, "a"), work("one", 4, "b")
        cluster.apply([one, merged(other, {"metadata": {"name": "more"}})])
        await until(lambda: runs(cluster)["one"] >= 3)
        for each in both:
            await rounds(each.daemon, 2)
        assert (evicted(both[0].daemon), evicted(both[1].daemon)) == ({}, {})


async def test_until_when_room_is_kept_is_on_the_lease_of_the_first_shard() -> None:
    # No rounds run here, which would say that no room is kept.
    async with Cluster([machine("n0")], settings=QUICK) as cluster, two(cluster, arbitrate=False) as both:
        here, there = (sharing_of(each) for each in both)
        assert (here.acts(), there.acts()) == (True, False)
        here.promise(4e9)
        await until(lambda: there.promised(3e9))
        assert lease(cluster)["metadata"]["annotations"][PROMISED] == "4000000000"
        assert not there.promised(4e9)
        here.promise(0.0)
        await until(lambda: not there.promised(3e9))
        assert PROMISED not in lease(cluster)["metadata"].get("annotations", {})


def sharing_of(found: Replica) -> Together:
    election, shards = found.daemon.election, found.daemon._writes.shards
    assert isinstance(election, ShardElection)
    assert shards is not None
    return Together(shards, election)


async def test_jobs_that_wait_for_their_turn_are_left_out_and_what_changed_meanwhile_is_told_then() -> None:
    cache = mirror(
        manifests(
            """
            node n1 cpu=64
            queue a vsched.io/shard=0
            queue b vsched.io/shard=1
            job one/a queue=a pods=4 cpu=1
            job one/b queue=b pods=4 cpu=1
            job two/a queue=a pods=4 cpu=1
            """
        )
    )
    clock = FakeClock()
    election = ShardElection(LeaseSettings(), 2, Connection("http://nowhere"), Telemetry(clock), lambda: None)
    election._electors[0].leading.set()
    async with ApiClient(Connection("http://nowhere")) as client:
        shards = ShardMirror(
            cache,
            election,
            ShardDivision(2),
            client,
            ("vsched",),
            clock,
            lambda: None,
            None,
        )
    sharing = Together(shards, election)
    cpu = cache.axis.column("cpu")
    limited = {"one": Ceiling({cpu: 4000}, deserved={cpu: 4000}, pools=(WHOLE,))}
    begin = NOW - NOW % (2 * TURN_SECONDS)
    found = []
    for at in (begin + 1.0, begin + 1.0 + TURN_SECONDS):
        snapshot = sharing.in_turn(replace(sharing.snapshot(at), ceilings=limited))
        found.append((list(snapshot.active), [key for key in snapshot.changed if key != "one/b"]))
    assert found == [(["two/a"], ["two/a"]), (["one/a", "two/a"], ["one/a"])], "the second turn is ours"
    unlimited = sharing.in_turn(sharing.snapshot(begin))
    assert unlimited.active == ("one/a", "two/a")
