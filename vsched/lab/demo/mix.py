"""What the demo submits: queues and namespaces of different weights, and gangs that more than fill the cluster.

A pure generator: equal arguments and an equal course of events give equal objects. When something is submitted is
the demo's business.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from vsched.lab.gangs import as_gang, single_pod
from vsched.lab.outcomes import Gang
from vsched.lab.sender import Obj
from vsched.mirror.ingest.weights import NAMESPACE_WEIGHT
from vsched.sim.fleet.nodes import DEFAULT_CAPACITY
from vsched.sim.fleet.sample_gangs import DEFAULT_GANG_SIZES, SHAPES, gang

NODE_CPUS = int(DEFAULT_CAPACITY["cpu"])

NAMESPACES: Mapping[str, int] = {"team-a": 3, "team-b": 2, "team-c": 1}
"""Weights by namespace."""


@dataclass(frozen=True, slots=True)
class DemoQueue:
    """One queue of the demo and who uses it."""

    queue: str
    weight: int
    namespaces: tuple[str, ...]
    gangs: bool = True
    """Gangs that always want more than there is; else single short pods now and then."""


CROWDS = (
    DemoQueue("research", 3, ("team-a", "team-b", "team-c")),
    DemoQueue("production", 2, ("team-a", "team-b", "team-c")),
    DemoQueue("batch", 1, ("team-a", "team-b")),
    DemoQueue("interactive", 1, ("team-c",), gangs=False),
)

BACKLOG = 0.04
"""The part of the cluster that each namespace keeps asking for in each queue, on top of what it holds."""
FULL_PODS_PER_SECOND = 150.0
"""Pods that end, and so make room for others, once the cluster is full: pods live as long as that takes."""
SCALES = (1, 2, 4)
"""What requests may be multiplied by, where pods would end too fast otherwise; the first that suits."""
LONGEST_PARTS = (0.25, 0.5)
"""Of the demo: so long a pod may live on average, the second where the first makes too little of a big cluster."""
SUITABLE_PODS_PER_SECOND = 300.0
SHORTEST_SECONDS, SINGLE_SECONDS = 1.0, 1.0
SINGLES_PER_SECOND = 20.0


@dataclass(frozen=True, slots=True)
class GangRequest:
    """A gang as it may be drawn."""

    size: int
    cpus: int
    amounts: Mapping[str, str]


class Mix:
    """Draws gangs that suit a cluster of so many nodes and a demo of so many seconds."""

    def __init__(self, nodes: int, seconds: float, seed: int) -> None:
        self.cpus = nodes * NODE_CPUS
        self._draw = random.Random(seed)
        self._number = 0
        for part, scale in product(LONGEST_PARTS, SCALES):
            longest_seconds = max(SHORTEST_SECONDS, seconds * part)
            self._requests = _requests(self.cpus, scale)
            room = self.cpus / _mean_cpus(self._requests)
            self.mean_seconds = min(max(SHORTEST_SECONDS, room / FULL_PODS_PER_SECOND), longest_seconds)
            if room / self.mean_seconds <= SUITABLE_PODS_PER_SECOND:
                break
        self.singles_per_second = min(SINGLES_PER_SECOND, float(nodes))

    def setting(self) -> Iterator[Obj]:
        """Queues, namespaces and the quotas that carry their weights."""
        for crowd in CROWDS:
            yield {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": crowd.queue},
                "spec": {"weight": crowd.weight},
            }
        for name in NAMESPACES:
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name, weight in NAMESPACES.items():
            yield {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "weight", "namespace": name},
                "spec": {"hard": {NAMESPACE_WEIGHT: str(weight)}},
            }

    def wanted(self, waiting: Mapping[tuple[str, str], int]) -> Iterator[tuple[Gang, list[Obj]]]:
        """Gangs that fill up what waits; ``waiting`` is in cpus by queue and namespace."""
        asked = Counter(waiting)
        pairs = [(crowd.queue, name) for crowd in CROWDS if crowd.gangs for name in crowd.namespaces]
        # One each in turn, from another one each time: whoever stops early is to be fair, too.
        self._draw.shuffle(pairs)
        while pairs := [pair for pair in pairs if asked[pair] <= BACKLOG * self.cpus]:
            for queue, namespace in pairs:
                made, objects = self._gang(queue, namespace)
                asked[queue, namespace] += made.cpus * len(made.pods)
                yield made, objects

    def single(self) -> tuple[Gang, list[Obj]]:
        """A pod without a PodGroup, in the queue of those who wait for an answer."""
        crowd = next(crowd for crowd in CROWDS if not crowd.gangs)
        name, namespace = f"single-{self._next()}", self._draw.choice(crowd.namespaces)
        pod = single_pod(name, namespace, crowd.queue, dict(SHAPES[0]), SINGLE_SECONDS)
        return as_gang([pod], crowd.queue, int(SHAPES[0]["cpu"])), [pod]

    def _gang(self, queue: str, namespace: str) -> tuple[Gang, list[Obj]]:
        found = self._draw.choice(self._requests)
        seconds = round(self.mean_seconds * self._draw.uniform(0.5, 1.5), 2)
        objects = gang(f"gang-{self._next()}", namespace, queue, found.size, dict(found.amounts), seconds)
        return as_gang(objects, queue, found.cpus), objects

    def _next(self) -> int:
        self._number += 1
        return self._number


def _requests(cpus: int, scale: int) -> list[GangRequest]:
    """Every size and shape of which the smallest queue's part of the cluster can hold a few, and a node two."""
    smallest = min(crowd.weight for crowd in CROWDS) * cpus // sum(crowd.weight for crowd in CROWDS)
    found = []
    for size in DEFAULT_GANG_SIZES:
        for shape in SHAPES:
            amounts = {name: _times(quantity, scale) for name, quantity in shape.items()}
            each = int(amounts["cpu"])
            suits = size * each * 4 <= smallest and each * 2 <= NODE_CPUS
            if suits or (size == 1 and shape is SHAPES[0]):
                found.append(GangRequest(size, each, amounts))
    return found


def _mean_cpus(requests: list[GangRequest]) -> float:
    """What a pod asks for on average."""
    return sum(found.size * found.cpus for found in requests) / sum(found.size for found in requests)


def _times(quantity: str, scale: int) -> str:
    digits = quantity.rstrip("KMGTi")
    return f"{int(digits) * scale}{quantity[len(digits) :]}"
