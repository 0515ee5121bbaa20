"""Which sub-group of its job a task is in (reference 0.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vsched.model.pods.shape import as_int64
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import SubGroupPolicy

NO_POLICY = -1
"""In place of the position of a policy: no policy concerns the task."""


class SubGroupKey(NamedTuple):
    """What tells the sub-groups of a job apart."""

    policy: int
    """The position of the policy in the job's spec; ``NO_POLICY`` for the left-over pods, which are one sub-group."""
    values: tuple[str, ...] = ()
    """The values of the policy's ``match_keys``, in their order."""

    @property
    def number(self) -> int:
        """The first value as an integer, by which sub-groups are ordered; 0 where it is none."""
        return (as_int64(self.values[0]) or 0) if self.values else 0

    def name(self, policies: Sequence[SubGroupPolicy]) -> str:
        """The name for messages: ``workers/3``, of the policy and the values."""
        if self.policy == NO_POLICY:
            return "the other pods"
        return "/".join((title_of(policies, self.policy), *self.values))


def title_of(policies: Sequence[SubGroupPolicy], position: int) -> str:
    """The name of a policy for messages; one without a name is told by its position."""
    return policies[position].name or f"subGroupPolicy[{position}]"


LEFT_OVER = SubGroupKey(NO_POLICY)


def sub_group_of(policies: Sequence[SubGroupPolicy], task: Task) -> SubGroupKey:
    """The sub-group of a task, by the first policy that concerns it.

    A policy concerns pods that its selector matches and that have all its keys. Without keys, all of them are one
    sub-group.
    """
    labels: dict[str, str] | None = None
    for position, policy in enumerate(policies):
        if policy.groups:
            if task.group in policy.groups:
                return SubGroupKey(position, (task.group,))
            continue
        if labels is None:
            labels = dict(task.labels.pairs)
        if policy.selector.matches(labels) and all(key in labels for key in policy.match_keys):
            return SubGroupKey(position, tuple([labels[key] for key in policy.match_keys]))
    return LEFT_OVER


def have_minima(policies: Sequence[SubGroupPolicy], tasks: Iterable[Task]) -> bool:
    """Whether these tasks are enough for as many sub-groups of each policy as the job needs."""
    sizes = Counter(sub_group_of(policies, task) for task in tasks)
    complete = Counter(
        key.policy for key, count in sizes.items() if key != LEFT_OVER and count >= policies[key.policy].size
    )
    return all(complete[position] >= policy.minimum for position, policy in enumerate(policies))
