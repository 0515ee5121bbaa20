"""Which sub-group of its job a task is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vsched.model import words
from vsched.model.pods.shape import as_int64
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NO_POLICY, MemberGroup, SubGroupPolicy


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
            return words.OTHER_PODS
        return "/".join((title_of(policies, self.policy), *self.values))


def title_of(policies: Sequence[SubGroupPolicy], position: int) -> str:
    """The name of a policy for messages; one without a name is told by its position."""
    return policies[position].name or f"subGroupPolicy[{position}]"


LEFT_OVER = SubGroupKey(NO_POLICY)


class Membership:
    """Says which sub-group a task of a job is in."""

    def __init__(self, policies: Sequence[SubGroupPolicy]) -> None:
        self._policies = [(at, policy) for at, policy in enumerate(policies) if policy.groups is None]
        self._named = {group.name: (at, group) for at, policy in enumerate(policies) for group in policy.groups or ()}
        """Native PodGroups."""

    def of(self, task: Task) -> SubGroupKey:
        """The sub-group of a task: by its native PodGroup, else by the first policy that concerns it.

        A policy concerns pods that its selector matches and that have all its keys. Without keys, all of them are one
        sub-group.
        """
        if task.group in self._named:
            return SubGroupKey(self._named[task.group][0], (task.group,))
        if not self._policies:
            return LEFT_OVER
        labels = dict(task.labels.pairs)
        for position, policy in self._policies:
            if policy.selector.matches(labels) and all(key in labels for key in policy.match_keys):
                return SubGroupKey(position, tuple([labels[key] for key in policy.match_keys]))
        return LEFT_OVER

    def group(self, key: SubGroupKey) -> MemberGroup | None:
        """The native PodGroup that a sub-group is; None where it is none."""
        found = self._named.get(key.values[0]) if key.values else None
        return found[1] if found is not None and found[0] == key.policy else None


def have_minima(policies: Sequence[SubGroupPolicy], tasks: Iterable[Task]) -> bool:
    """Whether these tasks are enough for all that the job needs of sub-groups."""
    membership = Membership(policies)
    complete = Counter[int]()
    for key, count in Counter(map(membership.of, tasks)).items():
        if key != LEFT_OVER:
            group = membership.group(key)
            complete[key.policy] += count >= (policies[key.policy].size if group is None else group.size)
    return have_parts(policies, complete)


def have_parts(policies: Sequence[SubGroupPolicy], complete: Counter[int]) -> bool:
    """Whether what the job needs is complete, from the numbers of complete sub-groups by policy; adds policies to them.

    A policy below another one that has its minimum of parts is a complete part of that.
    """
    enough = True
    for position in reversed(range(len(policies))):
        policy = policies[position]
        has_minimum = complete[position] >= policy.minimum
        if policy.above != NO_POLICY:
            complete[policy.above] += has_minimum
        else:
            enough = enough and has_minimum
    return enough
