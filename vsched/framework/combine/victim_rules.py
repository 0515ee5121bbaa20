"""What holds for evictions whatever the plugins vote: who may not be evicted yet, for whom not, and what they waste."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from vsched.framework.jobs import JobView
from vsched.framework.ledger.units import members
from vsched.framework.points.extension import JobState, SessionContext, SortKey
from vsched.framework.points.victims import EvictionDelay, Purpose, VictimCost, VictimProtection
from vsched.framework.surplus import Surplus
from vsched.framework.words import jobs as words
from vsched.model.jobs.job import Job
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

ASK_SECONDS = 10.0
"""For so long no pod is evicted for a new gang, so that nodes can be asked for first."""


class NodesOnTheWay(EvictionDelay):
    """The delays that follow from the ProvisioningRequests of gangs."""

    delays_because = words.NODES_ON_THE_WAY

    def __init__(self, found: Mapping[str, Provisioning]) -> None:
        self._found = found

    def may_evict_from(self, job: JobView) -> float:
        """As its request says; without one, a moment after the gang is complete."""
        if job.min_member < 2 or job.spec.implicit or job.is_ready:
            return 0.0
        found = self._found.get(job.key)
        if found is not None:
            return found.evict_from
        newest = max((task.created for task in job.job.pending.values() if not task.gated), default=0.0)
        return newest + ASK_SECONDS


Protected = Callable[[Task], bool]


class VictimRules:
    """The rules about victims that no tier can overrule, as the plugins of one session give them."""

    def __init__(
        self,
        protections: Sequence[VictimProtection],
        delays: Sequence[EvictionDelay],
        costs: Sequence[VictimCost],
    ) -> None:
        self._protections = protections
        self._costs = costs
        self._delays = tuple(delays)
        self._now = 0.0
        self._job_state: Callable[[str], JobState | None] = _nobody
        self._lost: dict[str, float] = {}
        """By uid of a task: the work that its eviction throws away."""
        self._of_jobs: dict[str, float] = {}
        """By job: the same for all its tasks on nodes together."""
        self.due = inf
        """When the first end comes of a protection or delay that the session met (epoch seconds); infinite for none."""

    def open(self, context: SessionContext) -> None:
        """Begin a session."""
        self._now = context.snapshot.now
        if context.snapshot.provisioning is not None:
            self._delays = (*self._delays, NodesOnTheWay(context.snapshot.provisioning))
        self._job_state = context.job_state

    def protected(self, purpose: Purpose | None) -> Protected | None:
        """A function that says whether a task may not be evicted yet; None where nothing is protected.

        ``purpose`` is None for an eviction that makes room for no other task.
        """
        if not self._protections:
            return None

        def is_protected(task: Task) -> bool:
            until = self.protected_until(task, purpose)
            if until <= self._now:
                return False
            self.due = min(self.due, until)
            return True

        return is_protected

    def protected_until(self, task: Task, purpose: Purpose | None) -> float:
        """Until when a task may not be evicted; the time of the session or earlier where it may be."""
        return max((one.protected_until(task, purpose) for one in self._protections), default=0.0)

    def words(self, task: Task, purpose: Purpose | None) -> str:
        """Why a task may not be evicted yet, for messages."""
        return max(self._protections, key=lambda one: one.protected_until(task, purpose)).protects_because

    # -- delays -----------------------------------------------------------------------------------------------------

    @property
    def delays(self) -> bool:
        """Whether tasks may have to wait before others are evicted for them."""
        return bool(self._delays)

    def may_evict(self, job: JobView) -> bool:
        """Whether tasks may be evicted for a job by now."""
        if not self._delays:
            return True
        begin = self.may_evict_from(job)
        if begin > self._now:
            self.due = min(self.due, begin)
        return begin <= self._now

    def may_evict_from(self, job: JobView) -> float:
        """From when on tasks may be evicted for a job; the time of the session or earlier where they may be now."""
        return max((one.may_evict_from(job) for one in self._delays), default=0.0)

    def why_not_yet(self, job: JobView) -> str:
        """Why no task may be evicted for a job yet, for messages."""
        return max(self._delays, key=lambda one: one.may_evict_from(job)).delays_because

    # -- costs ------------------------------------------------------------------------------------------------------

    @property
    def weighs(self) -> bool:
        """Whether any plugin says what evictions waste."""
        return bool(self._costs)

    def among_its_job(self, task: Task) -> tuple[SortKey, ...]:
        """The sort key of a task among those of its job that have its priority; smaller is evicted first."""
        return *[one.among_its_job(task) for one in self._costs], self._alone(task)

    def wasted(self, victims: Iterable[Task]) -> float:
        """How much work is thrown away if these tasks are evicted together.

        A job that loses more than it can spare loses all of its work: what is left of a gang does none.
        """
        if not self._costs:
            return 0.0
        by_job: dict[str, list[Task]] = {}
        for victim in victims:
            by_job.setdefault(victim.job, []).append(victim)
        return sum(self._of_job(key, tasks) for key, tasks in by_job.items())

    def _of_job(self, key: str, victims: Sequence[Task]) -> float:
        state = self._job_state(key)
        if state is None or _can_spare(state, victims):
            return sum(map(self._alone, victims))
        return self._whole(state.job if isinstance(state, JobView) else state)

    def _whole(self, job: Job) -> float:
        lost = self._of_jobs.get(job.key)
        if lost is None:
            lost = self._of_jobs[job.key] = sum(map(self._alone, members(job)))
        return lost

    def _alone(self, task: Task) -> float:
        lost = self._lost.get(task.uid)
        if lost is None:
            lost = self._lost[task.uid] = sum(one.work_lost(task) for one in self._costs)
        return lost


def _nobody(key: str) -> JobState | None:
    return None


def _can_spare(state: JobState, victims: Sequence[Task]) -> bool:
    """Whether a job keeps what it needs without these tasks and those that the session has evicted besides."""
    if state.spec.leaves_whole:
        return False
    moved = state.moved.values() if isinstance(state, JobView) else ()
    gone = {task.uid: task for status, _, task in moved if status is Status.RELEASING}
    surplus = Surplus(JobView(state.job if isinstance(state, JobView) else state))
    return all(map(surplus.lose, (gone | {victim.uid: victim for victim in victims}).values()))
