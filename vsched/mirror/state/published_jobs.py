"""What snapshots show of jobs: the jobs themselves, the sums over them, and which of them are in some state.

Only ``PublishedJobs.put`` changes it, so that a snapshot stays the same while objects arrive.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from vsched.mirror.state.queue_usage import QueueSums
from vsched.model.history.holding import held_by
from vsched.model.jobs.job import Job, claim_of, phases_of
from vsched.model.jobs.runs import RunBook
from vsched.model.jobs.spec import JobSpec
from vsched.model.snapshot import Snapshot

UNSEEN = JobSpec(namespace="", name="")
"""The spec of a job whose PodGroup has not been seen; snapshots do not show such a job."""


class RunningJobs:
    """Jobs with tasks that are bound or run, by queue: possible victims."""

    def __init__(self) -> None:
        self.by_queue: dict[str, dict[str, Job]] = {}
        self._queues: dict[str, str] = {}
        """The queue each of them is listed under."""

    def adopt(self, by_queue: Mapping[str, Mapping[str, Job]]) -> None:
        """Take over what another mirror has published."""
        self.by_queue = {queue: dict(jobs) for queue, jobs in by_queue.items()}
        for queue, jobs in by_queue.items():
            self._queues.update(dict.fromkeys(jobs, queue))

    def put(self, key: str, job: Job | None) -> None:
        """A job as it is now, None where it is gone."""
        queue = job.spec.queue if job is not None and job.holding else None
        before = self._queues.get(key)
        if before is not None and before != queue:
            del self._queues[key]
            listed = self.by_queue[before]
            del listed[key]
            if not listed:
                del self.by_queue[before]
        if job is not None and queue is not None:
            self._queues[key] = queue
            self.by_queue.setdefault(queue, {})[key] = job


class PublishedJobs:
    """The jobs as of the last publication."""

    def __init__(self, on_change: Callable[[str, Job | None], None]) -> None:
        """``on_change`` is called with each job whose view in snapshots changes, None where it is gone."""
        self._on_change = on_change
        self.sums = QueueSums()
        self.jobs: dict[str, Job] = {}
        self.orphans: dict[str, Job] = {}
        """Jobs with orphan pods, which name a PodGroup that does not exist; by key. Cycles ignore them."""
        self.active: Sequence[str] = ()
        """Sorted keys of published jobs that a cycle may do something for."""
        self.nominated: dict[str, None] = {}
        """Keys of published jobs with nominated pending tasks."""
        self.admitted: dict[str, None] = {}
        """Keys of published jobs that were admitted and do not use all they were admitted for."""
        self.reserving: dict[str, None] = {}
        """Keys of published jobs with pending tasks that their queue may have to reserve room for."""
        self.asked: dict[str, None] = {}
        """Keys of jobs, strays included, with pods that were asked to end by themselves."""
        self.holders = RunningJobs()
        self.runs = RunBook()
        self.phases: Counter[str] = Counter()
        """How many published jobs are in each phase."""
        self.version = 0
        """Grows whenever what snapshots show of jobs changes."""
        self._changes = JobChanges()

    def adopt(self, snapshot: Snapshot) -> None:
        """Take over what another mirror has published."""
        jobs = snapshot.jobs
        for job in jobs.values():
            job.frozen = True
        self.orphans = {key: _unseen(job) for key, job in snapshot.strays.items()}
        self.jobs = dict(jobs)
        self.phases = phases_of(jobs.values())
        self.active = snapshot.active
        self.nominated, self.admitted, self.reserving, self.asked = map(
            dict.fromkeys, (snapshot.nominated, snapshot.admitted, snapshot.reserving, snapshot.asked)
        )
        self.holders.adopt(snapshot.holders)
        self.runs.adopt(snapshot.runs)
        held = held_by(jobs.values()) if snapshot.history.is_empty else snapshot.history.held
        self.sums.adopt(snapshot.books, snapshot.shares, held, jobs)

    def take(self) -> tuple[str, ...]:
        """Update what follows from all jobs together; returns the sorted keys of jobs that changed or are gone."""
        self.sums.publish()
        changed, self.active = self._changes.take(self.active)
        return changed

    def put(self, key: str, job: Job | None) -> None:
        """A job as it is now, None where it is gone; what follows for all jobs together is left to ``take``."""
        self.version += 1
        was_orphan = self.orphans.pop(key, None) is not None
        if job is None or job.spec is UNSEEN:
            if job is not None:
                job.frozen = True
                self.orphans[key] = job
            _note(self.asked, key, 0 if job is None else job.asked)
            before = self.jobs.pop(key, None)
            if before is not None:
                self._count(before, None)
                self.sums.put(key, None)
                self.holders.put(key, None)
                self.runs.put(key, None)
                self.nominated.pop(key, None)
                self.admitted.pop(key, None)
                self.reserving.pop(key, None)
            if before is not None or was_orphan:
                self._changes.put(key, waits=False)
                self._on_change(key, job)
            return
        job.frozen = True
        self._count(self.jobs.get(key), job)
        self.jobs[key] = job
        self.holders.put(key, job)
        self.runs.put(key, job)
        _note(self.nominated, key, job.nominated)
        _note(self.reserving, key, not job.kept_out and bool(job.reserving or job.may_be_partial))
        _note(self.asked, key, job.asked)
        claim = claim_of(job)
        _note(self.admitted, key, len(claim.inqueue))
        self.sums.put(key, claim)
        self._changes.put(key, waits=job.waits)
        self._on_change(key, job)

    def _count(self, before: Job | None, after: Job | None) -> None:
        """Count a job in its phase; phases of no job are forgotten, because a tenant may write any text as one."""
        if after is not None:
            self.phases[after.spec.phase] += 1
        if before is not None:
            self.phases[before.spec.phase] -= 1
            if not self.phases[before.spec.phase]:
                del self.phases[before.spec.phase]


def _unseen(job: Job) -> Job:
    """The job of pods whose PodGroup has not been seen."""
    other = job.clone()
    other.spec, other.frozen = UNSEEN, True
    return other


def _note(keys: dict[str, None], key: str, count: int) -> None:
    if count:
        keys[key] = None
    else:
        keys.pop(key, None)


_FEW = 64
"""Up to this many changes, inserting into a sorted list is cheaper than sorting again."""


class JobChanges:
    """The jobs that changed since the last ``take``, and whether they wait."""

    def __init__(self) -> None:
        self._changed: dict[str, None] = {}
        self._waiting: dict[str, None] = {}
        """Those of them that wait."""
        self._in_order = 0
        """So many of them, the first ones, came in order."""
        self._last = ""
        """The last one of these."""

    def put(self, key: str, *, waits: bool) -> None:
        """A job has changed, or is gone; the latest word on whether it waits holds."""
        if self._in_order == len(self._changed) and key > self._last:
            self._in_order += 1
            self._last = key
        self._changed[key] = None
        if waits:
            self._waiting[key] = None
        else:
            self._waiting.pop(key, None)

    def take(self, active: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
        """The sorted keys of what changed, and of all jobs that wait, where ``active`` are those that did before."""
        if not self._changed:
            return (), active
        taken = self._sorted(), self._active(active)
        self._changed, self._waiting, self._in_order, self._last = {}, {}, 0, ""
        return taken

    def _sorted(self) -> tuple[str, ...]:
        # To sort a hundred thousand keys that are in order takes a while as well: each is compared with the next.
        keys = list(self._changed)
        late = keys[self._in_order :]
        if len(late) > _FEW:
            keys.sort()
        else:
            del keys[self._in_order :]
            for key in late:
                insort(keys, key)
        return tuple(keys)

    def _active(self, before: Sequence[str]) -> Sequence[str]:
        changed, waiting = self._changed, self._waiting
        if len(changed) > _FEW:
            return tuple(sorted([*(key for key in before if key not in changed), *waiting]))
        active = list(before)
        for key in changed:
            position = bisect_left(active, key)
            listed = position < len(active) and active[position] == key
            if key in waiting and not listed:
                active.insert(position, key)
            elif listed and key not in waiting:
                del active[position]
        return tuple(active)
