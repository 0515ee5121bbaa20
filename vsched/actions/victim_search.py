"""Which tasks a job may evict: within its queue, within the job, and in other queues."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import msgspec

from vsched.actions.placing import PlacingArgs
from vsched.actions.subgroups import arranged
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.ledger.units import unit_of
from vsched.framework.points.extension import JobState
from vsched.framework.points.victims import Keeping, Purpose
from vsched.framework.session import Session
from vsched.framework.surplus import protected_by
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.model.queues.queue import Queue

PREEMPT, RECLAIM = Purpose.PREEMPT.value, Purpose.RECLAIM.value


class VictimArgs(PlacingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of the actions that evict tasks for others."""

    victim_tiers: Literal["protection", "reference"] = msgspec.field(default="protection", name="victimTiers")
    """How tiers agree on victims. ``protection``: no task that a plugin protects absolutely, in any tier.

    ``reference``: as in Volcano, where a later tier may name tasks that an earlier tier protects.
    """
    gang_search_steps: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(default=300, name="gangSearchSteps")
    """How many steps are taken, in each session, for a gang that found no room task by task, or to evict fewer tasks
    for it; 0 for none."""


class ReclaimArgs(VictimArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of reclaim."""

    non_preemptible: tuple[str, ...] = msgspec.field(default=(), name="nonPreemptible")
    """Queues whose non-preemptible jobs lose no pods, even if the queue holds more than it deserves; ``*`` for all."""


class VictimSearch(ABC):
    """The rules by which one job may evict tasks; one subclass for each kind of search."""

    action: ClassVar[str]
    by_score: ClassVar[bool]
    """Whether nodes are tried in the order of their scores; else they are tried in the order of their names."""
    purpose: ClassVar[Purpose]
    """The purpose that plugins get when they vote."""
    waits_alone: ClassVar[bool]
    """Whether the action also pipelines a job that needs no victims, onto room that is already being released."""
    beyond: ClassVar[bool] = False
    """Whether jobs that are not preemptible give back what their queues hold beyond what they deserve."""
    keeping: Keeping | None = None
    """The victims whose queues have to keep what they deserve, besides those that leave as a whole; None for none."""

    def __init__(self, session: Session, job: JobView) -> None:
        self.session = session
        self.plugins = session.plugins
        self.job = job
        self.queue = session.queue(job)
        self.agreement = session.plugins.agreement[self.purpose]
        self.by_tiers = session.args(self.action, VictimArgs).victim_tiers == "reference"
        self.domains_max = session.places.eviction_domains
        """How many domains of a tier are tried for a job that asks for closeness."""

    @property
    def has_claim(self) -> bool:
        """Whether the job is entitled to evict others for one more task."""
        return self.plugins.job_starving(self.job)

    def in_turn(self) -> Iterator[Self]:
        """The searches that the action makes for a job, until one finds room."""
        yield self

    @abstractmethod
    def holders(self) -> Iterable[Job]:
        """The jobs whose tasks may be victims, before plugins vote."""

    def rules_out(self, task: Task) -> Callable[[JobState], bool]:
        """A function that says whether a job certainly has no task that the task may evict at present."""
        return self.agreement.rules_out(task, by_tiers=self.by_tiers)

    @abstractmethod
    def takes(self, task: Task, victim: Task) -> bool:
        """Whether a task may be a victim of ``task``, before plugins vote."""

    def agreed(self, task: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that the plugins agree to evict, in the order of eviction.

        A candidate that takes others along is among them only if the plugins agree to the others, too.
        """
        whole = dict.fromkeys(victim.job for victim in candidates if self.leaves_whole(victim))
        if not whole:
            return self._voted(task, candidates)
        return self.with_units(task, candidates, whole)

    def _voted(self, task: Task, candidates: Sequence[Task], keeping: Keeping | None = None) -> list[Task]:
        keeping = self.keeping or keeping
        if self.beyond:
            keeping = self._with_non_preemptible(keeping)
        return self.let_go(self.agreement.victims(task, candidates, by_tiers=self.by_tiers, keeping=keeping))

    def _with_non_preemptible(self, keeping: Keeping | None) -> Keeping:
        """The same, and the victims of jobs that are not preemptible."""
        jobs = self.session.snapshot.jobs
        return lambda victim: _is_non_preemptible(jobs[victim.job]) or (keeping is not None and keeping(victim))

    def may_offer(self, job: Job) -> bool:
        """Whether pods of a job may be victims at all."""
        return not _is_non_preemptible(job) or (self.beyond and not self.stays(job))

    def stays(self, job: Job) -> bool:
        """Whether a job that is not preemptible loses no pod, whatever its queue deserves."""
        return True

    def let_go(self, victims: Sequence[Task]) -> list[Task]:
        """The victims that their jobs may lose together by their preemptibility; earlier ones take precedence."""
        jobs = self.session.snapshot.jobs
        if all(jobs[victim.job].spec.preemptibility is None for victim in victims):
            return list(victims)
        protections: dict[str, Callable[[Task], bool] | None] = {}
        found: list[Task] = []
        for victim in victims:
            if victim.job not in protections:
                view = self.session.view(victim.job)
                free = self.beyond and _is_non_preemptible(jobs[victim.job])
                protections[victim.job] = None if view is None or free else protected_by(view)
            is_protected = protections[victim.job]
            if is_protected is None or not is_protected(victim):
                found.append(victim)
        return found

    def may_lose(self, evictor: Task) -> bool:
        """Whether the evictor's job could lose it by its preemptibility once its waiting tasks have started."""
        is_protected = protected_by(self.job, waiting=True)
        if _is_non_preemptible(self.job.job) and not self.stays(self.job.job):
            return True
        return is_protected is None or not is_protected(evictor)

    def with_units(self, task: Task, candidates: Sequence[Task], whole: Iterable[str]) -> list[Task]:
        """The same, where the jobs ``whole`` leave as units, and only where their queues keep what they deserve."""
        local = {victim.uid for victim in candidates}
        found = {key: self._unit(key) for key in whole}
        units = {key: [member for member, _ in unit] for key, unit in found.items() if unit is not None}
        asked = list(_unit_by_unit([victim for victim in candidates if found.get(victim.job, ()) is not None], units))
        while True:
            allowed = self._voted(task, asked, lambda victim: victim.job in units)
            uids = {victim.uid for victim in allowed}
            refused = next((key for key, unit in units.items() if any(one.uid not in uids for one in unit)), None)
            if refused is None:
                return [victim for victim in allowed if victim.uid in local]
            del units[refused]  # those after it may leave as it stays
            asked = [victim for victim in asked if victim.job != refused]

    def leaves_whole(self, victim: Task) -> bool:
        """Whether the rest of a victim's job leaves with it, as things are."""
        return self.session.snapshot.jobs[victim.job].spec.leaves_whole

    def leaving_with(self, victim: Task, row: int) -> Sequence[tuple[Task, int]]:
        """The tasks that leave if this one does, itself included, with their rows; none if it has left already."""
        view = self.session.view(victim.job)
        assert view is not None, "candidates are tasks of jobs of the snapshot"
        if victim.uid in view.moved:
            return ()
        return (self._unit(victim.job) or () if self.leaves_whole(victim) else ()) or ((victim, row),)

    def left_whole(self, evictions: Sequence[LedgerEntry]) -> Iterable[str]:
        """The jobs among these evictions of which nothing is left, because one victim took the rest along."""
        return dict.fromkeys(step.job.key for step in evictions if step.job.spec.leaves_whole)

    def _unit(self, key: str) -> list[tuple[Task, int]] | None:
        view = self.session.view(key)
        unit = None if view is None else unit_of(view, self.session.nodes.statics.row)
        protected = self.plugins.victim_rules.protected(self.purpose)
        if unit is None or (protected is not None and any(protected(member) for member, _ in unit)):
            return None
        return unit

    @abstractmethod
    def evictor_class(self, task: Task) -> Hashable:
        """The class of a task as an evictor; tasks of equal class have the same candidates."""

    @abstractmethod
    def may_take(self, task: Task) -> bool:
        """Whether tasks may be evicted for this task at all."""

    @abstractmethod
    def comes_back(self, victim: Task, evictor: Task) -> bool:
        """Whether the victim, once pending again, could evict the evictor in turn."""


class PreemptSearch(VictimSearch):
    """Victims in other jobs of the same queue."""

    action = PREEMPT
    by_score = True
    purpose = Purpose.PREEMPT
    waits_alone = True

    def holders(self) -> Iterable[Job]:
        for key, job in self.session.snapshot.holders.get(self.queue.name, {}).items():
            if key != self.job.key:
                yield job

    def takes(self, task: Task, victim: Task) -> bool:
        return victim.best_effort or not task.best_effort

    def evictor_class(self, task: Task) -> Hashable:
        # A job's own tasks are never its victims here, so each job that holds something has a class of its own.
        own = self.job.key if self.job.job.holding else ""
        return PREEMPT, self.queue.name, own, task.best_effort, self.agreement.class_of(task)

    def may_take(self, task: Task) -> bool:
        return task.preempts

    def comes_back(self, victim: Task, evictor: Task) -> bool:
        victim_job = self.session.view(victim.job)
        return (
            victim.preempts
            and evictor.preemptable
            and self.may_lose(evictor)
            and self.takes(victim, evictor)
            and victim_job is not None
            and self.plugins.job_starving(victim_job)
            and self.agreement.could_retake(victim, evictor, by_tiers=self.by_tiers)
        )


class PreemptWithinJob(PreemptSearch):
    """Victims among the tasks of the same job."""

    def holders(self) -> Iterable[Job]:
        return () if self.job.spec.leaves_whole else (self.job.job,)

    def evictor_class(self, task: Task) -> Hashable:
        if not self.job.job.holding:
            return "within none"  # there is nobody to evict, whoever asks
        return "within", self.job.key, task.priority, task.best_effort, self.agreement.class_of(task)


class ReclaimSearch(VictimSearch):
    """Victims in jobs of other queues."""

    action = RECLAIM
    by_score = False
    purpose = Purpose.RECLAIM
    waits_alone = False

    def __init__(self, session: Session, job: JobView, *, growing: bool = False) -> None:
        super().__init__(session, job)
        self._growing = growing
        """Whether the job has its minimum and now gets, task by task, what its queue deserves beyond it."""
        self.keeping = _all_victims if growing else None
        self.staying: Sequence[str] = session.args(self.action, ReclaimArgs).non_preemptible
        """Queues whose non-preemptible jobs lose no pods."""

    @property
    def has_claim(self) -> bool:
        return self._growing or super().has_claim

    def stays(self, job: Job) -> bool:
        """Where no plugin says what queues deserve, or the policy says so of its queue."""
        if self.by_tiers or not self.agreement.keeps_deserved:
            return True
        return "*" in self.staying or job.spec.queue in self.staying

    def holders(self) -> Iterable[Job]:
        queues = self.session.snapshot.queues
        for name, jobs in self.session.snapshot.holders.items():
            if name != self.queue.name and name in queues and queues[name].reclaimable:
                yield from jobs.values()

    def takes(self, task: Task, victim: Task) -> bool:
        return victim.status is Status.RUNNING

    def evictor_class(self, task: Task) -> Hashable:
        return RECLAIM, self.beyond, self.queue.name, self._growing, self.agreement.class_of(task)

    def may_take(self, task: Task) -> bool:
        return task.preempts and self.plugins.preemptive(self.queue, task.shape.request)

    def comes_back(self, victim: Task, evictor: Task) -> bool:
        victim_job = self.session.view(victim.job)
        if victim_job is None or not victim.preempts or not evictor.preemptable or not self.queue.reclaimable:
            return False
        queue: Queue = self.session.queue(victim_job)
        return (
            self.may_lose(evictor)
            and not self.plugins.overused(queue)
            and self.plugins.preemptive(queue, victim.shape.request)
            and self.agreement.could_retake(victim, evictor, by_tiers=self.by_tiers)
        )


class ReclaimBeyond(ReclaimSearch):
    """The same, also from jobs that are not preemptible, as far as their queues hold more than they deserve."""

    beyond = True


def _is_non_preemptible(job: Job) -> bool:
    """Whether a job says that no pod of it is evicted for others."""
    return job.spec.preemptibility is Preemptibility.NONE


def _all_victims(victim: Task) -> bool:
    return True


def _unit_by_unit(candidates: Sequence[Task], units: Mapping[str, Sequence[Task]]) -> Iterator[Task]:
    """The candidates in their order, each of a unit followed by all others of the unit, wherever these are."""
    begun: set[str] = set()
    for victim in candidates:
        if victim.job not in begun:
            yield victim
        if victim.job in units and victim.job not in begun:
            begun.add(victim.job)
            yield from (member for member in units[victim.job] if member is not victim)


def unplaced(session: Session, job: JobView) -> list[Task]:
    """The pending tasks of a job that this session could place and has not, in their order.

    Those of sub-groups that the job needs come first. Tasks with a gate, or with a claim that cannot be used, are left
    out.
    """
    pending = (task for task in job.job.pending.values() if not task.gated and task.uid not in job.moved)
    tasks = session.plugins.ordered_tasks(task for task in pending if not _lacks_claims(session, task))
    return tasks if job.sub_groups is None else list(arranged(session, job.sub_groups, tasks))


def _lacks_claims(session: Session, task: Task) -> bool:
    """Whether no eviction can help the task, because a claim cannot be used; records why."""
    obstacle = session.claims.obstacle(task) if task.claims is not None else None
    if obstacle is not None:
        session.refused.tasks[task.uid] = obstacle
    return obstacle is not None
