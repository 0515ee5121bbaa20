"""Gates of queues at an embedded cluster with the daemon: opened once there is room, kept for those let in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_proxy import faulty
from tests.support.queue_commands import QUEUES, events, queue
from tests.support.running import node, nodes_of, pod, podgroup, scheduling
from tests.support.waiting import until
from vsched.mirror.ingest.annotations import QUEUE_GATE
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
CAPACITY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: capacity
  - name: predicates
"""


def gated(
    name: str, group: str = "", cpu: str = "1", gates: tuple[str, ...] = (QUEUE_GATE,), asks: str = "true"
) -> Obj:
    made = pod(name, group, cpu)
    made["metadata"]["annotations"] |= {QUEUE_GATE: asks, "scheduling.volcano.sh/queue-name": "q"}
    made["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
    return made


def shut(cluster: Cluster) -> set[str]:
    """The pods that have a gate."""
    return {found["metadata"]["name"] for found in cluster.client.list("pods") if found["spec"].get("schedulingGates")}


@pytest.fixture
def policy(tmp_path: Path) -> dict[str, Path]:
    file = tmp_path / "policy.yaml"
    file.write_text(CAPACITY)
    return {"policy_file": file}


async def test_a_pod_is_let_in_and_then_placed(policy: dict[str, Path]) -> None:
    async with Cluster([node("n1")], manifests=[queue("q"), gated("p")]) as cluster, scheduling(cluster.url, **policy):
        await until(lambda: nodes_of(cluster) == {"p": "n1"})
        assert shut(cluster) == set()


@pytest.mark.parametrize(
    ("made", "options"),
    [
        pytest.param(gated("p", gates=(QUEUE_GATE, "other.io/wait")), {}, id="has another gate"),
        pytest.param(gated("p", asks="false"), {}, id="does not ask for it"),
        pytest.param(gated("p"), {"gate_controller": False}, id="is left to others"),
    ],
)
async def test_a_gate_stays_shut_where_the_pod(made: Obj, options: dict[str, Any]) -> None:
    async with Cluster([node("n1")], manifests=[queue("q"), made, pod("free")]) as cluster:
        async with scheduling(cluster.url, **options):
            await until(lambda: nodes_of(cluster) == {"free": "n1"})
        assert shut(cluster) == {"p"}


async def test_as_many_are_let_in_as_the_queue_has_room_for_whether_there_are_nodes_or_not(
    policy: dict[str, Path],
) -> None:
    """No node takes pods: those that are let in wait, and the room of their queue is kept for them."""
    pods = [gated(f"p{number}") for number in range(4)]
    bounded = queue("q", capability={"cpu": "2"})
    cordoned = node("n1") | {"spec": {"unschedulable": True}}
    async with Cluster([cordoned], manifests=[bounded, *pods]) as cluster:
        async with scheduling(cluster.url, **policy):
            await until(lambda: len(shut(cluster)) == 2)
            left = shut(cluster)
            told = "queue q allows 2 cpu: 2 held, 1 more asked"
            await until(lambda: any(told in _said(cluster, name) for name in left))
        async with scheduling(cluster.url, **policy) as daemon:  # another one knows as much
            small = pod("small", cpu="100m")
            small["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "q"}
            cluster.apply([small])
            await until(lambda: "FailedScheduling" in events(cluster, "small") or _said(cluster, "small"))
            assert (shut(cluster), nodes_of(cluster)) == (left, {})
            cluster.apply([node("n2")])
            await until(lambda: nodes_of(cluster).keys() == {"p0", "p1", "p2", "p3"} - left)
            assert shut(cluster) == left
            for name in set(nodes_of(cluster)):
                cluster.client.delete("pods", "default", name, grace_seconds=0)
            await until(lambda: len(nodes_of(cluster)) == 2)
            assert daemon.mirror.describe()["assumed_ungated"] == 0


def _said(cluster: Cluster, name: str) -> str:
    """What is said of a bare pod, on itself or on its PodGroup."""
    found = cluster.client.get("pods", "default", name)
    assert found is not None
    told = [condition.get("message", "") for condition in found["status"].get("conditions") or ()]
    return " ".join([*told, *events(cluster, f"podgroup-{found['metadata']['uid']}").values()])


async def test_a_gang_is_let_in_whole_or_not_at_all(policy: dict[str, Path]) -> None:
    made = [podgroup("g", 3, queue="q"), *(gated(f"g-{number}", "g") for number in range(3))]
    bounded = queue("q", capability={"cpu": "2"})
    async with (
        Cluster([node("n1")], manifests=[bounded, *made]) as cluster,
        scheduling(cluster.url, **policy),
    ):
        await until(lambda: "queue q may hold 2 cpu at most: 3 asked" in events(cluster, "g").get("Unschedulable", ""))
        assert len(shut(cluster)) == 3
        change = {"capability": {"cpu": "3"}}
        cluster.client.patch(QUEUES, "", "q", lambda obj: {**obj, "spec": {**obj["spec"], **change}})
        await until(lambda: len(nodes_of(cluster)) == 3)


async def test_a_gate_that_cannot_be_opened_at_once_is_opened_later(policy: dict[str, Path]) -> None:
    async with Cluster([node("n1")], manifests=[queue("q"), gated("p")]) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("PATCH", ".*/pods/p", 409, times=1)
        proxy.spoil("PATCH", ".*/pods/p", 503, times=1)
        proxy.spoil("PATCH", ".*/pods/p", 0, times=1)
        async with scheduling(proxy.url, podgroup_controller=False, **policy):
            await until(lambda: nodes_of(cluster) == {"p": "n1"})
        assert proxy.seen["PATCH pods", 409] == proxy.seen["PATCH pods", 503] == 1
