"""What became of the pods that this process created: when they were sent, seen on a node, and finished.

A pod's latency is measured from outside of the scheduler: from just before its POST is sent until a watch of this
process shows its ``spec.nodeName``.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
import numpy as np

from vsched.api.resources import PODS
from vsched.clock import monotonic
from vsched.kube.client import ApiClient
from vsched.kube.watch.deltas import BrokenObject, Delta
from vsched.kube.watch.reflector import Reflector, WatchedKind

LATENCIES = 100_000
"""How many of the latest latencies are kept, in all and of each queue."""
FINISHED = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class SubmittedGang:
    """Pods that are to be placed together, and how many of them have been."""

    key: str
    """``namespace/name`` of the PodGroup, or of the pod where there is no PodGroup."""
    queue: str
    pods: tuple[str, ...]
    """``namespace/name`` of each."""
    minimum: int
    """How many of its pods have to run at a time."""
    cpus: int = 0
    """The request of each pod."""
    began: float = 0.0
    """When the first POST was sent; steady clock."""
    bound: int = 0
    bound_at: float = 0.0
    """When a pod was last seen to be bound; steady clock."""
    finished: int = 0
    lost: int = 0
    """How many were taken away."""
    nodes: set[str] = field(default_factory=set)
    cancelled: bool = False
    """Whether its user deleted it before it was done, or could not create all of it."""

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def alone(self) -> bool:
        """Whether it is a pod without a PodGroup."""
        return self.key in self.pods

    @property
    def partial(self) -> bool:
        """Whether some of its pods were bound, and fewer than its minimum."""
        return 0 < self.bound < self.minimum and not self.cancelled

    @property
    def waiting(self) -> int:
        return len(self.pods) - self.bound


@dataclass(slots=True)
class PodEntry:
    """What is known of one pod."""

    gang: SubmittedGang
    sent: float = 0.0
    """When its POST was sent; steady clock."""
    node: str = ""
    finished: bool = False


class _Metadata(msgspec.Struct):
    name: str
    namespace: str


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct):
    phase: str = ""


class PodSeen(msgspec.Struct):
    """The few fields that are read of a pod."""

    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def key(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"


class PodOutcomes:
    """A record of gangs and their pods; a reflector of pods writes into it what it sees."""

    def __init__(self, on_bound: Callable[[SubmittedGang], None] = lambda gang: None) -> None:
        self.gangs: dict[str, SubmittedGang] = {}
        """By key."""
        self.created = self.bound = self.finished = self.gangs_bound = 0
        self.peak_per_second = 0
        """The most pods placed within one second."""
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        """Seconds, of all pods."""
        self.by_queue: dict[str, deque[float]] = {}
        """The same by queue."""
        self.on_nodes: Counter[str] = Counter()
        """Pods that are placed and not finished, by node."""
        self.running: Counter[str] = Counter()
        """The same by queue."""
        self.done: deque[SubmittedGang] = deque()
        """Gangs whose pods have all finished, for the users to delete."""
        self._on_bound = on_bound
        self._pods: dict[str, PodEntry] = {}
        self._recent: deque[float] = deque()

    def expect(self, gang: SubmittedGang) -> None:
        """Note that a gang is about to be created."""
        self.gangs[gang.key] = gang
        self._pods.update((pod, PodEntry(gang)) for pod in gang.pods)

    def sending(self, pod: str) -> None:
        """Note that the POST of a pod is sent now; one that was given up does not count."""
        entry = self._pods.get(pod)
        if entry is None:
            return
        entry.sent = monotonic()
        entry.gang.began = entry.gang.began or entry.sent
        self.created += 1

    def forget(self, gang: SubmittedGang) -> None:
        """Drop a gang from the record."""
        self.gangs.pop(gang.key, None)
        for pod in gang.pods:
            self._pods.pop(pod, None)

    def waiting(self) -> Counter[tuple[str, str]]:
        """The pods that are not on a node, by queue and namespace."""
        counts: Counter[tuple[str, str]] = Counter()
        for gang in self.gangs.values():
            counts[gang.queue, gang.namespace] += gang.waiting
        return counts

    def waiting_cpus(self) -> Counter[tuple[str, str]]:
        """The cpus that those pods request."""
        counts: Counter[tuple[str, str]] = Counter()
        for gang in self.gangs.values():
            counts[gang.queue, gang.namespace] += gang.waiting * gang.cpus
        return counts

    def partial(self) -> list[str]:
        """Keys of gangs with some pods bound, and fewer than their minimum."""
        return [gang.key for gang in self.gangs.values() if gang.partial]

    def per_second(self) -> int:
        """Pods placed within the last second."""
        self._drop_old(monotonic())
        return len(self._recent)

    # -- what the reflector calls

    def replace(self, items: list[PodSeen], resource_version: str) -> None:
        for item in items:
            self._see(item)

    def apply(self, delta: Delta, item: PodSeen) -> None:
        if delta is not Delta.DELETED:
            self._see(item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """A pod without a name or a namespace is not one of ours."""

    def _see(self, pod: PodSeen) -> None:
        entry = self._pods.get(pod.key)
        if entry is None:
            return
        node = pod.spec.node_name
        if node and not entry.node:
            self._placed(pod.key, entry, node)
        elif node != entry.node:
            self._moved(pod.key, entry, node)
        if pod.status.phase in FINISHED and not entry.finished:
            self.finished += 1
            self._ended(entry)

    def _placed(self, key: str, entry: PodEntry, node: str) -> None:
        now, gang = monotonic(), entry.gang
        entry.node = node
        self.bound += 1
        self.on_nodes[node] += 1
        self.running[gang.queue] += 1
        self.latencies.append(now - entry.sent)
        self.by_queue.setdefault(gang.queue, deque(maxlen=LATENCIES)).append(now - entry.sent)
        self._recent.append(now)
        self._drop_old(now)
        self.peak_per_second = max(self.peak_per_second, len(self._recent))
        gang.bound, gang.bound_at = gang.bound + 1, now
        gang.nodes.add(node)
        if gang.bound == len(gang.pods):
            self.gangs_bound += 1
            self._on_bound(gang)

    def _moved(self, key: str, entry: PodEntry, node: str) -> None:
        """A pod that was bound is now shown on another node, or on none."""

    def _ended(self, entry: PodEntry) -> None:
        """A pod no longer needs its node."""
        entry.finished = True
        if entry.node:
            self.running[entry.gang.queue] -= 1
            self.on_nodes[entry.node] -= 1
            if not self.on_nodes[entry.node]:
                del self.on_nodes[entry.node]
        entry.gang.finished += 1
        if entry.gang.finished == len(entry.gang.pods):
            self.done.append(entry.gang)

    def _drop_old(self, now: float) -> None:
        while self._recent and self._recent[0] < now - 1.0:
            self._recent.popleft()


def pod_watch(client: ApiClient, outcomes: PodOutcomes) -> Reflector[PodSeen]:
    """A reflector that writes what it sees of pods into the record."""
    return Reflector(client, WatchedKind(PODS, msgspec.json.Decoder(PodSeen).decode), outcomes)


def spread_ms(seconds: Iterable[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds; zeros where there is nothing."""
    values = np.fromiter(seconds, float)
    if not values.size:
        return {"p50": 0.0, "p99": 0.0}
    p50, p99 = np.percentile(values, (50, 99)) * 1000
    return {"p50": round(float(p50), 2), "p99": round(float(p99), 2)}
