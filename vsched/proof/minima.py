"""What gangs need: the minima of a job, of its roles and of its sub-groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NO_POLICY
from vsched.model.topology.subgroups import LEFT_OVER, Membership
from vsched.proof import words


def lacking(job: Job, have: Iterable[Task]) -> str:
    """What a job lacks of its minima with these pods, for people; empty where it has them.

    Waiting pods that ask for nothing count as if they were there: they need no room.
    """
    counted = {task.uid: task for task in have}
    counted |= {task.uid: task for task in job.pending.values() if task.best_effort and not task.unsupported}
    spec = job.spec
    if len(counted) < spec.min_member:
        return words.lacks_pods(len(counted), spec.min_member)
    minima = spec.min_task_member
    if spec.min_member >= sum(minimum for _, minimum in minima):
        roles = Counter(task.role for task in counted.values())
        for role, minimum in minima:
            if roles[role] < minimum:
                return words.lacks_of_role(roles[role], minimum, role)
    membership, complete = Membership(spec.sub_groups), Counter[int]()
    for key, count in Counter(map(membership.of, counted.values())).items():
        if key != LEFT_OVER:
            group = membership.group(key)
            complete[key.policy] += count >= (spec.sub_groups[key.policy].size if group is None else group.size)
    for position, policy in reversed(list(enumerate(spec.sub_groups))):  # policies come after those above them
        if policy.above != NO_POLICY:
            complete[policy.above] += complete[position] >= policy.minimum
        elif complete[position] < policy.minimum:
            return words.lacks_sub_groups(complete[position], policy.minimum, policy.name)
    return ""


def leaves_whole(job: Job, evicted: Collection[str]) -> bool:
    """Whether all pods of a job that hold a node leave it, so that nothing of the gang stays behind."""
    stays = (Status.RUNNING, Status.BOUND, Status.BINDING, Status.ALLOCATED)
    return all(task.uid in evicted for task in job.tasks.values() if task.status in stays)
