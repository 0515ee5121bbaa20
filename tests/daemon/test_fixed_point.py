"""A contended cluster whose evicted pods come back at once: evictions end, and hundreds of sessions change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.owners import lives, machine, queue, replica_set, running
from tests.support.running import podgroup, scheduling, sessions
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

SESSIONS, RESTLESS = 210, 70
"""How many sessions are watched, and in how many of them, the first ones, pods may be evicted."""
AT_ONCE = ClusterSettings(ControllerSettings(PodTimes(termination=0.0)))
POLICIES = Path(__file__).parents[2] / "config" / "policies"
SPARE = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableJobStarving: false  # also jobs that have their minimum want more
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: capacity
    enableReclaimable: false  # any queue may lose what its jobs can spare, deserved or not
  - name: nodeorder
"""
HIERARCHY = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: gang
  - name: conformance
  - name: drf
  - name: capacity
    enableHierarchy: true
    arguments: {ancestorReclaimLevel: 1}
- plugins:
  - name: priority
    enablePreemptable: false
  - name: predicates
  - name: nodeorder
"""
CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    for name, value in (("low", 10), ("usual", 100), ("high", 1000))
]
Obj = dict[str, Any]


class Work(NamedTuple):
    """A PodGroup and the ReplicaSet that keeps up its pods."""

    name: str
    queue: str
    size: int
    minimum: int
    cpu: int
    memory: int
    priority: str = "usual"

    def objects(self) -> list[Obj]:
        requests = {"cpu": str(self.cpu), "memory": f"{self.memory}Gi"}
        return [
            podgroup(self.name, self.minimum, queue=self.queue, priorityClassName=self.priority),
            replica_set(self.name, self.size, requests, priorityClassName=self.priority),
        ]


FIRST = (
    Work("a-filler", "a", 10, 5, 1, 1, "low"),
    Work("a-gang", "a", 8, 8, 1, 2),
    Work("b-filler", "b", 5, 2, 1, 4),
    Work("b-low", "b", 3, 1, 2, 1, "low"),
)
"""They all but fill the cluster before anybody else is there: 29 of 30 CPUs."""
LATER = (
    Work("a-urgent", "a", 3, 3, 1, 2, "high"),
    Work("b-urgent", "b", 4, 3, 1, 1, "high"),
    Work("c-gang", "c", 4, 4, 1, 2),
    Work("c-elastic", "c", 4, 2, 1, 1),
    Work("c-high", "c", 2, 2, 2, 4, "high"),
    Work("c-huge", "c", 3, 3, 5, 1, "high"),
)
"""They come then; the last one never fits."""


def queues(**parents: str) -> list[Obj]:
    terms: dict[str, Obj] = {
        "a": {"weight": 1, "deserved": {"cpu": "8", "memory": "30Gi"}, "guarantee": {"resource": {"cpu": "4"}}},
        "b": {"weight": 1, "deserved": {"cpu": "8", "memory": "30Gi"}, "capability": {"cpu": "14"}},
        "c": {"weight": 2, "deserved": {"cpu": "14", "memory": "60Gi"}},
    }
    made = [
        queue(name, **spec, **({"parent": parents[name]} if name in parents else {})) for name, spec in terms.items()
    ]
    return [*(queue(name, deserved={"cpu": "16", "memory": "60Gi"}) for name in set(parents.values())), *made]


def who_runs_where(cluster: Cluster) -> dict[str, str]:
    """The nodes of all pods that have one, by uid."""
    return {
        found["metadata"]["uid"]: found["spec"]["nodeName"]
        for found in cluster.client.list("pods", "default")
        if found["spec"].get("nodeName")
    }


def evicted(daemon: Daemon) -> int:
    """How many pods were evicted so far."""
    value = daemon.telemetry.registry.get_sample_value
    labels = [{"action": action, "verdict": "evicted"} for action in ("preempt", "reclaim")]
    return int(sum(value("vsched_evictions_total", each) or 0 for each in labels))


def torn(cluster: Cluster) -> list[str]:
    """The PodGroups of which some pods run, but fewer than their minimum."""
    found = running(cluster)
    return [work.name for work in (*FIRST, *LATER) if 0 < found[work.name] < work.minimum]


@pytest.mark.parametrize(
    ("policy", "parents"),
    [
        pytest.param((POLICIES / "taking-back.yaml").read_text(encoding="utf-8"), {}, id="proportion"),
        pytest.param(SPARE, {}, id="capacity, and whatever can be spared goes"),
        pytest.param(HIERARCHY, {"a": "ab", "b": "ab"}, id="capacity in a tree, and drf"),
    ],
)
async def test_evictions_end_and_hundreds_of_sessions_later_all_is_as_it_was(
    policy: str, parents: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(policy, encoding="utf-8")
    nodes = [machine(f"n{number}", cpu="5", memory="25Gi") for number in range(6)]
    async with Cluster(nodes, settings=AT_ONCE) as cluster:
        async with scheduling(cluster.url, policy_file=path):
            cluster.apply([*CLASSES, *queues(**parents), *(one for work in FIRST for one in work.objects())])
            await until(lambda: running(cluster) == {work.name: work.size for work in FIRST})
        # Nobody decides while they come: what queues deserve goes by who is there, and so does who is spared.
        cluster.apply([one for work in LATER for one in work.objects()])
        await until(lambda: len(cluster.client.list("pods", "default")) == sum(work.size for work in (*FIRST, *LATER)))
        async with scheduling(cluster.url, period_seconds=0.002, policy_file=path) as daemon:
            await until(lambda: running(cluster).keys() >= {"a-gang", "b-urgent", "c-elastic", "c-high"})
            await sessions(daemon, RESTLESS)
            settled, pods = evicted(daemon), who_runs_where(cluster)
            assert settled >= 5
            for _ in range(SESSIONS // RESTLESS - 1):
                await sessions(daemon, RESTLESS)
                assert torn(cluster) == []
                assert evicted(daemon) == settled
            assert who_runs_where(cluster) == pods
        gangs = {work.name for work in FIRST if work.minimum == work.size}
        assert [life.group for life in lives(cluster) if life.evicted_at and life.group in gangs] == []
