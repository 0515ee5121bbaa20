"""What jobs were admitted for and do not hold yet: the order of admission counts it as if it were held.

While jobs are admitted nobody's usage changes, so an order by these alone would let one queue, or one namespace,
have all the room there is. What was admitted in earlier cycles and still waits for places counts as well: otherwise a
namespace whose jobs wait would be given the next room again and again. Changed by the action ``enqueue`` only.
"""

from __future__ import annotations

from typing import NamedTuple

from vsched.model.amounts.resources import NOTHING, Amounts, Vector, add
from vsched.model.jobs.job import Job, pledge_of, shortfall_of
from vsched.model.snapshot import Snapshot


class Pledge(NamedTuple):
    """What one admitted job is to get beyond what it holds."""

    job: str
    queue: str
    amounts: Amounts


class Pledges:
    """Pledges by job, and their sums by queue and by namespace within a queue.

    Summed up when first asked for: a cycle in which nobody waits to be admitted pays nothing.
    """

    __slots__ = ("_by_job", "_made", "_namespaces", "_queues", "_snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._made: list[Pledge] | None = None
        self._by_job: dict[str, Amounts] = {}
        self._queues: dict[str, Vector] = {}
        self._namespaces: dict[tuple[str, str], Vector] = {}

    def made(self) -> list[Pledge]:
        """Every pledge in the order made, those of earlier cycles first; only ever added to."""
        if self._made is None:
            self._made = []
            for key in self._snapshot.admitted:
                job = self._snapshot.jobs[key]
                self._make(self._made, job, pledge_of(job))
        return self._made

    def add(self, job: Job) -> None:
        """The job is admitted in this cycle."""
        self._make(self.made(), job, shortfall_of(job))

    def queue(self, name: str) -> Vector | None:
        """The pledges of a queue together, None where there are none."""
        return self._queues.get(name) if self.made() else None

    def namespace(self, queue: str, namespace: str) -> Vector | None:
        """Those of a namespace in a queue, None where there are none."""
        return self._namespaces.get((queue, namespace)) if self.made() else None

    def job(self, key: str) -> Amounts:
        """What is pledged to one job."""
        return self._by_job.get(key, NOTHING) if self.made() else NOTHING

    def _make(self, made: list[Pledge], job: Job, amounts: Amounts) -> None:
        if not amounts:
            return
        spec = job.spec
        made.append(Pledge(job.key, spec.queue, amounts))
        self._by_job[job.key] = amounts
        add(self._queues.setdefault(spec.queue, {}), amounts)
        add(self._namespaces.setdefault((spec.queue, spec.namespace), {}), amounts)
