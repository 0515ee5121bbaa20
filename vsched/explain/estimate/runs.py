"""One run of the cluster in virtual time, until a job has its places.

Ends of pods that are close together are simultaneous, or are put in some other order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from heapq import heappop, heappush
from math import inf, isinf
from typing import NamedTuple
from zlib import crc32

from vsched.explain.estimate import words
from vsched.explain.estimate.passing import Decided, Passing
from vsched.framework.durations import Basis, TimeLeft
from vsched.model.plan import CycleReport
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

AT_ONCE = 3
"""The most cycles at one moment: those after the first place pods that were ungated, or use what victims left."""
TOGETHER_SECONDS = 0.5
"""Ends within this time are simultaneous: time stamps of Kubernetes have whole seconds."""
APART_SECONDS = 2.0
"""Ends within this time may happen in any order: clocks and nodes are no more exact than that."""
TURNS = 8
"""Simultaneous ends are spread over this many turns; one cycle for each turn shows which jobs get places."""


class Stop(Enum):
    """Why a run ended before the job had its places."""

    NOTHING_ENDS = words.NO_KNOWN_END
    SPENT = words.TOOK_TOO_LONG


class VirtualRun(NamedTuple):
    """The result of one run in virtual time."""

    first: float
    """The earliest time of the job's start, seconds since the epoch; infinite if it does not start."""
    last: float
    """The time at which the job has its places, seconds since the epoch."""
    ended: tuple[tuple[Task, TimeLeft], ...]
    """Pods that ended before the start, in order, including pods that started in the run."""
    started: tuple[str, ...]
    """Keys of the jobs whose pods started in the run."""
    stop: Stop | None = None
    close: bool = False
    """Whether some ends were so close that they may happen in another order."""


Cycle = Callable[[Passing, float], Decided | Stop | None]
HowLong = Callable[[Task, TimeLeft], float]
"""How much longer a pod runs in a run, within what is known of it, seconds."""


class Running:
    """One run: the cluster in virtual time, and a heap of the coming ends of pods."""

    def __init__(
        self,
        snapshot: Snapshot,
        lasts: Callable[[Task, float], TimeLeft],
        how_long: HowLong,
        number: int = 0,
    ) -> None:
        self._number = number
        """The number of the order of close ends; 0 for the expected order."""
        self._close = False
        self._passing = Passing(snapshot)
        self._lasts = lasts
        self._how_long = how_long
        self._began = self._reached = snapshot.now
        self._ends: list[tuple[float, str, Task, TimeLeft]] = []
        self._ended: list[tuple[Task, TimeLeft]] = []
        self._started: dict[str, None] = {}
        self._push(holding(snapshot), snapshot.now)

    def until(self, report: CycleReport, share: float, cycle: Cycle) -> VirtualRun:
        """Run once, from the decisions of ``report`` until the goal has its places, or no further end is known."""
        try:
            return self._until(report, share, cycle)
        finally:
            self._passing.leave()

    def _until(self, report: CycleReport, share: float, cycle: Cycle) -> VirtualRun:
        first = now = self._began
        made: Decided | Stop | None = Decided(report, {key: one.phase for key, one in report.jobs.items()})
        while True:
            for _ in range(AT_ONCE):
                if isinstance(made, Stop):
                    return self._over(inf, inf, made)
                if made is None:
                    return self._over(first, now)
                settled = self._passing.settle(made, now)
                self._start(settled.started, now)
                self._push(settled.asked, now)
                if not settled.moved:
                    break
                made = cycle(self._passing, now)
            due = max(made.due, now) if isinstance(made, Decided) else inf
            if not self._ends and isinf(due):
                return self._over(inf, inf, Stop.NOTHING_ENDS)
            first, now = self._pass(share, due)
            made = cycle(self._passing, now)

    def _pass(self, share: float, due: float) -> tuple[float, float]:
        """Let the next pods end, and return the times of the first and the last of these ends.

        If the cycle is ``due`` again before, time passes until then, and nothing ends.
        """
        if not self._ends or due < self._ends[0][0]:
            until = due + max(TOGETHER_SECONDS, share * (due - self._began))
            self._reached = max(self._reached, min(until, self._ends[0][0]) if self._ends else until)
            return due, self._reached
        first = self._ends[0][0]
        together = TOGETHER_SECONDS if not self._number else APART_SECONDS / TURNS / 2
        until = first + max(together, share * (first - self._began))
        # Turns only order the ends; they do not move the time.
        first = now = max(self._reached, first - self._turn(self._ends[0][2]))
        gone: list[Task] = []
        while self._ends and self._ends[0][0] <= until:
            moment, _, task, found = heappop(self._ends)
            now = max(now, moment - self._turn(task))
            # Skip pods that were evicted meanwhile: they are gone, or pending again.
            known = self._passing.task(task.uid)
            stays = found.basis is Basis.ASKED and known is not None and known.asked is None  # it was withdrawn
            if known is not None and HOLDS[known.status].uses and not stays:
                gone.append(known)
                self._ended.append((known, found))
        self._reached = now
        self._close |= len(gone) > 1 or bool(self._ends and self._ends[0][0] - now < APART_SECONDS)
        self._passing.end(gone)
        return first, now

    def _start(self, tasks: Sequence[Task], now: float) -> None:
        self._started.update((task.job, None) for task in tasks)
        self._push(tasks, now)

    def _push(self, tasks: Iterable[Task], now: float) -> None:
        for task in tasks:
            found = self._lasts(task, now)
            length = self._how_long(task, found)
            if not isinf(length):
                heappush(self._ends, (now + length + self._turn(task), task.uid, task, found))

    def _turn(self, task: Task) -> float:
        """The delay, in seconds, that puts the end of a pod at its turn in this run."""
        if not self._number:
            return 0.0
        return crc32(f"{self._number}/{task.uid}".encode()) % TURNS * APART_SECONDS / TURNS

    def _over(self, first: float, last: float, stop: Stop | None = None) -> VirtualRun:
        return VirtualRun(first, last, tuple(self._ended), tuple(self._started), stop, self._close)


def holding(snapshot: Snapshot) -> Iterator[Task]:
    """Every pod of a job that uses resources of a node."""
    for job in snapshot.jobs.values():
        if len(job.pending) < len(job.tasks):
            yield from (task for task in job.tasks.values() if task.node and HOLDS[task.status].uses)
