"""What the demo submits: queues and namespaces of different weights, and more gangs than fit the cluster.

Pure: equal arguments and calls give equal objects.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf

from vsched.apimachinery.manifests.node_groups import DEFAULT_CAPACITY
from vsched.lab.gangs import as_gang, single_pod
from vsched.lab.outcomes import SubmittedGang
from vsched.lab.sender import Obj
from vsched.mirror.ingest.weights import NAMESPACE_WEIGHT
from vsched.sim.fleet.sample_gangs import DEFAULT_GANG_SIZES, SHAPES, gang

NODE_CPUS = int(DEFAULT_CAPACITY["cpu"])

NAMESPACES: Mapping[str, int] = {"team-a": 3, "team-b": 2, "team-c": 1}
"""Weights by namespace."""


@dataclass(frozen=True, slots=True)
class DemoQueue:
    """A queue of the demo, and the namespaces that use it."""

    queue: str
    weight: int
    namespaces: tuple[str, ...]
    gangs: bool = True
    """Whether it gets gangs, always more than fit; else it gets a short single pod now and then."""
    begins: float = 0.0
    """It asks for nothing before this part of the demo is over."""


CROWDS = (
    DemoQueue("research", 3, ("team-a", "team-b", "team-c")),
    DemoQueue("production", 2, ("team-a", "team-b", "team-c")),
    DemoQueue("batch", 1, ("team-a", "team-b")),
    DemoQueue("interactive", 1, ("team-c",), gangs=False),
)

BACKLOG = 0.04
"""Each namespace keeps requesting this part of the cluster in each queue, beyond what it uses."""
FULL_PODS_PER_SECOND = 150.0
"""Pods that should end per second once the cluster is full; the mean run time follows from it."""
SCALES = (1, 2, 4)
"""Factors for requests, where pods would end too fast otherwise; the first suitable one is taken."""
LONGEST_PARTS = (0.25, 0.5)
"""The longest mean run time, as a part of the demo; the second where the first does not fill a large cluster."""
SUITABLE_PODS_PER_SECOND = 300.0
SHORTEST_SECONDS, SINGLE_SECONDS = 1.0, 1.0
SINGLES_PER_SECOND = 20.0


@dataclass(frozen=True, slots=True)
class GangRequest:
    """A gang that can be drawn."""

    size: int
    cpus: int
    amounts: Mapping[str, str]


class Mix:
    """Draws gangs that suit the number of nodes and the length of the demo."""

    def __init__(self, nodes: int, seconds: float, seed: int, crowds: Sequence[DemoQueue] = CROWDS) -> None:
        self.crowds = crowds
        self.namespaces = {name: NAMESPACES[name] for crowd in crowds for name in crowd.namespaces}
        """Their weights."""
        self._seconds = seconds
        self.cpus = nodes * NODE_CPUS
        self._draw = random.Random(seed)
        self._number = 0
        for part, scale in product(LONGEST_PARTS, SCALES):
            longest_seconds = max(SHORTEST_SECONDS, seconds * part)
            self._requests = _requests(self.cpus, scale, crowds)
            room = self.cpus / _mean_cpus(self._requests)
            self.mean_seconds = min(max(SHORTEST_SECONDS, room / FULL_PODS_PER_SECOND), longest_seconds)
            if room / self.mean_seconds <= SUITABLE_PODS_PER_SECOND:
                break
        has_singles = any(not crowd.gangs for crowd in crowds)
        self.singles_per_second = min(SINGLES_PER_SECOND, float(nodes)) if has_singles else 0.0

    def setting(self) -> Iterator[Obj]:
        """Queues, namespaces, and quotas that carry the weights of the namespaces."""
        for crowd in self.crowds:
            yield {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": crowd.queue},
                "spec": {"weight": crowd.weight},
            }
        for name in self.namespaces:
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name, weight in self.namespaces.items():
            yield {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "weight", "namespace": name},
                "spec": {"hard": {NAMESPACE_WEIGHT: str(weight)}},
            }

    def asks(self, crowd: DemoQueue, elapsed_seconds: float) -> bool:
        """Whether a queue asks for gangs at this time of the demo."""
        return crowd.gangs and elapsed_seconds >= crowd.begins * self._seconds

    def wanted(
        self, waiting: Mapping[tuple[str, str], int], elapsed_seconds: float = inf
    ) -> Iterator[tuple[SubmittedGang, list[Obj]]]:
        """Gangs that fill up the backlog; ``waiting`` is cpus by queue and namespace."""
        asked = Counter(waiting)
        pairs = [
            (crowd.queue, name)
            for crowd in self.crowds
            if self.asks(crowd, elapsed_seconds)
            for name in crowd.namespaces
        ]
        # One gang for each in turn, in a new order each time: so it is fair even if the caller stops early.
        self._draw.shuffle(pairs)
        while pairs := [pair for pair in pairs if asked[pair] <= BACKLOG * self.cpus]:
            for queue, namespace in pairs:
                made, objects = self._gang(queue, namespace)
                asked[queue, namespace] += made.cpus * len(made.pods)
                yield made, objects

    def single(self) -> tuple[SubmittedGang, list[Obj]]:
        """A single pod for the queue without gangs."""
        crowd = next(crowd for crowd in self.crowds if not crowd.gangs)
        name, namespace = f"single-{self._next()}", self._draw.choice(crowd.namespaces)
        pod = single_pod(name, namespace, crowd.queue, dict(SHAPES[0]), SINGLE_SECONDS)
        return as_gang([pod], crowd.queue, int(SHAPES[0]["cpu"])), [pod]

    def _gang(self, queue: str, namespace: str) -> tuple[SubmittedGang, list[Obj]]:
        found = self._draw.choice(self._requests)
        seconds = round(self.mean_seconds * self._draw.uniform(0.5, 1.5), 2)
        objects = gang(f"gang-{self._next()}", namespace, queue, found.size, dict(found.amounts), seconds)
        return as_gang(objects, queue, found.cpus), objects

    def _next(self) -> int:
        self._number += 1
        return self._number


def _requests(cpus: int, scale: int, crowds: Sequence[DemoQueue]) -> list[GangRequest]:
    """The sizes and shapes of which several fit into the smallest queue's part, and two on a node."""
    smallest = min(crowd.weight for crowd in crowds) * cpus // sum(crowd.weight for crowd in crowds)
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
    """The mean request of a pod."""
    return sum(found.size * found.cpus for found in requests) / sum(found.size for found in requests)


def _times(quantity: str, scale: int) -> str:
    digits = quantity.rstrip("KMGTi")
    return f"{int(digits) * scale}{quantity[len(digits) :]}"
