"""Classes of waiting jobs: jobs that differ in names and ages alone, in the order of their turns.

A session works on one job of a class and gives the others the same result in one step, so a long backlog costs little
for each of its jobs. Where plugins distinguish all jobs, each is the only one of its class. Classes are carried from
session to session; one changes only where one of its jobs has changed, come or gone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from vsched.framework.combine.orders import OrderKey
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.model.pods.shape import Shape

T = TypeVar("T")
_INSERTS_MAX = 16
"""Up to so many changes are made one by one; more of them by sorting."""


class JobClass:
    """Jobs that differ in names and ages alone."""

    __slots__ = ("_tasks", "kind", "namespace", "priority", "queue", "ranks", "sub_grouped", "user")

    def __init__(self, job: JobView, ranks: Sequence[OrderKey], kind: Hashable = None) -> None:
        """``job`` is one of the jobs; ``ranks`` are the sort keys of all, in order. No two classes have equal kinds."""
        self.kind = kind
        self.queue = job.queue
        self.namespace = job.namespace
        self.priority = job.priority
        self.sub_grouped = job.sub_groups is not None
        waiting = job.job.waiting_job if job.job.frozen else None
        self.user, self._tasks = (job.job.user, ()) if waiting is None else (waiting.kind.user, waiting.kind.tasks)
        self.ranks: list[OrderKey] = [*ranks]
        """The sort keys of the jobs, in order; each ends with the key of the job."""

    def key_at(self, at: int) -> str:
        """The key of the job at a position."""
        return str(self.ranks[at][-1])

    def keys(self, start: int = 0, end: int | None = None) -> list[str]:
        """The keys of the jobs from one position to before another, in order."""
        return [str(rank[-1]) for rank in self.ranks[start:end]]

    def __len__(self) -> int:
        return len(self.ranks)

    @property
    def shapes(self) -> list[Shape]:
        """What the pods of each job ask for."""
        return [kind.shape for kind, _ in self._tasks]

    def change(self, gone: Iterable[OrderKey], new: Sequence[OrderKey]) -> None:
        """Take jobs out and add others, by their sort keys."""
        gone = set(gone)
        if len(gone) + len(new) > _INSERTS_MAX:
            self.ranks = [rank for rank in self.ranks if rank not in gone] if gone else self.ranks
            self.ranks.extend(new)
            self.ranks.sort()
            return
        for rank in gone:
            del self.ranks[bisect_left(self.ranks, rank)]
        for rank in new:
            insort(self.ranks, rank)


class Span(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """Consecutive jobs of a class that share a value."""

    job_class: JobClass
    start: int
    """The position of the first job."""
    end: int
    """The position after the last job."""
    value: T

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the jobs."""
        return self.job_class.keys(self.start, self.end)

    @property
    def first(self) -> str:
        """The key of the first job."""
        return self.job_class.key_at(self.start)


Rank = tuple[bool, OrderKey]
"""False for a gang that lost pods, where such gangs go first; and the sort key."""


class Segment:
    """Consecutive jobs of one class that wait for turns."""

    __slots__ = ("_end", "_span", "at", "is_shared", "job_class", "lead", "passed")

    def __init__(self, span: Span[Any], *, lead: bool = True) -> None:
        self._span = span
        self.job_class, self._end = span.job_class, span.end
        self.at = span.start
        """The position of the next job in its class."""
        self.is_shared = span.value is not None
        """Whether the jobs come from a span of more than one job."""
        self.lead = lead
        self.passed: list[Span[Any]] | tuple[()] = ()
        """Jobs that got a result without turns of their own, with the result."""

    @classmethod
    def again(cls, job: JobView, key: OrderKey) -> Segment:
        """A job that had a turn, and waits for another one."""
        return cls(Span(JobClass(job, [key]), 0, 1, None))

    @property
    def queue(self) -> str:
        return self.job_class.queue

    @property
    def priority(self) -> int:
        return self.job_class.priority

    @property
    def rank(self) -> Rank:
        """The sort key of the next job."""
        return self.lead, self.job_class.ranks[self.at]

    def rank_at(self, at: int) -> Rank:
        """The sort key of the job at a position."""
        return self.lead, self.job_class.ranks[at]

    @property
    def waiting(self) -> Span[Any]:
        """The jobs that still wait, with the value of their span."""
        return replace(self._span, start=self.at)

    @property
    def first(self) -> str:
        """The key of the next job."""
        return self.job_class.key_at(self.at)

    def until(self, bound: Rank | None) -> int:
        """The position of the first job that does not go before a sort key; without a key, the end."""
        if bound is None:
            return self._end
        return bisect_left(self.job_class.ranks, bound[1], self.at, self._end) if bound[0] >= self.lead else self.at

    def pass_over(self, value: object, end: int | None = None) -> None:
        """The jobs before a position, or all, get a result without turns."""
        end = self._end if end is None else end
        if self.at < end:
            if not self.passed:
                self.passed = []
            self.passed.append(Span(self.job_class, self.at, end, value))
            self.at = end

    def __bool__(self) -> bool:
        """Whether any job waits."""
        return self.at < self._end


class JobClasses:
    """The classes of the jobs that a session may work on. A job is in none where some of its pods do not wait."""

    def __init__(self) -> None:
        self._classes: dict[Hashable, JobClass] = {}
        """By kind."""
        self._of: dict[str, tuple[JobClass, OrderKey]] = {}
        """The class and the sort key of each job."""
        self.others: set[str] = set()
        """The keys of the jobs that are in none."""
        self.may_be_carried = True
        """Whether the next session may go on with them."""

    def follow(self, plugins: PluginSet, left: Iterable[str], changed: Collection[JobView]) -> None:
        """Follow the jobs of a session: some have left, others have come or changed."""
        gone: dict[JobClass, list[OrderKey]] = {}
        new: dict[JobClass, list[OrderKey]] = {}
        keys = [*left, *[job.key for job in changed]]
        for key in keys:
            member = self._of.pop(key, None)
            if member is not None:
                gone.setdefault(member[0], []).append(member[1])
        self.others.difference_update(keys)
        for job in changed:
            kind = _kind(plugins, job)
            if kind is None:
                self.others.add(job.key)
                continue
            found, rank = self._classes.get(kind), plugins.job_key(job)
            if found is None:
                found = self._classes[kind] = JobClass(job, [rank], kind)
            else:
                new.setdefault(found, []).append(rank)
            self._of[job.key] = found, rank
        for one in {**gone, **new}:
            one.change(gone.get(one, ()), new.get(one, ()))
            if not one.ranks:
                del self._classes[one.kind]

    def of(self, key: str) -> JobClass | None:
        """The class of a job; None for a job that is in none."""
        member = self._of.get(key)
        return None if member is None else member[0]

    def at(self, job_class: JobClass, key: str) -> int | None:
        """The position of a job in a class; None where it is not in it."""
        member = self._of.get(key)
        if member is None or member[0] is not job_class:
            return None
        return bisect_left(job_class.ranks, member[1])

    def __iter__(self) -> Iterator[JobClass]:
        return iter(self._classes.values())


def _kind(plugins: PluginSet, job: JobView) -> Hashable | None:
    """Equal for jobs of one class; None for a job of which some pods do not wait."""
    waiting = job.job.waiting_job if job.job.frozen else None
    if waiting is None or job.moved or job.job.best_effort or (job.waiting_to_enter and not plugins.admits_by_class):
        return None
    own = job.key if plugins.distinguishes_jobs else ""
    return waiting.kind, job.phase, own, *[ask(job) for ask in plugins.job_classes]
