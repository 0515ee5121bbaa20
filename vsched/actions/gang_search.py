"""Whom gangs may evict as gangs: the rules of gangpreempt and gangreclaim.

They differ from preempt and reclaim in the victims: a job may also lose its minimum, and then all of it leaves, because
what is left of a gang below its minimum does no work. Tasks that a job can spare come first. Where both need the same
room, fewer tasks leave.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Self

import msgspec

from vsched.actions.victim_search import PreemptSearch, ReclaimSearch, VictimArgs, VictimSearch
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.session import Session
from vsched.framework.surplus import Surplus
from vsched.model.jobs.job import Job
from vsched.model.pods.task import Task

GANG_PREEMPT, GANG_RECLAIM = "gangpreempt", "gangreclaim"
DOMAINS = 8
"""How many domains are compared unless the policy says otherwise."""


class GangArgs(VictimArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of gangpreempt and gangreclaim."""

    max_domains: int = msgspec.field(default=DOMAINS, name="maxDomains")
    """How many domains are compared for a job that asks for closeness; 8 where it is not positive."""
    whole_bundles: bool = msgspec.field(default=True, name="allowWholeBundle")
    """Whether a job may lose its minimum, all of it then."""


class GangReclaimArgs(GangArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of gangreclaim."""

    non_preemptible: tuple[str, ...] = msgspec.field(default=(), name="nonPreemptible")
    """As of ``ReclaimArgs``."""


class GangSearch(VictimSearch):
    """What both actions have in common."""

    def __init__(self, session: Session, job: JobView, *, whole_bundles: bool = True) -> None:
        super().__init__(session, job)
        args = session.args(self.action, GangArgs)
        self.agreement = session.plugins.gang_agreement[self.purpose]
        self.domains_max = args.max_domains if args.max_domains > 0 else DOMAINS
        self._whole_bundles = whole_bundles
        """Whether jobs may lose what they need; else victims are only tasks that their jobs can spare."""

    def agreed(self, task: Task, candidates: Sequence[Task]) -> list[Task]:
        """What jobs can spare first, then the tasks whose jobs would have to leave as a whole."""
        can_lose: dict[str, Callable[[Task], bool]] = {}
        spare: list[Task] = []
        whole: dict[str, list[Task]] = {}
        for victim in self._voted(task, candidates):
            if victim.job not in can_lose:
                can_lose[victim.job] = self._can_lose(victim.job)
            if not super().leaves_whole(victim):
                if can_lose[victim.job](victim):
                    spare.append(victim)
                    continue
                if not self._whole_bundles:
                    continue
            whole.setdefault(victim.job, []).append(victim)
        if not whole:
            return spare
        return self.with_units(task, [*spare, *(victim for victims in whole.values() for victim in victims)], whole)

    def may_lose(self, evictor: Task) -> bool:
        """Also whether the job says that it may not be preempted, and whether the policy forbids whole bundles."""
        if self.job.spec.preemptable is False or not super().may_lose(evictor):
            return False
        whole_bundles = self.session.args(self.action, GangArgs).whole_bundles
        return whole_bundles or Surplus(self.job, waiting=True).lose(evictor)

    def in_turn(self) -> Iterator[Self]:
        """First among the tasks that their jobs can spare; then whole jobs, too, where the policy allows it."""
        allowed = (False, True) if self.session.args(self.action, GangArgs).whole_bundles else (False,)
        for whole in allowed:
            yield type(self)(self.session, self.job, whole_bundles=whole)

    def leaves_whole(self, victim: Task) -> bool:
        """Whether the job would lose what it needs with this task."""
        return super().leaves_whole(victim) or not self._can_lose(victim.job)(victim)

    def left_whole(self, evictions: Sequence[LedgerEntry]) -> list[str]:
        """Also the jobs that had what they need, and lost it in this session."""
        jobs = {step.job.key: step.job for step in evictions}
        return [key for key, job in jobs.items() if job.spec.leaves_whole or self._is_broken_up(job)]

    def _is_broken_up(self, job: JobView) -> bool:
        return _lacks(job) and not _lacks(JobView(job.job))

    def _can_lose(self, key: str) -> Callable[[Task], bool]:
        """Says task by task whether a job can lose it; a job that lacks something can lose all it has."""
        view = self.session.view(key)
        assert view is not None, "candidates are tasks of jobs of the snapshot"
        return _any_task if _lacks(view) else Surplus(view).lose


def _lacks(job: JobView) -> bool:
    """Whether a job has less than it needs: of its tasks, of a role, or of sub-groups."""
    groups = job.sub_groups
    return job.ready < job.min_member or bool(job.roles_missing()) or (groups is not None and not groups.are_ready)


def _any_task(task: Task) -> bool:
    return True


class GangPreemptSearch(GangSearch, PreemptSearch):
    """Victims in jobs of lower priority of the same queue."""

    action = GANG_PREEMPT

    def holders(self) -> list[Job]:
        """The other jobs of the queue with a lower priority, unless they say that they may not be preempted."""
        own = self.job.priority
        return [job for job in super().holders() if job.priority < own and job.spec.preemptable is not False]

    def evictor_class(self, task: Task) -> Hashable:
        return GANG_PREEMPT, self._whole_bundles, self.job.priority, super().evictor_class(task)

    def comes_back(self, victim: Task, evictor: Task) -> bool:
        victim_job = self.session.view(victim.job)
        return (
            victim_job is not None and victim_job.priority > self.job.priority and super().comes_back(victim, evictor)
        )


class GangReclaimSearch(GangSearch, ReclaimSearch):
    """Victims in jobs of other queues."""

    action = GANG_RECLAIM

    def __init__(self, session: Session, job: JobView, *, whole_bundles: bool = True) -> None:
        super().__init__(session, job, whole_bundles=whole_bundles)
        self.staying = session.args(self.action, GangReclaimArgs).non_preemptible

    def holders(self) -> list[Job]:
        """The jobs of other, reclaimable queues, unless they say that they may not be preempted."""
        return [job for job in super().holders() if job.spec.preemptable is not False]

    def evictor_class(self, task: Task) -> Hashable:
        return GANG_RECLAIM, self._whole_bundles, super().evictor_class(task)


class GangReclaimBeyond(GangReclaimSearch):
    """The same, also from jobs that are not preemptible, as far as their queues hold more than they deserve."""

    beyond = True
