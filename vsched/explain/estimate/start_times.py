"""Estimates when a waiting job may start.

The estimate simulates the cluster in virtual time, with cycles of the policy itself, until the job has its places. One
run lets running pods end at their earliest expected time, another at their latest. Jobs that go first take places, and
then run as long as similar jobs did. The first runs treat ends that are close together, relative to their distance from
now, as one; so the number of cycles grows with the logarithm of that distance. Later runs are finer, if there is time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from heapq import heappop, heappush
from math import inf, isinf
from typing import NamedTuple
from zlib import crc32

from vsched.explain.estimate.passing import Decided, Passing
from vsched.explain.estimate.smallest import smallest_part
from vsched.explain.estimate.words import Foreseen, not_to_be_said, told, unknown_durations
from vsched.explain.order import WaitingOrder
from vsched.explain.records import Estimate
from vsched.explain.simulation import Asked, Goal, Spent, never, reached, until
from vsched.framework.cycle import run_actions
from vsched.framework.durations import Basis, Left, left
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.reports.effects import decided
from vsched.framework.times import DAY_SECONDS
from vsched.model.plan import CycleReport
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

CYCLES_MAX = 500
"""The budget of cycles for all runs of one estimate."""
AT_ONCE = 3
"""The most cycles at one moment: those after the first place pods that were ungated, or use what victims left."""
BEHIND_MAX = 50
"""How many jobs after this one take part: jobs of other queues may still get places before it."""
FARTHEST_YEARS = 10
FARTHEST_SECONDS = FARTHEST_YEARS * 365 * DAY_SECONDS
"""Starts that are farther away are not reported: a declared duration of centuries means that the pod does not end."""
TOGETHER_SECONDS = 0.5
"""Ends within this time are simultaneous: time stamps of Kubernetes have whole seconds."""
TOGETHER_SHARES = (0.25, 0.05, 0.0)
"""Ends within this share of their distance from now are simultaneous, too. The first runs use a large share, which is
quick; later ones a smaller one, if there is time. The reported range is wider by the same share."""


APART_SECONDS = 2.0
"""Ends within this time may happen in any order: clocks and nodes are no more exact than that."""
ORDERS = 4
"""How many orders of close ends the estimate tries: the first end lets other jobs in, which may delay this one."""
TURNS = 8
"""Simultaneous ends are spread over this many turns; one cycle for each turn shows which jobs get places."""


class Stop(Enum):
    """Why a run ended before the job had its places."""

    NOTHING_ENDS = "nothing that is known to end makes room"
    SPENT = "it took too long"


class Run(NamedTuple):
    """The result of one run in virtual time."""

    first: float
    """The earliest time of the job's start, seconds since the epoch; infinite if it does not start."""
    last: float
    """The time at which the job has its places, seconds since the epoch."""
    ended: tuple[tuple[Task, Left], ...]
    """Pods that ended before the start, in order, including pods that started in the run."""
    started: tuple[str, ...]
    """Keys of the jobs whose pods started in the run."""
    stop: Stop | None = None
    close: bool = False
    """Whether some ends were so close that they may happen in another order."""


def estimate(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    report: CycleReport,
    goal: Goal,
    order: WaitingOrder,
    spent: Asked = never,
    over: Asked = never,
) -> Estimate:
    """Estimate when the goal has its places: the minimum of a waiting job, one more pod if it has that, or one pod.

    ``report`` is what a cycle decided on the snapshot, ``order`` the order of its waiting jobs. ``spent`` is asked
    before each cycle whether to stop, ``over`` during one.
    """
    foreseeing = Foreseeing(snapshot, policy, registry, report, goal, order, spent, over)
    found = foreseeing.closest()
    if isinstance(found, Stop):
        return not_to_be_said(_why_not(found, foreseeing))
    soon, late, share, others = found
    # Later ends may leave better room, so the run with the latest ends can have the earlier start.
    runs = (soon, late, *others)
    earliest, latest = min(run.first for run in runs), max(run.last for run in runs)
    # Ends that a run treated as simultaneous may happen one after the other, and let in other jobs in between.
    earliest = snapshot.now + (earliest - snapshot.now) / (1.0 + share)
    latest = snapshot.now + (latest - snapshot.now) * (1.0 + share)
    if earliest - snapshot.now > FARTHEST_SECONDS:
        return not_to_be_said(f"work takes its places for more than {FARTHEST_YEARS} years, as declared")
    latest = latest if latest - snapshot.now <= FARTHEST_SECONDS else inf
    shown = soon if isinf(latest) else late
    ends = _before_now(shown, snapshot)
    return told(Foreseen(snapshot.now, earliest, latest, ends, shown.started, late.stop is Stop.SPENT))


def _why_not(found: Stop, foreseeing: Foreseeing) -> str:
    """Why the start cannot be foreseen, with the jobs of unknown duration that hold what is needed."""
    unknown = foreseeing.unknown() if found is Stop.NOTHING_ENDS else []
    alone = foreseeing.starts_without(unknown) if unknown else False
    if found is Stop.SPENT or alone is None:
        return "too much goes before it to foresee when it starts"
    if not alone:
        return "nothing that is known to end makes room for it"
    return unknown_durations(smallest_part(unknown, foreseeing.starts_without), len(unknown))


class Both(NamedTuple):
    """A run with the earliest ends of pods, and one with the latest."""

    soon: Run
    late: Run
    share: float
    """The precision: ends within this share of their distance from now were simultaneous."""
    others: tuple[Run, ...] = ()
    """Runs with other orders of close ends."""


class Foreseeing:
    """Simulates runs of one cluster in virtual time, for one goal."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        registry: Registry,
        report: CycleReport,
        goal: Goal,
        order: WaitingOrder,
        spent: Asked,
        over: Asked,
    ) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._longest = policy.longest_runs(snapshot.queues)
        self._registry = registry
        self._report = report
        self._goal = goal
        self._spent = spent
        self._over = over
        self._cycles = CYCLES_MAX
        self._known: dict[str, Left] = {}
        places = order.overall()
        most = places.get(goal.job, len(places)) + BEHIND_MAX
        self._among = frozenset((goal.job, *(key for key, place in places.items() if place <= most)))

    def closest(self) -> Both | Stop:
        """Both runs, as precise as there is time for; else the reason why there are none."""
        found: Both | None = None
        for share in TOGETHER_SHARES:
            soon = self._run(_least, share)
            if soon.stop is not None:
                return found or soon.stop
            late = self._run(_most, share)
            if late.stop is Stop.SPENT and found is not None:
                return found
            found = Both(soon, late, share)
            if late.stop is Stop.SPENT:
                return found
        return Stop.SPENT if found is None else found._replace(others=tuple(self._in_other_orders(found)))

    def _in_other_orders(self, found: Both) -> Iterator[Run]:
        """Runs with other orders of close ends, as long as there is time."""
        ways = [way for run, way in ((found.soon, _least), (found.late, _most)) if run.close]
        if found.soon[:2] == found.late[:2]:
            ways = ways[:1]
        for number in range(1, ORDERS + 1):
            for way in ways:
                run = self._run(way, found.share, number)
                if run.stop is Stop.SPENT:
                    return
                yield run

    def _run(self, how_long: Callable[[Left], float], share: float, number: int = 0) -> Run:
        return _Running(self._snapshot, self._left, how_long, number).until(self._report, share, self._cycle)

    def unknown(self) -> list[str]:
        """Keys of the running jobs of unknown duration, those in the goal's queue first."""
        jobs, now = self._snapshot.jobs, self._snapshot.now
        found = {task.job for task in holding(self._snapshot) if isinf(self._left(task, now).least)}
        queue = jobs[self._goal.job].spec.queue
        return sorted(found, key=lambda key: (jobs[key].spec.queue != queue, key))

    def starts_without(self, jobs: Iterable[str]) -> bool | None:
        """Whether the goal gets its places if these jobs end now and others as expected; None if the time is over."""
        gone = set(jobs)

        def lasts(task: Task, now: float) -> Left:
            found = self._left(task, now)
            return found._replace(least=0.0) if task.job in gone and isinf(found.least) else found

        run = _Running(self._snapshot, lasts, lambda left: left.least)
        stop = run.until(self._report, TOGETHER_SHARES[0], self._cycle).stop
        return None if stop is Stop.SPENT else stop is None

    def _left(self, task: Task, now: float) -> Left:
        """How much longer a pod runs; cached for the present, because each run asks this for all running pods."""
        is_present = now == self._snapshot.now and task.asked is None
        known = self._known.get(task.uid) if is_present else None
        if known is None:
            job = self._snapshot.jobs[task.job]
            known = left(self._snapshot.learnt, job.spec, task, now, self._longest(job))
            if is_present:
                self._known[task.uid] = known
        return known

    def _cycle(self, passing: Passing, now: float) -> Decided | Stop | None:
        """What a cycle decides at this time; None if the goal has its places then."""
        if not self._cycles or self._spent():
            return Stop.SPENT
        self._cycles -= 1
        try:
            session = run_actions(passing.at(now, self._among), self._policy, self._registry, until(self._over))
        except Spent:
            return Stop.SPENT
        made = None
        if not reached(session, self._goal):
            phases = {key: view.phase for key, view in session.jobs.items() if view.phase != view.spec.phase}
            made = Decided(decided(session), phases)
        session.plugins.release()
        return made


Cycle = Callable[[Passing, float], Decided | Stop | None]


class _Running:
    """One run: the cluster in virtual time, and a heap of the coming ends of pods."""

    def __init__(
        self,
        snapshot: Snapshot,
        lasts: Callable[[Task, float], Left],
        how_long: Callable[[Left], float],
        number: int = 0,
    ) -> None:
        self._number = number
        """The number of the order of close ends; 0 for the expected order."""
        self._close = False
        self._passing = Passing(snapshot)
        self._lasts = lasts
        self._how_long = how_long
        self._began = self._reached = snapshot.now
        self._ends: list[tuple[float, str, Task, Left]] = []
        self._ended: list[tuple[Task, Left]] = []
        self._started: dict[str, None] = {}
        self._push(holding(snapshot), snapshot.now)

    def until(self, report: CycleReport, share: float, cycle: Cycle) -> Run:
        """Run from the decisions of ``report`` until the goal has its places, or no further end is known."""
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
            length = self._how_long(found)
            if not isinf(length):
                heappush(self._ends, (now + length + self._turn(task), task.uid, task, found))

    def _turn(self, task: Task) -> float:
        """The delay, in seconds, that puts the end of a pod at its turn in this run."""
        if not self._number:
            return 0.0
        return crc32(f"{self._number}/{task.uid}".encode()) % TURNS * APART_SECONDS / TURNS

    def _over(self, first: float, last: float, stop: Stop | None = None) -> Run:
        return Run(first, last, tuple(self._ended), tuple(self._started), stop, self._close)


def _least(found: Left) -> float:
    return found.least


def _most(found: Left) -> float:
    return found.most


def holding(snapshot: Snapshot) -> Iterator[Task]:
    """Every pod of a job that uses resources of a node."""
    for job in snapshot.jobs.values():
        if len(job.pending) < len(job.tasks):
            yield from (task for task in job.tasks.values() if task.node and HOLDS[task.status].uses)


def _before_now(run: Run, snapshot: Snapshot) -> list[tuple[str, Left]]:
    """The jobs that ran already and ended in the run, the last first, each with the estimate of its last pod."""
    found: dict[str, Left] = {}
    for task, one in reversed(run.ended):
        job = snapshot.jobs.get(task.job)
        if job is not None and task.uid in job.tasks and task.uid not in job.pending:
            found.setdefault(task.job, one)
    return list(found.items())
