"""Estimates when a waiting job may start.

The estimate simulates the cluster in virtual time, with cycles of the policy itself, until the job has its places. One
run lets running pods end at their earliest expected time, another at their latest; a further one lets pods of unknown
duration end at once. Jobs that go first take places, and then run as long as similar jobs did. The first runs treat
ends that are close together, relative to their distance from now, as one; so the number of cycles grows with the
logarithm of that distance. Later runs are finer, if there is time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, isinf
from typing import NamedTuple
from zlib import crc32

from vsched.explain.estimate import words
from vsched.explain.estimate.passing import Decided, Passing
from vsched.explain.estimate.runs import TOGETHER_SECONDS, HowLong, Running, Stop, VirtualRun, holding
from vsched.explain.estimate.smallest import smallest_part
from vsched.explain.estimate.words import Foreseen, not_to_be_said, told, unknown_durations
from vsched.explain.order import WaitingOrder
from vsched.explain.records import Estimate
from vsched.explain.simulation import Asked, Goal, Spent, never, reached, until
from vsched.framework.cycle import run_actions
from vsched.framework.durations import TimeLeft, left
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.reports.effects import decided
from vsched.framework.times import DAY_SECONDS
from vsched.model.plan import CycleReport
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

CYCLES_MAX = 500
"""The budget of cycles for all runs of one estimate."""
BEHIND_MAX = 50
"""How many jobs after this one take part: jobs of other queues may still get places before it."""
FARTHEST_YEARS = 10
FARTHEST_SECONDS = FARTHEST_YEARS * 365 * DAY_SECONDS
"""Starts that are farther away are not reported: a declared duration of centuries means that the pod does not end."""
TOGETHER_SHARES = (0.25, 0.05, 0.0)
"""Ends within this share of their distance from now are simultaneous, too. The first runs use a large share, which is
quick; later ones a smaller one, if there is time. The reported range is wider by the same share."""


ORDERS = 4
"""How many orders of close ends the estimate tries: the first end lets other jobs in, which may delay this one. So may
jobs that end early among jobs that end late: as many choices of these are tried."""


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
    soon, late, share, others, open_ended = found
    # Later ends may leave better room, so the run with the latest ends can have the earlier start.
    runs = (soon, late, *others)
    earliest, latest = min(run.first for run in runs), max(run.last for run in runs)
    sooner: Sequence[str] = ()
    if open_ended is not None:
        sooner = foreseeing.open_ended if open_ended.first < earliest - TOGETHER_SECONDS else ()
        earliest, latest = min(earliest, open_ended.first), max(latest, open_ended.last)
    # Ends that a run treated as simultaneous may happen one after the other, and let in other jobs in between.
    earliest = snapshot.now + (earliest - snapshot.now) / (1.0 + share)
    latest = snapshot.now + (latest - snapshot.now) * (1.0 + share)
    if earliest - snapshot.now > FARTHEST_SECONDS:
        return not_to_be_said(words.declared_for_years(FARTHEST_YEARS))
    latest = latest if latest - snapshot.now <= FARTHEST_SECONDS else inf
    shown = soon if isinf(latest) else late
    ends = [(snapshot.called(key), one) for key, one in _before_now(shown, snapshot)]
    sooner = [*map(snapshot.called, sooner)]
    return told(Foreseen(snapshot.now, earliest, latest, ends, shown.started, late.stop is Stop.SPENT, sooner))


def _why_not(found: Stop, foreseeing: Foreseeing) -> str:
    """Why the start cannot be foreseen, with the jobs of unknown duration that hold what is needed."""
    unknown = foreseeing.unknown() if found is Stop.NOTHING_ENDS else []
    alone = foreseeing.starts_without(unknown) if unknown else False
    if found is Stop.SPENT or alone is None:
        return words.TOO_MANY_GO_FIRST
    if not alone:
        return words.NO_WORK_WOULD_FREE
    some = smallest_part(unknown, foreseeing.starts_without)
    return unknown_durations([*map(foreseeing.called, some)], len(unknown))


class Both(NamedTuple):
    """A run with the earliest ends of pods, and one with the latest."""

    soon: VirtualRun
    late: VirtualRun
    share: float
    """The precision: ends within this share of their distance from now were simultaneous."""
    others: tuple[VirtualRun, ...] = ()
    """Runs with other orders of close ends."""
    open_ended: VirtualRun | None = None
    """A run in which pods of unknown duration end at once; None where there are none, or it would not start then."""


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
        self._known: dict[str, TimeLeft] = {}
        self._open_ended: dict[str, None] = {}
        places = order.overall()
        most = places.get(goal.job, len(places)) + BEHIND_MAX
        self._among = frozenset((goal.job, *(key for key, place in places.items() if place <= most)))

    def called(self, key: str) -> str:
        """How sentences name a job."""
        return self._snapshot.called(key)

    @property
    def open_ended(self) -> tuple[str, ...]:
        """Keys of the jobs with pods that end in the runs at a time that nobody knows, sorted."""
        return tuple(sorted(self._open_ended))

    def closest(self) -> Both | Stop:
        """All runs, as precise as there is time for; else the reason why there are none."""
        found = self._both()
        if isinstance(found, Stop) or not self._open_ended:
            return found
        run = self._run(_least, found.share, lasts=self._left_at_least)
        if run.stop is Stop.NOTHING_ENDS:
            return found
        now = self._snapshot.now
        return found._replace(open_ended=VirtualRun(now, now, (), ()) if run.stop is Stop.SPENT else run)

    def _both(self) -> Both | Stop:
        """Both runs, with other orders of close ends; else the reason why there are none."""
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

    def _in_other_orders(self, found: Both) -> Iterator[VirtualRun]:
        """Runs with other orders of close ends, as long as there is time."""
        ways = [way for run, way in ((found.soon, _least), (found.late, _most)) if run.close]
        is_range = found.soon[:2] != found.late[:2]
        if not is_range:
            ways = ways[:1]
        for number in range(1, ORDERS + 1):
            for way in (*ways, _some_late(number)) if is_range else ways:
                run = self._run(way, found.share, number)
                if run.stop is Stop.SPENT:
                    return
                yield run

    def _run(
        self,
        how_long: HowLong,
        share: float,
        number: int = 0,
        lasts: Callable[[Task, float], TimeLeft] | None = None,
    ) -> VirtualRun:
        running = Running(self._snapshot, lasts or self._left, how_long, number)
        return running.until(self._report, share, self._cycle)

    def unknown(self) -> list[str]:
        """Keys of the running jobs of unknown duration, those in the goal's queue first."""
        jobs, now = self._snapshot.jobs, self._snapshot.now
        found = {task.job for task in holding(self._snapshot) if isinf(self._left(task, now).least)}
        queue = jobs[self._goal.job].spec.queue
        return sorted(found, key=lambda key: (jobs[key].spec.queue != queue, key))

    def starts_without(self, jobs: Iterable[str]) -> bool | None:
        """Whether the goal gets its places if these jobs end now and others as expected; None if the time is over."""
        gone = set(jobs)

        def lasts(task: Task, now: float) -> TimeLeft:
            found = self._left(task, now)
            return found._replace(least=0.0) if task.job in gone and isinf(found.least) else found

        run = Running(self._snapshot, lasts, _least)
        stop = run.until(self._report, TOGETHER_SHARES[0], self._cycle).stop
        return None if stop is Stop.SPENT else stop is None

    def _left(self, task: Task, now: float) -> TimeLeft:
        """How much longer a pod runs; cached for the present, because each run asks this for all running pods."""
        is_present = now == self._snapshot.now and task.asked is None
        known = self._known.get(task.uid) if is_present else None
        if known is None:
            job = self._snapshot.jobs[task.job]
            known = left(self._snapshot.learnt, job.spec, task, now, self._longest(job))
            if is_present:
                self._known[task.uid] = known
        if _is_open_ended(task, known):
            self._open_ended[task.job] = None
        return known

    def _left_at_least(self, task: Task, now: float) -> TimeLeft:
        """The same, where pods of unknown duration may end at once."""
        found = self._left(task, now)
        return found._replace(least=0.0) if _is_open_ended(task, found) else found

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


def _is_open_ended(task: Task, found: TimeLeft) -> bool:
    """Whether a pod ends, and nobody knows when."""
    return isinf(found.least) and not task.endless and not task.returns


def _least(task: Task, found: TimeLeft) -> float:
    return found.least


def _most(task: Task, found: TimeLeft) -> float:
    return found.most


def _some_late(number: int) -> HowLong:
    """Half of the jobs end early and the others late; ``number`` says which."""

    def how_long(task: Task, found: TimeLeft) -> float:
        return found.most if crc32(f"{number}/{task.job}".encode()) & 1 else found.least

    return how_long


def _before_now(run: VirtualRun, snapshot: Snapshot) -> list[tuple[str, TimeLeft]]:
    """The jobs that ran already and ended in the run, the last first, each with the estimate of its last pod."""
    found: dict[str, TimeLeft] = {}
    for task, one in reversed(run.ended):
        job = snapshot.jobs.get(task.job)
        if job is not None and task.uid in job.tasks and task.uid not in job.pending:
            found.setdefault(task.job, one)
    return list(found.items())
