"""The sub-groups of a job in a session, with counts of their tasks by status (reference 0.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vsched.framework.counting import TaskCounts
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import SubGroupPolicy
from vsched.model.topology.subgroups import LEFT_OVER, NO_POLICY, SubGroupKey, sub_group_of

Step = tuple[str, int]
"""A node, and 1 where a task got it, -1 where a task gave it up."""
LEAST = -(1 << 31)
"""No pod has a lower priority."""


class SubGroup(TaskCounts):
    """One sub-group: a gang within the gang."""

    __slots__ = ("key", "minimum", "name", "priority", "topology", "trail")

    def __init__(self, key: SubGroupKey, policies: Sequence[SubGroupPolicy]) -> None:
        super().__init__()
        self.key = key
        self.name = key.name(policies)
        self.minimum, self.topology = 1, None
        if key != LEFT_OVER:
            self.minimum, self.topology = policies[key.policy].size, policies[key.policy].topology
        self.trail: list[Step] = []
        """When its tasks got nodes and gave them up, as ``JobView.trail``."""
        self.priority = LEAST
        """The highest priority of its tasks."""

    @property
    def is_ready(self) -> bool:
        """Whether its minimum is met; pending best-effort tasks count."""
        return self.ready + self.best_effort >= self.minimum

    @property
    def is_pipelined(self) -> bool:
        """Whether its minimum is met once its pipelined tasks can start."""
        return self.ready + self.waiting + self.best_effort >= self.minimum

    def lacks(self, *, waiting: bool = False, pending: bool = False) -> int:
        """How many tasks it lacks of its minimum."""
        return max(0, self.minimum - self.occupied(waiting=waiting, pending=pending))


class Shortage(NamedTuple):
    """What one policy lacks: it has fewer sub-groups with their minimum than it needs."""

    policy: SubGroupPolicy
    complete: int
    """How many sub-groups have their minimum."""
    others: tuple[tuple[SubGroup, int], ...]
    """The other sub-groups and how many tasks each lacks, the fewest first."""


class SubGroups:
    """The sub-groups of one job."""

    __slots__ = ("_keys", "_pipelined", "_ready", "groups", "policies")

    def __init__(self, policies: Sequence[SubGroupPolicy], tasks: Iterable[Task]) -> None:
        self.policies = policies
        self.groups: dict[SubGroupKey, SubGroup] = {}
        self._keys: dict[str, SubGroupKey] = {}
        """The sub-group of each task, by uid."""
        for task in tasks:
            group = self.of(task)
            group.count(task.status, task, 1)
            group.priority = max(group.priority, task.priority)
            if HOLDS[task.status].allocated or HOLDS[task.status].reserves:
                group.trail.append((task.node, 1))
        self._ready = [0] * len(policies)
        """By policy: how many sub-groups have their minimum."""
        self._pipelined = [0] * len(policies)
        """The same, counting pipelined tasks."""
        for group in self.groups.values():
            self._tally(group, 1)

    def of(self, task: Task) -> SubGroup:
        """The sub-group of a task of the job."""
        key = self._keys.get(task.uid)
        if key is None:
            key = self._keys[task.uid] = sub_group_of(self.policies, task)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = SubGroup(key, self.policies)
        return group

    def move(self, task: Task, before: Status, after: Status) -> None:
        """Count the change of one task's status."""
        group = self.of(task)
        self._tally(group, -1)
        group.count(before, task, -1)
        group.count(after, task, 1)
        self._tally(group, 1)

    def are_whole(self, tasks: Iterable[Task]) -> bool:
        """Whether the sub-groups of these tasks have their minimum, so that the tasks may be bound."""
        return all(self.of(task).is_ready for task in tasks)

    def _tally(self, group: SubGroup, by: int) -> None:
        position = group.key.policy
        if position != NO_POLICY:
            self._ready[position] += by * group.is_ready
            self._pipelined[position] += by * group.is_pipelined

    def ready_of(self, policy: int) -> int:
        """How many sub-groups of a policy have their minimum."""
        return self._ready[policy]

    def pipelined_of(self, policy: int) -> int:
        """The same once pipelined tasks can start."""
        return self._pipelined[policy]

    @property
    def are_ready(self) -> bool:
        """Whether enough sub-groups of each policy have their minimum."""
        return all(have >= policy.minimum for have, policy in zip(self._ready, self.policies, strict=True))

    @property
    def are_pipelined(self) -> bool:
        """The same once pipelined tasks can start."""
        return all(have >= policy.minimum for have, policy in zip(self._pipelined, self.policies, strict=True))

    def tasks_missing(self) -> int:
        """The fewest tasks that must be placed before enough sub-groups of each policy have their minimum."""
        if self.are_ready:
            return 0
        return sum(self._fewest(short) for short in self.shortages())

    def _fewest(self, short: Shortage) -> int:
        wanted = short.policy.minimum - short.complete
        missing = sum(lacks for _, lacks in short.others[:wanted])
        return missing + short.policy.size * max(0, wanted - len(short.others))

    def shortages(self, *, waiting: bool = False, pending: bool = False) -> Iterator[Shortage]:
        """The policies with too few sub-groups that have their minimum, in their order.

        With ``waiting``, pipelined tasks count; with ``pending``, pending ones.
        """
        lacking: dict[int, list[tuple[SubGroup, int]]] = {}
        complete = [0] * len(self.policies)
        for group in self.groups.values():
            position = group.key.policy
            if position == NO_POLICY:
                continue
            if lacks := group.lacks(waiting=waiting, pending=pending):
                lacking.setdefault(position, []).append((group, lacks))
            else:
                complete[position] += 1
        for position, policy in enumerate(self.policies):
            if complete[position] < policy.minimum:
                others = sorted(lacking.get(position, ()), key=lambda one: (one[1], one[0].key.number, one[0].name))
                yield Shortage(policy, complete[position], tuple(others))
