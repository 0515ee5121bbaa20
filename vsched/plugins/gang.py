"""gang: places a job's minimum as a whole or not at all.

Roles may have minima of their own, and so may sub-groups, which are gangs within the gang.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import (
    JobCondition,
    JobOrder,
    JobPipelined,
    JobReady,
    JobStarving,
    JobState,
    JobValid,
    NoArgs,
    Plugin,
    SessionContext,
    SubGroupOrder,
    Vote,
)
from vsched.framework.points.terms import JobTerm
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.framework.refusal import Refusal
from vsched.framework.subgroups import SubGroup, SubGroupShortage
from vsched.framework.surplus import Surplus
from vsched.model.jobs.spec import STATED, Condition
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.words import jobs as words
from vsched.plugins.words import victims

NOT_ENOUGH_TASKS = "NotEnoughTasks"
NOT_ENOUGH_OF_ROLE = "NotEnoughPodsOfTask"
NOT_ENOUGH_RESOURCES = "NotEnoughResources"
ROLES_TOLD = 8
"""The most roles that a message names, and the most sub-groups of a policy."""
READY = Condition("Scheduled", "True", words.GANG_READY, "")


class Gang(
    Plugin[NoArgs],
    JobValid,
    JobReady,
    JobPipelined,
    JobStarving,
    JobOrder,
    SubGroupOrder,
    Preemptable,
    Reclaimable,
    JobCondition,
):
    """Keeps a job from starting until its minimum fits, and protects the minimum of running jobs from eviction."""

    name = "gang"
    timeless = True
    terms = frozenset({JobTerm.MINIMUM, JobTerm.ROLES})
    votes_by_kind = True
    by_job_alone = True
    goes_first = victims.MINIMUM_NOT_REACHED
    protects_absolutely = True
    judges_gangs = False

    def open(self, context: SessionContext) -> None:
        """Keep the states of jobs, to look up how many tasks a victim's job has beyond its minimum."""
        self._job_state = context.job_state
        self._foreign = context.snapshot.foreign
        self._views: dict[str, JobView] = {}
        """Views of jobs with roles or sub-groups that the session has none of; by key, made at the first use."""

    def job_valid(self, job: JobView) -> Refusal | None:
        """None if enough tasks exist for the minima of the job, of each role, and of the sub-groups it needs."""
        missing = job.roles_missing(waiting=True, pending=True)
        if missing:
            message = words.others_too(_named_roles(job, missing), self._of_others(job))
            return Refusal(NOT_ENOUGH_OF_ROLE, message, code=Code.GANG_INCOMPLETE, subject=next(iter(missing)))
        if job.sub_groups is not None and (short := [*job.sub_groups.shortages(waiting=True, pending=True)]):
            message = words.others_too(words.sub_groups_lack_pods(_named_shortages(short)), self._of_others(job))
            return Refusal(NOT_ENOUGH_OF_ROLE, message, code=Code.GANG_INCOMPLETE)
        if job.valid_count < job.min_member:
            gone, others = _gone(job), self._of_others(job)
            if job.valid_count:
                message = words.others_too(words.some_exist(job.valid_count, job.min_member, gone), others)
            elif others:
                message = words.none_is_for_it(job.min_member, others, gone)
            else:
                message = words.none_exists(job.min_member, gone)
            return Refusal(NOT_ENOUGH_TASKS, message, code=Code.GANG_INCOMPLETE)
        return None

    def _of_others(self, job: JobView) -> str:
        return self._foreign.get(job.key, "")

    def job_key(self, job: JobView) -> bool:
        """Jobs whose minimum is not met go first."""
        return job.is_ready

    def sub_group_key(self, group: SubGroup) -> bool:
        """Sub-groups whose minimum is not met go first."""
        return group.is_ready

    def job_ready(self, job: JobView) -> bool:
        """Whether the minima of the job, of each role and of the sub-groups are met."""
        return job.is_ready and not job.roles_missing()

    def tasks_missing(self, job: JobView) -> int:
        """How many tasks are missing at least for the minima of the job and of the sub-groups it needs."""
        missing = job.min_member - job.ready - job.best_effort_pending
        if missing < 0:
            missing = 0
        return missing if job.sub_groups is None else max(missing, job.sub_groups.tasks_missing())

    def job_pipelined(self, job: JobView) -> Vote:
        """Permits if the minimum will be met once the resources that the job waits for are free."""
        return Vote.PERMIT if job.has_minima else Vote.REJECT

    def job_starving(self, job: JobView) -> bool:
        """Whether the minimum of the job or of a sub-group it needs is not met, pipelined tasks included.

        Minima of roles do not count here.
        """
        return job.is_starving

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Tasks that their jobs can lose without falling below a minimum: of the job, its roles or its sub-groups."""
        return Votes(self._spare, victims.BELOW_MINIMUM, _has_none_to_spare, depends_on=None, regains=self._has_more)

    def job_class(self, job: JobView) -> None:
        """Only spec and pods count."""

    def _has_more(self, taker: Task) -> bool:
        """Whether the taker's job has more tasks than its minimum once its waiting tasks are placed."""
        job = self._job_state(taker.job)
        if job is not None and job.spec.leaves_whole:
            return True
        if job is not None and _has_parts(job):
            return self._surplus(job, waiting=True).lose(taker)
        waiting = job.waiting if isinstance(job, JobView) else 0
        return job is not None and job.ready + waiting > job.spec.min_member

    def _spare(self, candidates: Sequence[Task]) -> list[Task]:
        left: dict[str, int] = {}
        surpluses: dict[str, Surplus] = {}
        spare: list[Task] = []
        for victim in candidates:
            job = self._job_state(victim.job)
            if job is None:
                continue
            if job.spec.leaves_whole:
                spare.append(victim)  # nothing is left of it, so nothing of it is below a minimum
                continue
            if _has_parts(job):
                surplus = surpluses.get(victim.job)
                if surplus is None:
                    surplus = surpluses[victim.job] = self._surplus(job)
                if surplus.lose(victim):
                    spare.append(victim)
                continue
            ready = left.get(victim.job, job.ready)
            if ready > job.spec.min_member:
                left[victim.job] = ready - 1
                spare.append(victim)
        return spare

    def _surplus(self, job: JobState, *, waiting: bool = False) -> Surplus:
        """What a job with roles or sub-groups can lose."""
        view = job if isinstance(job, JobView) else self._views.get(job.key)
        if view is None:
            assert not isinstance(job, JobView)
            view = self._views[job.key] = JobView(job)
        return Surplus(view, waiting=waiting)

    def job_condition(self, job: JobView) -> Condition | None:
        """Unschedulable while the minimum is not met, Scheduled once it is met.

        None while the job has no pending tasks and its leaving tasks would complete the minimum.
        """
        if not job.job.tasks:
            return self._without_pods(job)
        if job.is_ready:
            return READY
        if not job.pending_count and job.leaving and job.ready + job.leaving >= job.min_member:
            return None
        refusal = self.job_valid(job)
        if refusal is not None:
            return Condition("Unschedulable", "True", refusal.reason, refusal.message)
        return Condition("Unschedulable", "True", NOT_ENOUGH_RESOURCES, _to_be_placed(job))

    def _without_pods(self, job: JobView) -> Condition | None:
        """The condition of a gang without pods.

        An admitted gang usually gets its pods a moment later, so it has no condition unless it had one before.
        """
        if job.is_ready:
            return None
        if job.waiting_to_enter:
            return Condition("Unschedulable", "True", NOT_ENOUGH_RESOURCES, words.NOT_ADMITTED)
        refusal = self.job_valid(job)
        had_pods = job.key in self._foreign or any(
            one.kind in STATED and one.status == "True" for one in job.spec.conditions
        )
        return Condition("Unschedulable", "True", refusal.reason, refusal.message) if refusal and had_pods else None


def _gone(job: JobView) -> str:
    """The pods that exist and do not count, as a note for a message."""
    counts = job.job.counts
    return words.pods_gone(counts[Status.FAILED], job.leaving, counts[Status.UNKNOWN])


def _to_be_placed(job: JobView) -> str:
    """What a job lacks whose tasks exist."""
    lacking: list[str] = []
    missing = job.min_member - job.ready
    if missing > 0:
        lacking.append(words.tasks_to_place(missing, job.min_member))
    if job.sub_groups is not None and (short := [*job.sub_groups.shortages()]):
        lacking.append(words.sub_groups_to_place(_named_shortages(short)))
    return "; ".join(lacking)


def _has_parts(job: JobState) -> bool:
    """Whether not only the number of its pods counts, but also which ones they are."""
    return bool(job.spec.sub_groups or job.spec.min_task_member)


def _has_none_to_spare(job: JobState) -> bool:
    return job.ready <= job.spec.min_member and not job.spec.leaves_whole


def _named_roles(job: JobView, missing: Mapping[str, int]) -> str:
    minima = dict(job.spec.min_task_member)
    shown = [(role, minima[role] - lacks, minima[role]) for role, lacks in islice(sorted(missing.items()), ROLES_TOLD)]
    return words.roles_lack_pods(shown, len(missing) - len(shown))


def _named_shortages(shortages: Sequence[SubGroupShortage]) -> str:
    shown = [_named_shortage(one) for one in shortages[:ROLES_TOLD]]
    return words.sub_group_shortages(shown, len(shortages) - len(shown))


def _named_shortage(short: SubGroupShortage) -> str:
    policy = short.policy
    size = policy.size if policy.groups is None else None
    lacking = [(part.name, lacks) for part, lacks in short.others[:ROLES_TOLD]]
    more = len(short.others) - len(lacking)
    return words.sub_group_shortage(policy.name, short.complete, policy.minimum, size, lacking, more)
