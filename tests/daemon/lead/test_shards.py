"""Daemons that share a cluster: each decides for its shards, and those of one that ends go to the others."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import orjson
import pytest

from tests.support.builders import merged
from tests.support.plans import NOW, manifests, mirror
from tests.support.replicas import LEASES, WATCHFUL, Replica, bound_twice, overfull, replica
from tests.support.running import gang, node, nodes_of, queue_status, status_of
from tests.support.sharded import held, of_queue, queue
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.lead.lending import LENT, Loan, Notes
from vsched.daemon.lead.shards import ShardElection
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.options import Options, check
from vsched.daemon.parts.shard_mirror import ShardMirror
from vsched.daemon.words import options as options_words
from vsched.daemon.words import states as words
from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LeaseSettings
from vsched.mirror.sharding import ShardDivision, shard_of
from vsched.mirror.turns import TURN_SECONDS
from vsched.model.plan import Bind, CycleReport
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
QUEUES = "scheduling.volcano.sh/queues"
NODES = [node(f"n{number}", cpu="8") for number in range(6)]


def has_bound(found: Replica, pods: int) -> bool:
    return found.value("vsched_pods_bound_total") == pods


@asynccontextmanager
async def several(url: str, count: int, shards: int = 2, **options: Any) -> AsyncIterator[list[Replica]]:
    """Daemons that have agreed on who decides for which shards."""
    async with AsyncExitStack() as stack:
        found: list[Replica] = []
        for _ in range(count):
            found.append(await stack.enter_async_context(replica(url, shards=shards, lease=WATCHFUL, **options)))
            if len(found) == 1:
                await until(lambda: held(found[0]) == [*range(shards)])
        fair = [*range(shards // count, -(-shards // count) + 1)]
        await until(lambda: all(len(held(one)) in fair for one in found))
        await until(lambda: sorted(shard for one in found for shard in held(one)) == [*range(shards)])
        yield found


def run_out(cluster: Cluster, shard: int) -> None:
    """The Lease of a shard whose daemon is dead has run out by now."""
    cluster.client.patch(
        LEASES, "kube-system", f"vsched-{shard}", lambda found: merged(found, {"spec": {"holderIdentity": ""}})
    )


async def test_two_daemons_decide_each_for_its_own_shard_and_none_binds_what_the_other_has() -> None:
    async with Cluster(NODES) as cluster:
        cluster.apply([queue("a", 0), queue("b", 1)])
        async with several(cluster.url, 2) as (first, second):
            await until(lambda: (held(first), held(second)) == ([0], [1]))
            for number in range(4):
                cluster.apply(of_queue("ab"[number % 2], gang(f"g{number}", 5)))
            await until(lambda: len(nodes_of(cluster, "g")) == 20)
            for one in (first, second):
                await until(partial(has_bound, one, 10))
            assert bound_twice(cluster) == overfull(cluster, 8) == []
            assert (first.daemon.rivals.bindings, second.daemon.rivals.bindings) == (0, 0)
            await until(lambda: [status_of(cluster, f"g{number}").get("running") for number in range(4)] == [5] * 4)
            # One of them says of queues what holds for the whole cluster.
            await until(lambda: [queue_status(cluster, name).get("running") for name in "ab"] == [2, 2])
            assert queue_status(cluster, "b")["allocated"]["cpu"] == "10"
            assert first.daemon.health.ready().details["shards"] == {"held": [0], "of": 2}
            assert first.daemon._writes.shards is not None
            whose = first.daemon._writes.shards.decided_by
            assert whose("default", "g1") == whose("default", "g1-0")
            assert isinstance(second.daemon.election, ShardElection)
            who = second.daemon.election.identity
            assert whose("default", "g1") == words.of_another_shard("default/g1", 1, who, "0")
            assert (whose("default", "g0"), whose("default", "g0-1"), whose("default", "x")) == ("", "", "")


async def test_the_shards_of_a_daemon_that_is_killed_go_to_the_others_with_all_it_did_for_the_cluster() -> None:
    async with Cluster(NODES) as cluster:
        cluster.apply([queue("a", 0), queue("b", 1)])
        async with several(cluster.url, 2) as (first, second):
            await until(lambda: held(second) == [1])
            cluster.apply(of_queue("a", gang("g", 5)))
            await until(lambda: len(nodes_of(cluster, "g")) == 5)
            await first.kill()
            cluster.apply([*of_queue("a", gang("h", 5)), *of_queue("b", gang("i", 5))])
            await until(lambda: len(nodes_of(cluster, "i")) == 5)
            assert not nodes_of(cluster, "h")
            run_out(cluster, 0)
            await until(lambda: len(nodes_of(cluster, "h")) == 5)
            assert held(second) == [0, 1]
            await until(lambda: queue_status(cluster, "a").get("running") == 2)
            assert bound_twice(cluster) == overfull(cluster, 8) == []


async def test_a_daemon_that_is_told_to_stop_gives_its_shards_back_at_once() -> None:
    async with Cluster(NODES) as cluster, several(cluster.url, 2, 3) as (first, second):
        await first.stop()
        await until(lambda: held(second) == [0, 1, 2])
        cluster.apply(gang("g", 5))
        await until(lambda: len(nodes_of(cluster, "g")) == 5)


async def test_shards_are_shared_out_evenly_as_daemons_come() -> None:
    async with Cluster(NODES) as cluster, several(cluster.url, 3, 6) as found:
        await until(lambda: [len(held(one)) for one in found] == [2, 2, 2])
        assert 0 in held(found[0]), "the first shard is never given away"


async def test_a_gang_that_is_too_large_for_the_nodes_of_its_shard_borrows_others() -> None:
    async with Cluster(NODES) as cluster:
        cluster.apply([queue("a", 0), queue("b", 1)])
        async with several(cluster.url, 2) as (first, second):
            cluster.apply(of_queue("b", gang("b", 3)))
            await until(lambda: len(nodes_of(cluster, "b")) == 3)
            assert {shard_of(name, 2) for name in nodes_of(cluster, "b").values()} == {1}
            cluster.apply(of_queue("a", gang("g", 40)))  # all nodes but what the other shard has taken
            await until(lambda: len(nodes_of(cluster, "g")) == 40)
            assert bound_twice(cluster) == overfull(cluster, 8) == []
            borrowed = {name for name in nodes_of(cluster, "g").values() if shard_of(name, 2) == 1}
            lease = cluster.client.get(LEASES, "kube-system", "vsched-1")
            assert borrowed == set(orjson.loads((lease or {})["metadata"]["annotations"][LENT]))
            # Whoever takes over a shard goes on from what its Lease says.
            await second.kill()
            cluster.apply(of_queue("b", gang("c", 2)))
            run_out(cluster, 1)
            await until(lambda: held(first) == [0, 1])
            await until(lambda: len(nodes_of(cluster, "c")) == 2)
            assert bound_twice(cluster) == overfull(cluster, 8) == []


async def test_what_was_read_of_another_shard_before_a_moment_does_not_count_after_it() -> None:
    async with Cluster(NODES) as cluster, several(cluster.url, 2) as (first, _):
        election = first.daemon.election
        assert isinstance(election, ShardElection)
        await until(lambda: held(first) == [0])
        await until(lambda: election.others(0.0).keys() == {1})
        since = election.now()
        assert election.others(since) == {}
        await until(lambda: election.others(since).keys() == {1})


async def test_a_daemon_whose_lease_is_taken_stops_writing_for_all_its_shards() -> None:
    async with Cluster(NODES) as cluster, replica(cluster.url, shards=2, lease=WATCHFUL) as one:
        await until(lambda: held(one) == [0, 1])
        taken = {"spec": {"holderIdentity": "another"}}
        cluster.client.patch(LEASES, "kube-system", "vsched-1", lambda found: merged(found, taken))
        election = one.daemon.election
        assert isinstance(election, ShardElection)
        await until(lambda: election.role == "lost")
        assert one.daemon._base.stopping.is_set()


async def test_where_pools_decide_a_queue_is_filled_to_its_capability_by_one_shard_at_a_time() -> None:
    pool = "volcano.sh/nodegroup-name"
    cache = mirror(
        manifests(
            f"""
            node n1 cpu=64 {pool}=a
            node n2 cpu=64 {pool}=g
            queue q capability=cpu:6
            job ns/a queue=q pods=4 cpu=1 selector={pool}:a
            job ns/g queue=q pods=4 cpu=1 selector={pool}:g
            """
        )
    )
    assert (shard_of("a", 2), shard_of("g", 2)) == (1, 0)
    clock, url = FakeClock(), Connection("http://nowhere")
    begin = NOW - NOW % TURN_SECONDS
    active = []
    async with ApiClient(url) as client:
        for shard in (0, 1):
            election = ShardElection(LeaseSettings(), 2, url, Telemetry(clock), lambda: None)
            election._electors[shard].leading.set()
            division = ShardDivision(2, "node-pool")
            found = ShardMirror(cache, election, division, client, ("vsched",), clock, lambda: None, None)
            active.append([found.snapshot(begin + turn * TURN_SECONDS + 1.0).active for turn in (0, 1)])
    assert active == [[(), ("ns/g",)], [("ns/a",), ()]]


async def test_whose_a_pod_is_follows_from_what_is_known_now_though_the_snapshot_is_older() -> None:
    text = "node n1 cpu=4\nqueue ours vsched.io/shard=0\nqueue theirs vsched.io/shard=1\n"
    later = mirror(manifests(text + "job ns/a queue=ours pods=1 cpu=1\njob ns/b queue=theirs pods=1 cpu=1"))
    cache, clock, url = mirror(manifests(text)), FakeClock(), Connection("http://nowhere")
    tasks = {job.key: next(iter(job.tasks.values())) for job in later.snapshot(NOW).jobs.values()}
    async with ApiClient(url) as client:
        election = ShardElection(LeaseSettings(), 2, url, Telemetry(clock), lambda: None)
        election._electors[0].leading.set()
        found = ShardMirror(cache, election, ShardDivision(2), client, ("vsched",), clock, lambda: None, None)
        assert not found.snapshot(NOW).jobs
        assert [found.owns(task) for task in tasks.values()] == [False, False]  # another daemon may know their jobs
        cache.stores.jobs.adopt(later.snapshot(NOW))
        assert {key: found.owns(task) for key, task in tasks.items()} == {"ns/a": True, "ns/b": False}


async def test_a_pod_on_a_node_of_another_shard_or_on_one_that_is_lent_may_be_bound_by_its_daemon() -> None:
    """It may know an older PodGroup of that name, in a queue of its own."""
    nodes = "".join(f"node n{number} cpu=4\n" for number in range(8))
    jobs = "queue ours vsched.io/shard=0\njob ns/a queue=ours pods=1 cpu=1"
    cache, clock, url = mirror(manifests(nodes + jobs)), FakeClock(), Connection("http://nowhere")
    async with ApiClient(url) as client:
        election = ShardElection(LeaseSettings(), 2, url, Telemetry(clock), lambda: None)
        election._electors[0].leading.set()
        found = ShardMirror(cache, election, ShardDivision(2), client, ("vsched",), clock, lambda: None, None)
        (task,) = found.snapshot(NOW).jobs["ns/a"].tasks.values()
        own, others = ([f"n{n}" for n in range(8) if found._slice_of(f"n{n}") == shard] for shard in (0, 1))
        found._lending.adopt(0, Notes({}, {own[0]: Loan(1, 1)}))
        owned = {node: found.owns(msgspec.structs.replace(task, node=node)) for node in (*own, *others)}
    assert owned == {**dict.fromkeys(own, True), own[0]: False, **dict.fromkeys(others, False)}


async def test_a_node_on_which_the_first_pods_of_a_gang_are_being_bound_is_not_lent() -> None:
    cache = mirror(manifests("node n1 cpu=4\nnode n2 cpu=4\njob ns/a pods=2 cpu=1\njob ns/b pods=2 cpu=1 running=n2"))
    clock, url = FakeClock(), Connection("http://nowhere")
    async with ApiClient(url) as client:
        election = ShardElection(LeaseSettings(), 2, url, Telemetry(clock), lambda: None)
        found = ShardMirror(cache, election, ShardDivision(2), client, ("vsched",), clock, lambda: None, None)
        assert found.snapshot(NOW).jobs
        assert found._binding() == set()
        pods = cache.snapshot(NOW).jobs["ns/a"].tasks.values()
        cache.assumptions.assume(CycleReport(binds=tuple(Bind(pod.uid, "ns", pod.name, "n1", "ns/a") for pod in pods)))
        found.snapshot(NOW)
        assert found._binding() == {"n1"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"shards": 0}, "--shards: 0"),
        ({"shards": 33}, "--shards: 33"),
        ({"shards": 2, "leader_elect": False}, options_words.SHARDS_WITHOUT_LEASES),
        ({"shards": 2, "node_pool_label": "a b"}, "--node-pool-label: 'a b'"),
        ({"sharding_name": "a/b"}, "--scheduler-sharding-name"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput, match=re.escape(problem)):
        check(Options(**{"leader_elect": True, **options}))
