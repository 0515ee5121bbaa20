"""What the demo and the benches stand on: sending, the record of pods, child processes, and bench-live, small."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import orjson
import pytest

from tests.support.running import PODGROUPS, node
from tests.support.waiting import until
from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.connection import Connection
from vsched.kube.deltas import Delta
from vsched.kube.errors import Conflict, NotFound
from vsched.lab.bench.live import as_table, measure_end_to_end
from vsched.lab.children import child, cluster_child, free_port, scratch
from vsched.lab.gangs import as_gang, create, submit
from vsched.lab.outcomes import Gang, PodOutcomes, PodSeen, pod_watch, spread_ms
from vsched.lab.sender import Obj, Sender
from vsched.sim.cluster import Cluster
from vsched.sim.fleet.sample_gangs import gang
from vsched.together import first_error


def seen(name: str, node: str = "", phase: str = "Pending") -> PodSeen:
    pod = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"nodeName": node}, "status": {"phase": phase}}
    return msgspec.convert(pod, PodSeen)


@pytest.fixture
def placed() -> list[Gang]:
    """Gangs of which all pods were seen on nodes."""
    return []


@pytest.fixture
def outcomes(placed: list[Gang]) -> PodOutcomes:
    """A outcomes in which a gang of two is expected and sent."""
    found = PodOutcomes(placed.append)
    found.expect(Gang("ns/g", "q", ("ns/g-0", "ns/g-1"), cpus=4))
    for pod in ("ns/g-0", "ns/g-1"):
        found.sending(pod)
    return found


class TestOutcomes:
    def test_a_gang_is_bound_once_all_its_pods_were_seen_on_nodes(
        self, outcomes: PodOutcomes, placed: list[Gang]
    ) -> None:
        outcomes.apply(Delta.MODIFIED, seen("g-0", "n1"))
        assert (outcomes.partial(), outcomes.waiting_cpus(), placed) == (["ns/g"], {("q", "ns"): 4}, [])
        outcomes.apply(Delta.MODIFIED, seen("g-1", "n1", "Running"))
        assert (outcomes.partial(), outcomes.bound, outcomes.gangs_bound, outcomes.per_second()) == ([], 2, 1, 2)
        assert placed[0].nodes == {"n1"}
        assert placed[0].bound_at >= placed[0].began > 0
        assert len(outcomes.latencies) == len(outcomes.by_queue["q"]) == 2
        assert outcomes.on_nodes == {"n1": 2}

    def test_what_is_told_twice_counts_once(self, outcomes: PodOutcomes, placed: list[Gang]) -> None:
        for _ in range(2):
            outcomes.apply(Delta.MODIFIED, seen("g-0", "n1", "Succeeded"))
            outcomes.replace([seen("g-1", "n2", "Failed")], "7")
        assert (outcomes.created, outcomes.bound, outcomes.finished, outcomes.gangs_bound, len(placed)) == (
            2,
            2,
            2,
            1,
            1,
        )
        assert list(outcomes.done) == placed
        assert (outcomes.on_nodes, outcomes.running["q"]) == ({}, 0)

    def test_pods_of_others_a_pod_that_goes_and_forgotten_gangs_change_nothing(self, outcomes: PodOutcomes) -> None:
        outcomes.apply(Delta.ADDED, seen("stranger", "n1"))
        outcomes.apply(Delta.DELETED, seen("g-0", "n1"))
        outcomes.forget(outcomes.gangs["ns/g"])
        outcomes.apply(Delta.MODIFIED, seen("g-1", "n1"))
        assert (outcomes.bound, outcomes.gangs, outcomes.waiting()) == (0, {}, {})

    def test_a_spread_of_nothing_is_zero(self) -> None:
        assert spread_ms([]) == {"p50": 0.0, "p99": 0.0}
        assert spread_ms([0.001, 0.003]) == {"p50": 2.0, "p99": 2.98}


class TestSending:
    async def test_a_gang_is_created_whole_owned_by_its_podgroup_and_followed(self) -> None:
        async with (
            Cluster([node("n1")]) as cluster,
            Sender(cluster.url, connections=2) as sender,
            ApiClient(Connection(cluster.url)) as client,
        ):
            objects = gang("g", "default", "default", 5, {"cpu": "1"}, 60.0)
            outcomes = PodOutcomes()
            watch = asyncio.create_task(pod_watch(client, outcomes).run())
            await submit(sender, outcomes, as_gang(objects, "default", 1), objects)
            group = cluster.client.get(PODGROUPS, "default", "g")
            assert group is not None
            for pod in cluster.client.list("pods", "default"):
                assert pod["metadata"]["ownerReferences"][0]["uid"] == group["metadata"]["uid"]
            assert (outcomes.created, outcomes.waiting()) == (5, {("default", "default"): 5})
            for number in range(5):
                binding = {"metadata": {"name": f"g-{number}"}, "target": {"kind": "Node", "name": "n1"}}
                path = f"/api/v1/namespaces/default/pods/g-{number}/binding"
                await sender.send("POST", path, orjson.dumps({"apiVersion": "v1", "kind": "Binding", **binding}))
            await until(lambda: outcomes.gangs_bound == 1)
            watch.cancel()

    async def test_a_refusal_is_the_servers_and_the_connection_goes_on(self) -> None:
        async with Cluster() as cluster, Sender(cluster.url, connections=1) as sender:
            namespace: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
            assert (await create(sender, namespace))["metadata"]["uid"]
            with pytest.raises(Conflict, match="already exists"):
                await create(sender, namespace)
            with pytest.raises(NotFound):
                await sender.send("GET", "/api/v1/namespaces/other")
            assert orjson.loads(await sender.send("GET", "/api/v1/namespaces/n"))["metadata"]["name"] == "n"

    async def test_a_gang_that_is_refused_raises_the_first_refusal(self) -> None:
        async with Cluster() as cluster, Sender(cluster.url) as sender:
            objects = gang("g", "nowhere", "default", 2, {"cpu": "1"}, 60.0)
            with pytest.raises(ExceptionGroup) as caught:
                await submit(sender, PodOutcomes(), as_gang(objects, "default", 1), objects)
        assert isinstance(first_error(caught.value), NotFound)

    async def test_a_server_that_is_gone_is_unavailable_and_one_that_is_back_is_used(self) -> None:
        port = free_port()
        async with Sender(f"http://127.0.0.1:{port}", connections=1) as sender:
            with pytest.raises(Unavailable):
                await sender.send("GET", "/version")
            for _ in range(2):
                async with Cluster(port=port):
                    assert b"gitVersion" in await sender.send("GET", "/version")


class TestChildren:
    async def test_one_that_cannot_start_is_told_in_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(Unavailable, match=r"^the cluster ended with exit code 1: .*no-such-fleet") as caught:
            async with child("cluster", ("cluster", "--nodes", "no-such-fleet.yaml"), tmp_path / "log") as started:
                await started.ended()
        assert "\n" not in str(caught.value)

    async def test_a_cluster_answers_while_the_block_runs_and_is_gone_after_it(self) -> None:
        async with scratch() as directory:
            async with (
                cluster_child(2, directory) as cluster,
                Sender(cluster.connection.server) as sender,
            ):
                assert len(orjson.loads(await sender.send("GET", "/api/v1/nodes"))["items"]) == 2
            assert cluster.child.process.returncode == 0
        assert not directory.exists()


def test_the_whole_way_is_measured() -> None:
    result = measure_end_to_end(nodes=4, pods=30, gang=8, seed=1, singles=3)
    assert result["pods_per_second"] > 0
    assert result["api_writes_per_pod"]["binding"] == 1.0
    assert 0 < result["single_latency_ms"]["p50"] <= result["single_latency_ms"]["p99"] < 1000
    assert as_table(result).row_count > 5


def test_pods_that_cannot_fit_are_refused_before_anything_starts() -> None:
    with pytest.raises(BadInput, match="do not fit 1 nodes"):
        measure_end_to_end(nodes=1, pods=40, gang=8, seed=1)
