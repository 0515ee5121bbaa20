"""The books of a soak: what was created and what a watch shows of it, from which every broken promise can be told.

Keeps what is there and forgets what is gone, so it may run for days.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field

from vsched.kube.deltas import BrokenObject, Delta
from vsched.lab.outcomes import FINISHED, LATENCIES, PodSeen

RECENT = 20_000
"""More pods than are bound while somebody waits for the first of them."""
MOST_TOLD = 50
"""Violations of one kind that are told one by one; all are counted."""


@dataclass(slots=True)
class Work:
    """A gang, or a pod that stands alone."""

    key: str
    """``namespace/name`` of the PodGroup, or of the pod."""
    pods: tuple[str, ...]
    """``namespace/name`` of each."""
    cpus: int
    """What one of them asks for."""
    cancelled: bool = False
    """Its owner has deleted it before it was done."""
    bound: int = 0
    ended: int = 0
    """Pods that have finished or are gone."""

    @property
    def alone(self) -> bool:
        return self.key in self.pods


@dataclass(slots=True)
class Entry:
    """One pod that is there."""

    work: Work
    sent: float
    node: str = ""
    finished: bool = False


@dataclass(slots=True)
class Violations:
    """Promises that were broken: how often, and the first of each."""

    counts: Counter[str] = field(default_factory=Counter)
    told: dict[str, list[str]] = field(default_factory=dict)

    def add(self, promise: str, what: str) -> None:
        self.counts[promise] += 1
        lines = self.told.setdefault(promise, [])
        if len(lines) < MOST_TOLD:
            lines.append(what)


class Ledger:
    """What became of every pod; a sink of a watch of pods."""

    def __init__(self, node_cpus: int, violations: Violations) -> None:
        self.created = self.bound = self.finished = self.evicted = 0
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        """Seconds from the creation of a pod to its binding."""
        self.recent: deque[float] = deque(maxlen=RECENT)
        """When the latest pods were seen to be bound; steady clock."""
        self.done: deque[Work] = deque()
        """All its pods have ended: somebody may clear it away."""
        self.violations = violations
        self._node_cpus = node_cpus
        self._pods: dict[str, Entry] = {}
        self._works: dict[str, Work] = {}
        self._used: Counter[str] = Counter()
        """Cpus of pods that have not ended, by node."""

    def expect(self, work: Work) -> None:
        """A piece of work is about to be created."""
        now = time.perf_counter()
        self.created += len(work.pods)
        self._works[work.key] = work
        self._pods.update((pod, Entry(work, now)) for pod in work.pods)

    def refused(self, work: Work) -> None:
        """It could not be created, or not whole."""
        work.cancelled = True

    def waiting(self) -> list[str]:
        """Pods that are there, were never bound, and that nobody has taken back."""
        return [key for key, entry in self._pods.items() if not entry.node and not entry.work.cancelled]

    def partial(self) -> list[str]:
        """Gangs of which some pods were bound and others were not."""
        works = self._works.values()
        return [work.key for work in works if 0 < work.bound < len(work.pods) and not work.cancelled]

    @property
    def holds(self) -> int:
        """Pods that are there."""
        return len(self._pods)

    # -- the watch

    def replace(self, items: list[PodSeen], resource_version: str) -> None:
        seen = {_key(item) for item in items}
        for item in items:
            self._see(item)
        # One that was never seen may not have been created yet, unless its owner has taken it back.
        known = [key for key, entry in self._pods.items() if entry.node or entry.work.cancelled]
        for key in known:
            if key not in seen:
                self._gone(key)

    def apply(self, delta: Delta, item: PodSeen) -> None:
        self._see(item)
        if delta is Delta.DELETED:
            self._gone(_key(item))

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """A pod without a name or a namespace is none of ours."""

    def _see(self, pod: PodSeen) -> None:
        key = _key(pod)
        entry = self._pods.get(key)
        if entry is None:
            return
        node = pod.spec.node_name
        if node and not entry.node:
            self._placed(key, entry, node)
        elif node != entry.node:
            self.violations.add("bound twice", f"{key} was on {entry.node} and is on {node or 'none'}")
        if pod.status.phase in FINISHED and not entry.finished:
            self.finished += 1
            self._ends(entry)

    def _placed(self, key: str, entry: Entry, node: str) -> None:
        now = time.perf_counter()
        entry.node = node
        self.recent.append(now)
        entry.work.bound += 1
        self.bound += 1
        self.latencies.append(now - entry.sent)
        self._used[node] += entry.work.cpus
        if self._used[node] > self._node_cpus:
            held = f"{self._used[node]} of {self._node_cpus} cpus"
            self.violations.add("node over its size", f"{node} holds {held} with {key}")

    def _ends(self, entry: Entry) -> None:
        """A pod needs its node no longer."""
        entry.finished = True
        if entry.node:
            self._used[entry.node] -= entry.work.cpus
        entry.work.ended += 1
        if entry.work.ended == len(entry.work.pods):
            self.done.append(entry.work)

    def _gone(self, key: str) -> None:
        entry = self._pods.pop(key, None)
        if entry is None:
            return
        if not entry.finished:
            self.evicted += not entry.work.cancelled
            self._ends(entry)
        if not any(pod in self._pods for pod in entry.work.pods):
            self._works.pop(entry.work.key, None)


def _key(pod: PodSeen) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
