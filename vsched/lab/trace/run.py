"""One replay: a trace comes to an embedded cluster, a real daemon schedules it, and time jumps from event to event.

Pods that come at the same second are created together. Once all that happens at a moment has happened, sessions are
held until they change nothing more; only then does the time go on to the next arrival or end. So a replay of months
takes as long as its decisions, and none of it depends on how fast they are.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from vsched.clock import FakeClock
from vsched.errors import Unavailable
from vsched.lab.trace.accounts import TraceAccounts
from vsched.lab.trace.daemon import SteppedDaemon, stepped_daemon
from vsched.lab.trace.files import ClusterTrace, TracePod
from vsched.lab.trace.machines import Machines, virtual_cluster
from vsched.lab.trace.objects import queue_of

SCHEDULER = "vsched"
ROUNDS = 50
"""Sessions at one moment, at most: each of them evicted somebody for somebody else."""
REPORT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How far a replay is."""

    seconds: float
    """Since the first arrival, in the time of the trace."""
    created: int
    placed: int
    waiting: int
    pods: int
    """In the whole trace."""
    took_seconds: float
    sessions: int


Tell = Callable[[ReplayProgress], None]


class TraceReplay:
    """One trace under one policy, from its first pod to its last."""

    def __init__(self, trace: ClusterTrace, weights: Mapping[str, int], clock: FakeClock, tell: Tell) -> None:
        self._trace = trace
        self._weights = weights
        self._clock = clock
        self._tell = tell
        self._first = trace.pods[0].created
        self._next = 0
        """The pod of the trace that comes next."""
        self._ends: list[tuple[float, str]] = []
        """When pods are to end, by name of the object; those that were evicted since are passed over."""
        self._running: dict[str, TracePod] = {}
        self._waiting: dict[str, TracePod] = {}
        """By name of the object."""
        self._tries: Counter[str] = Counter()
        self._now = 0.0
        self._sessions = 0
        self._began = self._told = perf_counter()
        self.books = TraceAccounts(trace, weights)

    async def run(self, machines: Machines, daemon: SteppedDaemon) -> None:
        """Until nothing waits and nothing is to come, or what waits has nothing to wait for."""
        self.books.machines([*machines.machines.values()])
        while (moment := self._next_moment()) is not None:
            self._clock.advance(moment - self._now)
            self._now = moment
            self._end(machines)
            self._arrive(machines)
            if self._waiting:
                await self._decide(machines, daemon)
            self.books.sample(self._now)
            self._report()
        self._tell(self._standing())

    def _next_moment(self) -> float | None:
        """When something happens next that matters."""
        while self._ends and self._ends[0][1] not in self._running:
            heapq.heappop(self._ends)
        moments = []
        if self._next < len(self._trace.pods):
            moments.append(float(self._trace.pods[self._next].created - self._first))
        if self._ends and (moments or self._waiting or self._ends[0][0] <= self.books.horizon):
            moments.append(self._ends[0][0])
        return min(moments, default=None)

    def _end(self, machines: Machines) -> None:
        while self._ends and self._ends[0][0] <= self._now:
            _, name = heapq.heappop(self._ends)
            pod = self._running.pop(name, None)
            if pod is not None:
                machines.end(name)
                self.books.finish(pod)

    def _arrive(self, machines: Machines) -> None:
        pods = self._trace.pods
        while self._next < len(pods) and pods[self._next].created - self._first <= self._now:
            self.books.arrive(pods[self._next], self._now)
            self._create(pods[self._next], machines)
            self._next += 1

    def _create(self, pod: TracePod, machines: Machines) -> None:
        self._tries[pod.name] += 1
        tries = self._tries[pod.name]
        name = pod.name if tries == 1 else f"{pod.name}-again-{tries}"
        self._waiting[name] = pod
        machines.arrive(pod, name)

    async def _decide(self, machines: Machines, daemon: SteppedDaemon) -> None:
        """Sessions until none drives anybody out any more: then nothing is left that waits for room about to come."""
        for _ in range(ROUNDS):
            await daemon.session()
            self._sessions += 1
            if not self._take_in(machines):
                return
            self._report()
        raise Unavailable(f"{ROUNDS} sessions at one moment, and each evicts again: this policy comes to no rest")

    def _take_in(self, machines: Machines) -> bool:
        """Book what a session has led to; whether somebody had to leave."""
        news = machines.look()
        # Whoever was driven out made room for others: first the leaving, then the coming.
        for gone in news.evicted:
            pod = self._running.pop(gone.name)
            self.books.evict(pod, self._now)
            self._create(pod, machines)
        for placed in news.placed:
            pod = self._waiting.pop(placed.name)
            self._running[placed.name] = pod
            self.books.start(pod, placed.machine, self._now, whole=placed.whole)
            heapq.heappush(self._ends, (self._now + pod.run_seconds, placed.name))
        return bool(news.evicted)

    def _standing(self) -> ReplayProgress:
        books = self.books
        took = perf_counter() - self._began
        return ReplayProgress(
            self._now, books.created, books.running, books.waiting, len(self._trace.pods), took, self._sessions
        )

    def _report(self) -> None:
        if perf_counter() - self._told >= REPORT_SECONDS:
            self._told = perf_counter()
            self._tell(self._standing())

    def summary(self) -> dict[str, Any]:
        """What came of it."""
        return self.books.summary() | {"sessions": self._sessions}


def weights_of(trace: ClusterTrace, given: Mapping[str, int]) -> dict[str, int]:
    """A weight for every queue of the trace, 1 where none is given."""
    return {name: given.get(name, 1) for name in sorted({queue_of(pod) for pod in trace.pods})}


async def replay(
    trace: ClusterTrace, policy: Path | None, weights: Mapping[str, int], seed: int, tell: Tell
) -> TraceReplay:
    """A trace under a policy, the built-in one where there is no file; what came of it."""
    clock = FakeClock()
    async with virtual_cluster(clock, seed) as cluster:
        machines = Machines(cluster, clock, SCHEDULER)
        machines.set_up(trace.nodes, dict(weights))
        async with stepped_daemon(cluster, policy, clock) as daemon:
            found = TraceReplay(trace, weights, clock, tell)
            await found.run(machines, daemon)
            await asyncio.sleep(0)
    return found
