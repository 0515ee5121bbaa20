"""Pledges: the amounts that admitted jobs were admitted for and do not hold yet.

The order of admission counts pledges as if they were held. Admission does not change usage, so an order by usage alone
would give all room to one queue or one namespace. Pledges of earlier cycles count too; otherwise a namespace whose
jobs wait for nodes would get new room in every cycle. Only the action ``enqueue`` adds pledges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vsched.model.amounts.resources import NOTHING, Amounts, Vector, add
from vsched.model.jobs.job import Job, JobUsage, pledge_of
from vsched.model.snapshot import Snapshot


class Pledge(NamedTuple):
    """The amounts that one admitted job is to get in addition to what it holds."""

    job: str
    queue: str
    amounts: Amounts


class SetAside(NamedTuple):
    """What does not count of what jobs were admitted for, as they cannot be placed."""

    promised: Vector
    """In all, as the plugin overcommit counts it."""
    queues: Mapping[str, Vector]
    """By queue, as plugins count it that divide the cluster among queues."""

    @classmethod
    def of(cls, claims: Iterable[JobUsage]) -> SetAside:
        """All of what these jobs were admitted for."""
        promised, queues = Vector(), dict[str, Vector]()
        for claim in claims:
            add(promised, claim.promised)
            add(queues.setdefault(claim.queue, {}), claim.inqueue)
        return cls(promised, queues)


class Pledges:
    """Pledges by job, and their sums by queue and by namespace within a queue.

    Sums by queue go on from those of the snapshot. The others are computed on first use: they take as long as there are
    admitted jobs that lack something.
    """

    __slots__ = ("_added", "_by_job", "_made", "_namespaces", "_queues", "_snapshot", "aside")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.aside: SetAside | None = None
        """What plugins leave out of account when they are asked about admissions; None: nothing."""
        self._added: list[tuple[Job, Amounts]] = []
        """The pledges of this cycle."""
        self._made: list[Pledge] | None = None
        self._by_job: dict[str, Amounts] = {}
        self._queues: dict[str, Vector] = {}
        """Of the queues that this cycle admitted jobs in."""
        self._namespaces: dict[tuple[str, str], Vector] = {}

    def made(self) -> list[Pledge]:
        """Every pledge in the order made, those of earlier cycles first. Entries are only appended."""
        if self._made is None:
            self._made = []
            for key in self._snapshot.admitted:
                job = self._snapshot.jobs[key]
                self._make(self._made, job, pledge_of(job))
            for job, amounts in self._added:
                self._make(self._made, job, amounts)
        return self._made

    def add(self, job: Job, amounts: Amounts) -> None:
        """Add the pledge of a job that this cycle admits for these amounts."""
        name = job.spec.queue
        if not amounts:
            return
        sums = self._queues.get(name)
        if sums is None:
            sums = self._queues[name] = dict(self.queue(name) or ())
        add(sums, amounts)
        self._added.append((job, amounts))
        if self._made is not None:
            self._make(self._made, job, amounts)

    def queue(self, name: str) -> Vector | None:
        """The sum of the pledges of a queue; None where there are none."""
        sums = self._queues.get(name)
        if sums is None and (books := self._snapshot.books.get(name)) is not None:
            sums = books.inqueue
        return sums or None

    def namespace(self, queue: str, namespace: str) -> Vector | None:
        """The sum of the pledges of a namespace in a queue; None where there are none."""
        return self._namespaces.get((queue, namespace)) if self.made() else None

    def job(self, key: str) -> Amounts:
        """The amounts pledged to one job."""
        return self._by_job.get(key, NOTHING) if self.made() else NOTHING

    def _make(self, made: list[Pledge], job: Job, amounts: Amounts) -> None:
        if not amounts:
            return
        spec = job.spec
        made.append(Pledge(job.key, spec.queue, amounts))
        self._by_job[job.key] = amounts
        add(self._namespaces.setdefault((spec.queue, spec.namespace), {}), amounts)
