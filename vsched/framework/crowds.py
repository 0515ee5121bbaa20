"""Crowds: waiting jobs of one kind, in the order of their turns, kept together from session to session.

A session works on one job of a crowd and tells the rest what that one was told, in one step. So a long backlog costs
little for each of its jobs. A crowd changes only where one of its jobs has changed, came, or went.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

from sortedcontainers import SortedSet

from vsched.framework.combine.orders import OrderKey
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import Refusal
from vsched.model.jobs.likeness import waiting_job
from vsched.model.pods.shape import Shape

_FEW = 16
"""So many changes are made one by one; more of them by sorting."""


class Crowd:
    """Jobs that differ in names and ages alone."""

    __slots__ = ("enters", "keys", "kind", "namespace", "priority", "queue", "ranks", "user")

    def __init__(self, kind: Hashable, job: JobView) -> None:
        """``kind`` is equal for all jobs that belong to it, and ``job`` is one of them."""
        self.kind = kind
        self.queue = job.queue
        self.namespace = job.namespace
        self.user = job.job.user
        self.priority = job.priority
        self.enters = job.waiting_to_enter
        """Whether its jobs wait to be admitted."""
        self.ranks: list[OrderKey] = []
        """The sort keys of the jobs, in order."""
        self.keys: list[str] = []
        """The keys of the jobs, in the same order."""

    def part(self, start: int, end: int) -> Crowd:
        """A crowd of some of its jobs, by their positions."""
        other = Crowd.__new__(Crowd)
        other.kind, other.queue, other.namespace, other.user = self.kind, self.queue, self.namespace, self.user
        other.priority, other.enters = self.priority, self.enters
        other.ranks, other.keys = self.ranks[start:end], self.keys[start:end]
        return other

    def change(self, gone: Iterable[OrderKey], new: Sequence[OrderKey]) -> None:
        """Take jobs out and add others, by their sort keys; each of these ends with the key of the job."""
        gone = set(gone)
        if len(gone) + len(new) > _FEW:
            self.ranks = [rank for rank in self.ranks if rank not in gone] if gone else self.ranks
            self.ranks.extend(new)
            self.ranks.sort()
            self.keys = [str(rank[-1]) for rank in self.ranks]
            return
        for rank in gone:
            at = bisect_left(self.ranks, rank)
            del self.ranks[at], self.keys[at]
        for rank in new:
            at = bisect_left(self.ranks, rank)
            self.ranks.insert(at, rank)
            self.keys.insert(at, str(rank[-1]))


class Batch(NamedTuple):
    """Jobs of a crowd that are told the same in one step, without turns of their own."""

    crowd: Crowd
    start: int
    """The position of the first job."""
    end: int
    """That after the last job."""
    of_job: Refusal | None
    of_tasks: tuple[tuple[int, NodeReasons | Refusal], ...]
    """By position among the tasks of each job (``likeness.tasks_of``)."""
    tried: tuple[int, ...]
    """The positions of the tasks that found a node."""
    protected: Refusal | None = None
    """What protects the only victims that would have made room for each of the jobs."""

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the jobs."""
        return self.crowd.keys[self.start : self.end]


def outside(crowd: Crowd, batches: Iterable[Batch]) -> Iterator[str]:
    """The keys of the jobs of a crowd that are in none of its batches, in order."""
    at = 0
    for batch in sorted(batches, key=lambda batch: batch.start):
        yield from crowd.keys[at : batch.start]
        at = batch.end
    yield from crowd.keys[at:]


class Look(NamedTuple):
    """What is quickly seen of a job."""

    queue: str
    pods: int
    """How many wait."""
    shape: Shape | None
    """Of one of them, if there are any."""


class Member(NamedTuple):
    """A job in its crowd."""

    crowd: Crowd
    rank: OrderKey


class Crowds:
    """The crowds of the jobs that a session may work on. A job that is the only one of its kind is in none."""

    def __init__(self) -> None:
        self._crowds: dict[Hashable, Crowd] = {}
        """By kind."""
        self._of: dict[str, Member] = {}
        """By job."""
        self._firsts: dict[Hashable, JobView] = {}
        """By kind: its only job, which is in no crowd until another one comes; by look, where it has that alone."""
        self._kinds: dict[str, Hashable] = {}
        """The kinds of these jobs, or their looks."""
        self._looks: dict[str, Look] = {}
        """By job, for those that may be in a crowd."""
        self._counts: dict[Look, int] = {}
        """How many jobs have it."""
        self.others: SortedSet[str] = SortedSet()
        """The keys of the jobs that are in none."""

    def follow(self, plugins: PluginSet, left: Iterable[str], changed: Collection[JobView]) -> None:
        """Follow the jobs of a session: some have left, others have come or changed."""
        gone: dict[Crowd, list[OrderKey]] = {}
        new: dict[Crowd, list[OrderKey]] = {}
        apart: set[str] = set()
        no_more: set[str] = set()
        for key in chain(left, [job.key for job in changed]):
            self._leave(key, gone, no_more)
        for job in changed:
            kind = self._kind(plugins, job)
            crowd = None if kind is None else self._crowds.get(kind)
            first = self._firsts.pop(kind, None) if crowd is None else None
            if crowd is None and first is None:
                apart.add(job.key)
                if kind is not None:
                    self._firsts[kind], self._kinds[job.key] = job, kind
                continue
            if crowd is None:
                crowd = self._crowds[kind] = Crowd(kind, job)
            for one in (job,) if first is None else (first, job):
                rank = plugins.job_key(one)
                self._of[one.key] = Member(crowd, rank)
                new.setdefault(crowd, []).append(rank)
            if first is not None:
                del self._kinds[first.key]
                apart.discard(first.key)
                no_more.add(first.key)
        no_more = {key for key in no_more if key in self.others and key not in apart}
        if no_more:
            self.others.difference_update(no_more)
        self._change(gone, new, apart)

    def _kind(self, plugins: PluginSet, job: JobView) -> Hashable | None:
        """The kind of a job that comes; its look, where no other job has that: most come and go without company."""
        look = _look(plugins, job)
        if look is None:
            return None
        self._looks[job.key] = look
        count = self._counts[look] = self._counts.get(look, 0) + 1
        if count == 1:
            return look
        first = self._firsts.pop(look, None)
        if first is not None:
            kind = _kind(plugins, first)
            if kind is None:
                del self._kinds[first.key]
            else:
                self._firsts[kind], self._kinds[first.key] = first, kind
        return _kind(plugins, job)

    def take_out(self, keys: Iterable[str]) -> None:
        """These jobs are in no crowd any more: they are not what the others are."""
        gone: dict[Crowd, list[OrderKey]] = {}
        apart = {key for key in keys if key in self._of}
        for key in apart:
            self._leave(key, gone, apart)
        self._change(gone, {}, apart)

    def _change(
        self, gone: Mapping[Crowd, Sequence[OrderKey]], new: Mapping[Crowd, Sequence[OrderKey]], apart: Set[str]
    ) -> None:
        if apart:
            self.others.update(apart)
        for crowd in {**gone, **new}:
            crowd.change(gone.get(crowd, ()), new.get(crowd, ()))
            if not crowd.keys:
                del self._crowds[crowd.kind]

    def _leave(self, key: str, gone: dict[Crowd, list[OrderKey]], apart: set[str]) -> None:
        look = self._looks.pop(key, None)
        if look is not None:
            self._counts[look] -= 1
            if not self._counts[look]:
                del self._counts[look]
        member = self._of.pop(key, None)
        if member is not None:
            gone.setdefault(member.crowd, []).append(member.rank)
            return
        apart.add(key)
        if key in self._kinds:
            del self._firsts[self._kinds.pop(key)]

    def at(self, crowd: Crowd, key: str) -> int | None:
        """The position of a job in a crowd; None where it is not in it."""
        member = self._of.get(key)
        return None if member is None or member.crowd is not crowd else bisect_left(crowd.ranks, member.rank)

    def of(self, key: str) -> Crowd | None:
        """The crowd of a job; None for a job that is in none."""
        member = self._of.get(key)
        return None if member is None else member.crowd

    def __iter__(self) -> Iterator[Crowd]:
        return iter(self._crowds.values())

    def __len__(self) -> int:
        return len(self._crowds)


def _look(plugins: PluginSet, job: JobView) -> Look | None:
    """What is quickly seen of a job, equal for jobs of one kind; None for a job that is surely in no crowd."""
    if job.roles is not None or job.sub_groups is not None or job.trail is not None:
        return None
    if job.waiting_to_enter and not plugins.admits_alike:
        return None
    if not job.job.frozen or job.job.best_effort or job.moved:
        return None
    pending = job.job.pending
    return Look(job.queue, len(pending), next(iter(pending.values())).shape if pending else None)


def _kind(plugins: PluginSet, job: JobView) -> Hashable | None:
    """Equal for jobs of one crowd, of jobs that have a look; None for one that is like no other, or its pods differ."""
    waiting = waiting_job(job.job)
    if waiting is None or any(alike.shape is not waiting.tasks[0].shape for alike, _ in waiting.likeness.tasks):
        return None
    return waiting.likeness, *[ask(job) for ask in plugins.job_classes]
