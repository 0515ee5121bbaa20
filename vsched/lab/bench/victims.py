"""The cost of reclaim and preempt in a cluster that running pods fill.

Running gangs of one queue fill all nodes. While these gangs are at their minimum nothing can be freed, and a cycle
costs what it takes to find that out. Then they may shrink, and a gang gets room. Decisions are dropped, so that each
cycle decides the same again.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import orjson

from vsched import api
from vsched.daemon.system.tuning import listed
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.lab.bench.world import metadata_of
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.plan import CycleReport
from vsched.settings.built_in import REGISTRY

TAKING_POLICY = """
actions: "enqueue, allocate, reclaim, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: proportion
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: nodeorder
  - name: binpack
"""
"""The same policy as ``config/policies/taking-back.yaml``."""
RICH, POOR = "rich", "poor"
"""The queue that uses everything, and the one that deserves half of it."""
URGENT = "urgent"
SPARE_SLOTS = 110
"""Pods that fit on a node beyond those running there: the number of pods is not what is scarce."""

Manifest = dict[str, Any]


class FullWorld(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of a full cluster, and of the gangs that ask for room."""

    nodes: int = 5000
    running: int = 50_000
    """Pods of one core and 1 GiB each; the nodes have exactly so much."""
    gang: int = 20
    """Pods in a running gang, and in a gang of the backlog."""
    asking: int = 100
    """Pods in the measured gang; at most half of those that run."""
    backlog: int = 300
    """Further gangs that wait in vain."""
    capability: int = 0
    """How many cores the queue may hold that deserves half of them; 0 for no limit."""

    @property
    def size(self) -> int:
        """Pods in the measured gang."""
        return max(1, min(self.asking, self.running // 2))


class FullCluster:
    """Feeds a mirror with a full cluster, and with gangs that ask for room."""

    def __init__(self, world: FullWorld) -> None:
        self.world = world
        self.mirror = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
        self._asking: list[tuple[str, Manifest]] = []
        for kind, found in self._furniture():
            self._feed(kind, found)
        for number in range(-(-world.running // world.gang)):
            self._feed("PodGroup", self._running_gang(number, minimum=self._size(number)))
        for number in range(world.running):
            node = _node_name(number % world.nodes)
            self._feed("Pod", _pod("work", f"gang-{number // world.gang}", number % world.gang, node))

    def ask(self, name: str, queue: str, size: int, priority_class: str = "", *, admitted: bool = True) -> None:
        """Create a gang that needs all of its pods."""
        spec: Manifest = {"queue": queue, "minMember": size, "priorityClassName": priority_class}
        if not admitted:
            spec["minResources"] = {"cpu": str(size), "memory": f"{size}Gi"}
        phase = "Inqueue" if admitted else "Pending"
        group = {"metadata": metadata_of("asking", name), "spec": spec, "status": {"phase": phase}}
        made = [("PodGroup", group), *(("Pod", _pod("asking", name, at)) for at in range(size))]
        for kind, found in made:
            self._feed(kind, found)
        self._asking += made

    def withdraw(self) -> None:
        """Delete all gangs that ask for room."""
        for kind, found in reversed(self._asking):
            self._feed(kind, found, "DELETED")
        self._asking.clear()

    def let_shrink(self) -> None:
        """Lower the minimum of the running gangs to one pod each."""
        for number in range(-(-self.world.running // self.world.gang)):
            self._feed("PodGroup", self._running_gang(number, minimum=1), "MODIFIED")

    def _furniture(self) -> Iterable[tuple[str, Manifest]]:
        world = self.world
        for number in range(world.nodes):
            pods = world.running // world.nodes + (number < world.running % world.nodes)
            metadata = {"name": _node_name(number), "uid": _node_name(number)}
            room = {"cpu": str(pods), "memory": f"{pods}Gi", "pods": str(pods + SPARE_SLOTS)}
            yield "Node", {"metadata": metadata, "status": {"allocatable": room}}
        half = {"cpu": str(world.running // 2), "memory": f"{world.running // 2}Gi"}
        for name in (RICH, POOR):
            spec: Manifest = {"weight": 1, "deserved": half}
            if name == POOR and world.capability:
                spec["capability"] = {"cpu": str(world.capability)}
            yield "Queue", {"metadata": {"name": name, "uid": name}, "spec": spec}
        yield "PriorityClass", {"metadata": {"name": URGENT, "uid": URGENT}, "value": 1000}

    def _size(self, number: int) -> int:
        """Pods in a running gang; the last one may be smaller."""
        return min(self.world.gang, self.world.running - number * self.world.gang)

    def _running_gang(self, number: int, minimum: int) -> Manifest:
        return {
            "metadata": metadata_of("work", f"gang-{number}"),
            "spec": {"queue": RICH, "minMember": minimum},
            "status": {"phase": "Running"},
        }

    def _feed(self, kind: str, found: Manifest, change: str = "ADDED") -> None:
        self.mirror.intake.apply(kind, change, api.decode(kind, orjson.dumps(found)))


class Cost(NamedTuple):
    """The cost of equal cycles."""

    seconds: list[float]
    """Of each cycle, with its snapshot."""
    evictions: int
    """Of each cycle."""


def measure_taking(world: FullWorld, policy: Policy, repeats: int) -> dict[str, Cost]:
    """Time cycles in which nothing can be freed, alone and with a backlog, then one reclaim, then one preemption."""
    cluster, size = FullCluster(world), world.size
    listed()
    costs: dict[str, Cost] = {}
    cluster.ask("poor", POOR, size)
    cluster.ask("urgent", RICH, size, URGENT)
    costs["verdict"] = _cost(cluster.mirror, policy, repeats)
    for number in range(world.backlog):
        cluster.ask(f"backlog-{number}", POOR, min(world.gang, size))
    costs["backlog"] = _cost(cluster.mirror, policy, repeats)
    cluster.withdraw()
    cluster.let_shrink()
    cluster.ask("poor", POOR, size)
    costs["reclaim"] = _cost(cluster.mirror, policy, repeats)
    cluster.withdraw()
    cluster.ask("urgent", RICH, size, URGENT)
    costs["preempt"] = _cost(cluster.mirror, policy, repeats)
    return costs


def _cost(mirror: Mirror, policy: Policy, repeats: int) -> Cost:
    """The cost of some cycles; the first snapshot is left out, because it takes in the changes before it."""
    report, seconds = CycleReport(), []
    mirror.snapshot(0.0)
    for _ in range(repeats):
        start = perf_counter()
        report = run_cycle(mirror.snapshot(0.0), policy, REGISTRY)
        seconds.append(perf_counter() - start)
    return Cost(seconds, len(report.evictions))


def _node_name(number: int) -> str:
    return f"node-{number:05d}"


def _pod(namespace: str, gang: str, at: int, node: str = "") -> Manifest:
    metadata = metadata_of(namespace, f"{gang}-{at}")
    metadata["annotations"] = {"scheduling.k8s.io/group-name": gang}
    container = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    spec: Manifest = {"schedulerName": "vsched", "containers": [container]}
    if node:
        spec["nodeName"] = node
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running" if node else "Pending"}}
