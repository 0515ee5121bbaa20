"""Which tasks a job can lose without losing what it needs."""

from __future__ import annotations

from collections.abc import Callable

from vsched.framework.jobs import JobView
from vsched.framework.subgroups import SubGroup, SubGroups
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.model.topology.constraints import NO_POLICY
from vsched.model.topology.subgroups import SubGroupKey


def protected_by(job: JobView, *, waiting: bool = False) -> Callable[[Task], bool] | None:
    """A function that says task by task whether the job's preemptibility protects it; None where it protects none.

    Each task that it may lose counts as lost from then on. With ``waiting``, pipelined tasks count as if they had
    started.
    """
    match job.spec.preemptibility:
        case Preemptibility.NONE:
            return _non_preemptible
        case Preemptibility.SEMI:
            surplus = Surplus(job, waiting=waiting)
            return lambda task: not surplus.lose(task)
    return None


def _non_preemptible(task: Task) -> bool:
    """All tasks of a job that is not preemptible are protected."""
    return True


class Surplus:
    """What a job has beyond its minimum, the minima of its roles, and the sub-groups that it needs.

    It is asked task by task. Each task that the job can lose counts as lost from then on.
    """

    def __init__(self, job: JobView, *, waiting: bool = False) -> None:
        """With ``waiting``, pipelined tasks count as if they had started."""
        self._sub_groups = job.sub_groups
        self._waiting = waiting
        self._of_job = job.ready + (job.waiting if waiting else 0) - job.min_member
        self._of_roles: dict[str, int] = {}
        """Of roles with a minimum that applies."""
        if job.roles is not None and job.gates_minimum:
            for role, minimum in job.spec.min_task_member:
                counts = job.roles.get(role)
                have = 0 if counts is None else counts.occupied(waiting=waiting)
                self._of_roles[role] = have - minimum
        self._of_policies: dict[int, int] = {}
        """By policy: how many complete children there are beyond its minimum; below 0 where it lacks some."""
        self._lost: dict[SubGroupKey, int] = {}
        """By sub-group: how many of its tasks count as lost."""

    def lose(self, task: Task) -> bool:
        """Whether the job can lose this task too; if so, the task counts as lost."""
        if self._of_job <= 0 or self._of_roles.get(task.role, 1) <= 0:
            return False
        if self._sub_groups is not None and not self._lose_of_group(self._sub_groups, task):
            return False
        self._of_job -= 1
        if task.role in self._of_roles:
            self._of_roles[task.role] -= 1
        return True

    def _lose_of_group(self, groups: SubGroups, task: Task) -> bool:
        """The same by what the job needs of sub-groups."""
        group = groups.of(task)
        if self._breaks(group):
            broken = self._broken(groups, group.key.policy)
            if broken is None:
                return False
            for policy in broken:
                self._of_policies[policy] = self._spare(groups, policy) - 1
        self._lost[group.key] = self._lost.get(group.key, 0) + 1
        return True

    def _breaks(self, group: SubGroup) -> bool:
        """Whether the sub-group has its minimum, and one task less would leave it below."""
        have = group.occupied(waiting=self._waiting) - self._lost.get(group.key, 0)
        return group.key.policy != NO_POLICY and have == group.minimum

    def _broken(self, groups: SubGroups, policy: int) -> list[int] | None:
        """The policies that have one complete child less if one of this policy breaks: itself, and those above it.

        None where the job needs that child. A policy below another one may lose its minimum: then it does not count as
        a child of that any more.
        """
        found: list[int] = []
        while True:
            found.append(policy)
            spare, above = self._spare(groups, policy), groups.policies[policy].above
            if above == NO_POLICY:
                return found if spare > 0 else None
            if spare:
                return found
            policy = above

    def _spare(self, groups: SubGroups, policy: int) -> int:
        spare = self._of_policies.get(policy)
        if spare is None:
            complete = groups.pipelined_of(policy) if self._waiting else groups.ready_of(policy)
            spare = complete - groups.policies[policy].minimum
        return spare
