"""One replay: a trace arrives at an embedded cluster, a daemon schedules it, and time jumps from event to event.

Pods that arrive in the same second are created together. After all events of a moment, sessions are held until they
change nothing more; then time goes on to the next arrival or end. So a replay of months takes as long as its decisions,
and its outcome does not depend on their speed.

Where hundreds of pods wait for long, a session at every arrival and every end costs much and changes little. So while
pods wait, sessions can be kept some time apart. A pod that comes when nobody waits is always decided on at once.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from vsched.clock import FakeClock
from vsched.errors import Unavailable
from vsched.lab.trace import words
from vsched.lab.trace.accounts import TraceAccounts
from vsched.lab.trace.checks import Checks
from vsched.lab.trace.daemon import stepped_daemon
from vsched.lab.trace.files import ClusterTrace, TracePod
from vsched.lab.trace.machines import Machines, PodPlaced, virtual_cluster
from vsched.lab.trace.objects import queue_of
from vsched.lab.trace.vgpus import knows_vgpus
from vsched.settings import default_settings, load_file
from vsched.settings.installed import registry

SCHEDULER = "vsched"
ROUNDS = 50
"""Sessions at one moment, at most; each but the last has evicted pods."""
REPORT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """The progress of a replay."""

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


class Deciding(Protocol):
    """What decides in a replay."""

    @property
    def remembers(self) -> bool:
        """Whether the policy reads what was used in the past, which is counted from session to session."""
        ...

    async def session(self) -> float:
        """Hold one session on everything written so far, until its decisions are carried out.

        Returns after how many seconds another session may decide more although nothing has changed, infinite for never.
        """
        ...


class TraceReplay:
    """One trace under one policy, from its first pod to its last."""

    def __init__(
        self,
        trace: ClusterTrace,
        weights: Mapping[str, int],
        clock: FakeClock,
        tell: Tell,
        apart_seconds: float,
    ) -> None:
        self._trace = trace
        self._weights = weights
        self._clock = clock
        self._tell = tell
        self._first = trace.pods[0].created
        self._next = 0
        """The next pod of the trace."""
        self._ends: list[tuple[float, str]] = []
        """When pods end, by name of the object; entries of evicted pods are skipped."""
        self._running: dict[str, TracePod] = {}
        self._waiting: dict[str, TracePod] = {}
        """By name of the object."""
        self._gangs: dict[str, dict[str, TracePod]] = {}
        """The pods of each gang that exist, by name of the PodGroup and of the object."""
        self._group_of: dict[str, str] = {}
        """The PodGroup of each pod of a gang."""
        self._tries: Counter[str] = Counter()
        self._now = 0.0
        self._apart_seconds = apart_seconds
        self._not_before = 0.0
        """No session before this moment, because pods still waited after the last one."""
        self._owed = False
        """Whether a session waits for that moment."""
        self._due = inf
        """When another session may decide more although nothing has changed."""
        self._changed = False
        """Whether pods have started or ended since the last session began."""
        self._remembers = False
        """Whether the policy remembers use, which is counted from session to session."""
        self._count_from = 0.0
        """No session to count use before this moment."""
        self._sessions = 0
        self._began = self._told = perf_counter()
        self.accounts = TraceAccounts(trace, weights)

    async def run(self, machines: Machines, daemon: Deciding) -> None:
        """Run until no pod waits or is to arrive, or those that wait have nothing to wait for."""
        self.accounts.machines([*machines.machines.values()])
        self._remembers = daemon.remembers
        while (moment := self._next_moment()) is not None:
            self._clock.advance(moment - self._now)
            self._now = moment
            self._end(machines)
            self._arrive(machines)
            self._owed = bool(self._waiting)
            if self._is_time:
                self._changed = False
                await self._decide(machines, daemon)
                self._owed = False
                self._not_before = self._now + (self._apart_seconds if self._waiting else 0.0)
                self._count_from = self._now + self._apart_seconds
            self.accounts.sample(self._now)
            self._report()
        self._tell(self._progress())

    @property
    def _is_time(self) -> bool:
        """Whether to hold a session: pods wait, or use has to be counted."""
        return (self._owed and self._now >= self._not_before) or (self._uncounted and self._now >= self._count_from)

    @property
    def _uncounted(self) -> bool:
        """Whether a session has to follow even if nobody waits: who uses what has changed, and is remembered."""
        return self._changed and self._remembers

    def _next_moment(self) -> float | None:
        """The time of the next arrival or end; None at the end of the replay."""
        while self._ends and self._ends[0][1] not in self._running:
            heapq.heappop(self._ends)
        moments = []
        if self._next < len(self._trace.pods):
            moments.append(float(self._trace.pods[self._next].created - self._first))
        if self._ends and (moments or self._waiting or self._ends[0][0] <= self.accounts.horizon):
            moments.append(self._ends[0][0])
        if self._owed:
            moments.append(self._not_before)
        if self._uncounted:
            moments.append(max(self._now, self._count_from))
        if not self._owed and self._waiting and self._due < inf:
            moments.append(max(self._due, self._not_before))
        return min(moments, default=None)

    def _end(self, machines: Machines) -> None:
        while self._ends and self._ends[0][0] <= self._now:
            _, name = heapq.heappop(self._ends)
            pod = self._running.pop(name, None)
            if pod is not None:
                machines.end(name)
                self._leave_gang(name, machines)
                self.accounts.finish(pod)
                self._changed = True

    def _arrive(self, machines: Machines) -> None:
        pods = self._trace.pods
        while self._next < len(pods) and pods[self._next].created - self._first <= self._now:
            self.accounts.arrive(pods[self._next], self._now)
            self._create(pods[self._next], machines)
            self._next += 1

    def _create(self, pod: TracePod, machines: Machines) -> None:
        self._tries[pod.name] += 1
        tries = self._tries[pod.name]
        suffix = "" if tries == 1 else f"-again-{tries}"
        name, group = f"{pod.name}{suffix}", f"{pod.gang.name}{suffix}" if pod.gang is not None else ""
        self._waiting[name] = pod
        if group:
            if group not in self._gangs:
                self._gangs[group] = {}
                machines.begin_gang(pod, group)
            self._gangs[group][name] = pod
            self._group_of[name] = group
        machines.arrive(pod, name, group)

    def _leave_gang(self, name: str, machines: Machines) -> str:
        """Take a pod that is gone off its gang, whose PodGroup goes with the last one.

        Returns the name of the PodGroup, empty for a pod of its own.
        """
        group = self._group_of.pop(name, "")
        if group:
            pod = self._gangs[group].pop(name)
            if not self._gangs[group]:
                del self._gangs[group]
                machines.end_gang(pod, group)
        return group

    async def _decide(self, machines: Machines, daemon: Deciding) -> None:
        """Hold sessions until one evicts nobody: then no pod waits for room that an eviction is about to free."""
        for _ in range(ROUNDS):
            self._due = self._now + await daemon.session()
            self._sessions += 1
            if not self._take_in(machines):
                return
            self._report()
        raise Unavailable(words.comes_to_no_rest(ROUNDS))

    def _take_in(self, machines: Machines) -> bool:
        """Take in what a session has led to; returns whether it evicted pods."""
        changes = machines.look()
        self._changed |= bool(changes.placed or changes.evicted)
        # Evicted pods made room for placed ones, so they are taken in first.
        again: list[TracePod] = []
        for gone in changes.evicted:
            pod = self._running.pop(gone.name)
            self.accounts.evict(pod, self._now)
            again.append(pod)
            group = self._leave_gang(gone.name, machines)
            again += self._break_up(group, {one.name for one in changes.evicted}, machines)
        for pod in again:
            self._create(pod, machines)
        for placed in changes.placed:
            if placed.name in self._waiting:
                self._start(placed)
        return bool(changes.evicted)

    def _break_up(self, group: str, evicted: Set[str], machines: Machines) -> list[TracePod]:
        """Delete what is left of a gang that lost a pod, as its controller would; returns its pods, to begin anew."""
        left = [name for name in self._gangs.get(group, ()) if name not in evicted]
        pods = [self._gangs[group][name] for name in left]
        for name, pod in zip(left, pods, strict=True):
            machines.end(name)
            self._leave_gang(name, machines)
            if self._running.pop(name, None) is not None:
                self.accounts.evict(pod, self._now)
            else:
                del self._waiting[name]
        return pods

    def _start(self, placed: PodPlaced) -> None:
        """Have a pod run that was bound; a gang ends so long after its last pod was."""
        pod = self._waiting.pop(placed.name)
        self._running[placed.name] = pod
        self.accounts.start(pod, placed.machine, self._now, whole=placed.whole)
        members = self._gangs.get(self._group_of.get(placed.name, ""), (placed.name,))
        if all(name in self._running for name in members):
            for name in members:
                heapq.heappush(self._ends, (self._now + pod.run_seconds, name))

    def _progress(self) -> ReplayProgress:
        accounts = self.accounts
        took = perf_counter() - self._began
        return ReplayProgress(
            self._now, accounts.created, accounts.running, accounts.waiting, len(self._trace.pods), took, self._sessions
        )

    def _report(self) -> None:
        if perf_counter() - self._told >= REPORT_SECONDS:
            self._told = perf_counter()
            self._tell(self._progress())

    def summary(self) -> dict[str, Any]:
        """The summary, with the number of sessions."""
        return self.accounts.summary() | {"sessions": self._sessions}


def weights_of(trace: ClusterTrace, given: Mapping[str, int]) -> dict[str, int]:
    """The weight of every queue of the trace that has pods: as given, else as the trace says, else 1."""
    said = {name: queue.weight for name, queue in trace.queues.items()}
    return {name: given.get(name, said.get(name, 1)) for name in sorted({queue_of(pod) for pod in trace.pods})}


def gives_vgpus(policy: Path | None) -> bool:
    """Whether GPUs are devices that pods share, because the policy in a file, or the built-in one, knows these."""
    settings = default_settings(registry()) if policy is None else load_file(policy, registry())
    return knows_vgpus(settings.policy)


async def replay(
    trace: ClusterTrace,
    policy: Path | None,
    weights: Mapping[str, int],
    seed: int,
    tell: Tell,
    apart_seconds: float = 0.0,
    *,
    one_queue: bool = False,
    checks: Checks | None = None,
) -> TraceReplay:
    """Replay a trace under a policy, or the built-in one; ``one_queue`` has pods of all queues wait in one line.

    ``checks`` look at its sessions.
    """
    clock = FakeClock()
    async with virtual_cluster(clock, seed) as cluster:
        machines = Machines(cluster, clock, SCHEDULER, one_queue=one_queue, vgpus=gives_vgpus(policy))
        machines.set_up(trace, dict(weights))
        async with stepped_daemon(cluster, policy, clock, checks) as daemon:
            found = TraceReplay(trace, weights, clock, tell, apart_seconds)
            await found.run(machines, daemon)
            await asyncio.sleep(0)
    return found
