"""The comparison of two schedulers on one cluster: what one does there, and what the other would do here.

Each session gives its snapshot and its report. What the scheduler in charge did is what changed in the snapshot; what
the candidate would do is in the report. Cost follows what changed, and the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints
from vsched.model.plan import CycleReport, JobOutcome
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.shadow.evictions import EvictionFollower
from vsched.shadow.findings import Finding, Interval, Partial, Started, StoppedWaiting, WouldEvict, WouldStart
from vsched.shadow.intervals import IntervalSums

WAITING_MAX = 20_000
"""So many gangs that wait are followed; further ones are counted."""
VICTIMS_MAX = 10_000
MESSAGE_LETTERS = 500
_SOME = 256
"""Jobs between two steps."""


class ComparisonSettings(msgspec.Struct, frozen=True):
    """The bounds of a comparison, in seconds."""

    partial_seconds: float = 60.0
    """A gang may hold nodes without its minimum for so long: its bindings take time."""
    eviction_seconds: float = 60.0
    """So long after an eviction somebody has to have started on the node."""
    interval_seconds: float = 60.0
    gap_seconds: float = 30.0
    """If no session is seen for so long, nothing is said of the time between."""


class _Waiting:
    """A gang that waits there."""

    __slots__ = ("created", "decided", "pods", "queue", "since")

    def __init__(self, job: Job, since: float) -> None:
        self.created, self.queue, self.since = job.spec.created, job.spec.queue, since
        self.decided = 0.0
        self.pods = 0
        """How many pods it had when it was last decided about."""


class _Held:
    """A gang that holds nodes without its minimum."""

    __slots__ = ("minimum", "pods", "queue", "since")

    def __init__(self, job: Job, since: float) -> None:
        self.queue, self.minimum, self.since, self.pods = job.spec.queue, job.spec.min_member, since, 0


class ShadowComparison:
    """Compares session by session."""

    def __init__(
        self, settings: ComparisonSettings | None = None, decided: Mapping[str, WouldStart] | None = None
    ) -> None:
        """``decided``: gangs that waited there and would have started here when an earlier comparison ended."""
        self._settings = settings or ComparisonSettings()
        self.evictions = EvictionFollower(self._settings.eviction_seconds)
        self.sums = IntervalSums(self._settings.gap_seconds)
        self._before = dict(decided or {})
        self._placed: dict[str, dict[str, Task]] = {}
        """The pods that are on nodes, by job and uid."""
        self._waiting: dict[str, _Waiting] = {}
        self._partial: dict[str, _Held] = {}
        self._victims: dict[tuple[str, str], float] = {}
        """By victim and beneficiary: when the eviction would have been decided last."""
        self._outcomes: Mapping[str, JobOutcome] = {}
        self._idle: Ints = np.zeros((0, 0), dtype=np.int64)
        """What was idle at the last session, by resource and node; a copy, as tables of nodes follow the cluster."""
        self._rows: Mapping[str, int] = {}
        """The columns of it, by node."""
        self._is_first = True
        self.starting: set[str] = set()
        """Gangs that would start here by the last session."""
        self.unfollowed = 0
        """How many gangs were not followed because too many wait."""

    @property
    def waiting(self) -> int:
        """How many gangs wait there."""
        return len(self._waiting)

    def partial(self, now: float) -> list[Partial]:
        """The gangs that hold nodes without their minimum for longer than the bound."""
        over = self._settings.partial_seconds
        return [
            Partial(now, key, one.queue, one.since, one.pods, one.minimum)
            for key, one in self._partial.items()
            if now - one.since > over
        ]

    def taking(self, snapshot: Snapshot, report: CycleReport, found: list[Finding]) -> Iterator[None]:
        """Compare a session, in steps; what is found is appended."""
        now = snapshot.now
        ended = self.sums.pass_to(now)
        if ended is not None:
            found.append(ended)
        keys = snapshot.jobs if self._is_first else snapshot.changed
        for number, key in enumerate(list(keys)):
            self._see(key, snapshot.jobs.get(key), now, found)
            if not number % _SOME:
                yield
        if self._is_first:
            found.extend(StoppedWaiting(now, key) for key in self._before)  # those that wait still were taken out
            self._is_first, self._before = False, {}
        yield
        self._decide(snapshot, report, found)
        yield
        found.extend(self.evictions.due(now))
        self.sums.see(snapshot, report, self.starting)
        self._outcomes = report.jobs
        self._idle, self._rows = snapshot.nodes.idle.copy(), snapshot.nodes.statics.row
        if self.sums.lasts() >= self._settings.interval_seconds:
            found.append(self.sums.cut(now))

    def end(self) -> Interval:
        """The comparison ends: the interval until the last session."""
        return self.sums.so_far()

    # -- there

    def _see(self, key: str, job: Job | None, now: float, found: list[Finding]) -> None:
        """Find out what has become of a job there."""
        known = key in self._placed
        came = self._moved(key, job, now)
        is_complete = job is not None and job.ready >= max(1, job.spec.min_member)
        self._hold(key, job, now, found, is_complete=is_complete)
        waiting = self._waiting.get(key)
        if waiting is not None and (job is None or job.spec.created != waiting.created):
            self._drop(key, now, found)
            waiting = None
        if job is None:
            return
        if is_complete:
            if came and waiting is not None:
                found.append(self._start(job, waiting, came, now))
                del self._waiting[key]
            elif came and not known and not self._is_first:
                found.append(Started(now, key, job.spec.queue, job.spec.min_member, now))
            elif waiting is not None:
                self._drop(key, now, found)
            self.evictions.complete(key)
        elif not job.pending:
            self._drop(key, now, found)
        else:
            if waiting is None:
                waiting = self._wait(job, now)
            if waiting is not None:
                waiting.pods = len(job.tasks)

    def _moved(self, key: str, job: Job | None, now: float) -> list[Task]:
        """Keep where the pods of a job are; the pods that are on nodes, and were not before."""
        before = self._placed.get(key, {})
        tasks = {} if job is None else job.tasks
        for uid, was in list(before.items()):
            task = tasks.get(uid)
            if task is not None and HOLDS[task.status].allocated:
                continue
            leaves = task is None or task.status is Status.RELEASING
            if (leaves and self.evictions.left(was, now)) or task is None or not leaves:
                del before[uid]  # one that leaves is kept until its status says why, or it is gone
        came = [task for uid, task in tasks.items() if HOLDS[task.status].allocated and task.node and uid not in before]
        if came:
            self._placed[key] = before | {task.uid: task for task in came}
        elif job is None:
            self._placed.pop(key, None)
        if came and not self._is_first:
            self.evictions.placed(key, came)
        return came

    def _wait(self, job: Job, now: float) -> _Waiting | None:
        """A gang waits from now on; None where too many do."""
        if len(self._waiting) >= WAITING_MAX:
            self.unfollowed += 1
            return None
        waiting = self._waiting[job.key] = _Waiting(job, now)
        earlier = self._before.get(job.key)
        if earlier is not None and earlier.created == waiting.created:
            waiting.since = waiting.decided = earlier.at
            del self._before[job.key]
        return waiting

    def _drop(self, key: str, now: float, found: list[Finding]) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is not None and waiting.decided:
            found.append(StoppedWaiting(now, key))

    def _start(self, job: Job, waiting: _Waiting, came: list[Task], now: float) -> Started:
        """A gang that waited has started."""
        start = Started(now, job.key, waiting.queue, job.spec.min_member, waiting.since, waiting.decided)
        outcome = self._outcomes.get(job.key)
        if waiting.decided or outcome is None or not outcome.code:
            return start
        if waiting.pods < len(job.tasks) or not self._had_room(came):
            return start  # what it started with was not there yet at the last session
        return msgspec.structs.replace(start, code=outcome.code, message=outcome.message[:MESSAGE_LETTERS])

    def _had_room(self, came: list[Task]) -> bool:
        """Whether the nodes of these pods had room for them at the last session."""
        idle = self._idle
        asked: dict[tuple[int, int], int] = {}
        for task in came:
            row = self._rows.get(task.node)
            if row is None:
                return False
            for column, amount in task.shape.request:
                asked[column, row] = asked.get((column, row), 0) + amount
        return all(column < len(idle) and int(idle[column, row]) >= amount for (column, row), amount in asked.items())

    def _hold(self, key: str, job: Job | None, now: float, found: list[Finding], *, is_complete: bool) -> None:
        """Follow a gang that holds nodes without its minimum."""
        if job is not None and job.allocated_count and not is_complete:
            held = self._partial.setdefault(key, _Held(job, now))
            held.pods = max(held.pods, job.allocated_count)
            return
        ended = self._partial.pop(key, None)
        if ended is not None and now - ended.since > self._settings.partial_seconds:
            found.append(Partial(now, key, ended.queue, ended.since, ended.pods, ended.minimum))

    # -- here

    def _decide(self, snapshot: Snapshot, report: CycleReport, found: list[Finding]) -> None:
        """Find out what would be done here."""
        now, starting = snapshot.now, set[str]()
        for key in {bind.job for bind in report.binds}:
            outcome, waiting = report.jobs.get(key), self._waiting.get(key)
            if waiting is None or outcome is None or outcome.ready < max(1, outcome.min_member):
                continue
            starting.add(key)
            if not waiting.decided:
                waiting.decided = now
                found.append(WouldStart(now, key, waiting.queue, outcome.min_member, waiting.created))
        self.starting = starting
        counts: dict[tuple[str, str, str], int] = {}
        for eviction in report.evictions:
            pair = eviction.job, eviction.beneficiary, eviction.action
            counts[pair] = counts.get(pair, 0) + 1
        for (job, beneficiary, action), pods in counts.items():
            before = self._victims.pop((job, beneficiary), None)
            self._victims[job, beneficiary] = now
            if before is None or now - before > self._settings.eviction_seconds:
                found.append(WouldEvict(now, job, pods, action, beneficiary))
        while len(self._victims) > VICTIMS_MAX:
            del self._victims[next(iter(self._victims))]
