"""The sub-groups of a job in a session, with counts of their tasks by status.

Policies may form a tree: those below another one are its children, as its sub-groups are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from vsched.framework.counting import TaskCounts
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NO_POLICY, SubGroupPolicy
from vsched.model.topology.subgroups import LEFT_OVER, Membership, SubGroupKey, have_parts

NodeChange = tuple[str, int]
"""A node, and 1 where a task got it or -1 where a task gave it up."""
LEAST = -(1 << 31)
"""No pod has a lower priority."""


class SubGroup(TaskCounts):
    """One sub-group: a gang within the gang."""

    __slots__ = ("key", "minimum", "name", "node_changes", "placed", "priority", "topology")

    def __init__(self, key: SubGroupKey, policies: Sequence[SubGroupPolicy], membership: Membership) -> None:
        super().__init__()
        self.key = key
        self.name = key.name(policies)
        self.minimum, self.topology = 1, None
        if (group := membership.group(key)) is not None:
            self.minimum, self.topology = group.size, group.topology
        elif key != LEFT_OVER:
            self.minimum, self.topology = policies[key.policy].size, policies[key.policy].topology
        self.node_changes: list[NodeChange] = []
        """The nodes that its tasks got and gave up, as in ``JobView.node_changes``."""
        self.placed = 0
        """How many of its tasks have a node."""
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


class Composite:
    """A policy below another one: with so many of its children, it counts as a child of that."""

    __slots__ = ("_groups", "key", "minimum", "name", "node_changes", "placed", "position", "topology")

    def __init__(self, groups: SubGroups, position: int) -> None:
        policy = groups.policies[position]
        self._groups = groups
        self.position = position
        self.key = SubGroupKey(position)
        self.name = policy.name
        self.minimum = policy.minimum
        self.topology = policy.together
        self.node_changes: list[NodeChange] = []
        """The nodes that tasks of its sub-groups got and gave up."""
        self.placed = 0
        """How many of these tasks have a node."""

    @property
    def is_ready(self) -> bool:
        """Whether enough of its children have their minimum."""
        return self._groups.ready_of(self.position) >= self.minimum

    @property
    def is_pipelined(self) -> bool:
        """The same once pipelined tasks can start."""
        return self._groups.pipelined_of(self.position) >= self.minimum

    def lacks(self, *, waiting: bool = False, pending: bool = False) -> int:
        """The fewest tasks that it lacks of its minimum."""
        return self._groups.shortage(self.position, waiting=waiting, pending=pending).missing


AnyGroup = SubGroup | Composite
"""A child of a policy."""


class SubGroupShortage(NamedTuple):
    """What one policy lacks: it has fewer children with their minimum than it needs."""

    policy: SubGroupPolicy
    complete: int
    """How many of its children have their minimum."""
    others: tuple[tuple[AnyGroup, int], ...]
    """The other children and how many tasks each lacks, the fewest first."""

    @property
    def missing(self) -> int:
        """The fewest tasks with which the policy would have its minimum; children that do not exist yet count."""
        wanted = max(0, self.policy.minimum - self.complete)
        return sum(lacks for _, lacks in self.others[:wanted]) + self.policy.size * max(0, wanted - len(self.others))


class SubGroups:
    """The sub-groups of one job."""

    __slots__ = (
        "_children",
        "_keys",
        "_membership",
        "_needed",
        "_paths",
        "_pipelined",
        "_ready",
        "composites",
        "groups",
        "policies",
    )

    def __init__(self, policies: Sequence[SubGroupPolicy], tasks: Iterable[Task]) -> None:
        self.policies = policies
        self.groups: dict[SubGroupKey, SubGroup] = {}
        self.composites = [Composite(self, at) for at, policy in enumerate(policies) if policy.above != NO_POLICY]
        self._needed = [at for at, policy in enumerate(policies) if policy.above == NO_POLICY]
        """The policies that the job itself needs."""
        self._membership = Membership(policies)
        self._keys: dict[str, SubGroupKey] = {}
        """The sub-group of each task, by uid."""
        self._children: list[list[AnyGroup]] = [[] for _ in policies]
        """By policy."""
        self._paths: list[tuple[Composite, ...]] = [() for _ in policies]
        """By policy: itself and the composites above it, the topmost first."""
        for one in self.composites:
            above = policies[one.position].above
            self._children[above].append(one)
            self._paths[one.position] = (*self._paths[above], one)
        for task in tasks:
            group = self.of(task)
            group.count(task.status, task, 1)
            group.priority = max(group.priority, task.priority)
            if HOLDS[task.status].allocated or HOLDS[task.status].reserves:
                self.follow(task, (task.node, 1))
        self._ready = [0] * len(policies)
        """By policy: how many of its children have their minimum."""
        self._pipelined = [0] * len(policies)
        """The same, counting pipelined tasks."""
        for position in reversed(range(len(policies))):  # what is below another one comes first
            self._ready[position] = sum(child.is_ready for child in self._children[position])
            self._pipelined[position] = sum(child.is_pipelined for child in self._children[position])

    def of(self, task: Task) -> SubGroup:
        """The sub-group of a task of the job."""
        key = self._keys.get(task.uid)
        if key is None:
            key = self._keys[task.uid] = self._membership.of(task)
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = SubGroup(key, self.policies, self._membership)
            if key.policy != NO_POLICY:
                self._children[key.policy].append(group)
        return group

    def path(self, group: SubGroup) -> tuple[Composite, ...]:
        """The composites that a sub-group is in, the topmost first."""
        return () if group.key.policy == NO_POLICY else self._paths[group.key.policy]

    def group_for(self, task: Task, within: Composite | None = None) -> AnyGroup:
        """The group that a task is placed with: the topmost composite that lacks its minimum, else its sub-group.

        Inside of a composite, only those below it count.
        """
        group = self.of(task)
        path = self.path(group)
        if within is not None:
            path = path[path.index(within) + 1 :]
        return next((one for one in path if not one.is_pipelined), group)

    def around(self, task: Task, within: Composite | None, first: AnyGroup) -> Iterator[AnyGroup]:
        """The group that a task is placed with (``first``), and the composites around it inside of ``within``."""
        group = self.of(task)
        inside_out: list[AnyGroup] = [group, *reversed(self.path(group))]
        for one in inside_out[inside_out.index(first) :]:
            if one is within:
                return
            yield one

    @property
    def is_tree(self) -> bool:
        """Whether its sub-groups are native PodGroups, which may differ in size and topology."""
        return any(policy.groups is not None for policy in self.policies)

    def policy_of(self, group: AnyGroup) -> int:
        """The position of the policy that a group is a child of."""
        return self.policies[group.position].above if isinstance(group, Composite) else group.key.policy

    def without_choice(self) -> list[SubGroup] | None:
        """The sub-groups whose minima all have to be met; None where some may do without others."""
        parts = [group for group in self.groups.values() if group.key.policy != NO_POLICY]
        children: list[AnyGroup] = [*parts, *self.composites]
        counts = Counter(map(self.policy_of, children))
        is_choice = any(count > self.policies[policy].minimum for policy, count in counts.items())
        return None if is_choice else parts

    # -- changes ------------------------------------------------------------------------------------------------------

    def follow(self, task: Task, change: NodeChange) -> None:
        """Note that a task got a node, or gave it up."""
        group = self.of(task)
        around: tuple[AnyGroup, ...] = (group, *self.path(group))
        for one in around:
            one.node_changes.append(change)
            one.placed += change[1]

    def move(self, task: Task, before: Status, after: Status) -> None:
        """Count the change of one task's status."""
        group = self.of(task)
        was_ready, was_pipelined = group.is_ready, group.is_pipelined
        group.count(before, task, -1)
        group.count(after, task, 1)
        self._tally(self._ready, group.key.policy, group.is_ready - was_ready)
        self._tally(self._pipelined, group.key.policy, group.is_pipelined - was_pipelined)

    def _tally(self, counts: list[int], position: int, by: int) -> None:
        """Count one child of a policy more or less, and so on upwards where that changes whether it has its minimum."""
        while by and position != NO_POLICY:
            policy = self.policies[position]
            before = counts[position] >= policy.minimum
            counts[position] += by
            by, position = (counts[position] >= policy.minimum) - before, policy.above

    # -- what there is ------------------------------------------------------------------------------------------------

    def are_whole(self, tasks: Iterable[Task]) -> bool:
        """Whether the sub-groups of these tasks, and all that these are in, have their minimum, so that they may be
        bound."""
        return all(group.is_ready and all(one.is_ready for one in self.path(group)) for group in map(self.of, tasks))

    def will_be_whole(self, tasks: Iterable[Task]) -> bool:
        """The same once pipelined tasks can start."""
        groups = map(self.of, tasks)
        return all(group.is_pipelined and all(one.is_pipelined for one in self.path(group)) for group in groups)

    def ready_of(self, policy: int) -> int:
        """How many children of a policy have their minimum."""
        return self._ready[policy]

    def pipelined_of(self, policy: int) -> int:
        """The same once pipelined tasks can start."""
        return self._pipelined[policy]

    @property
    def are_ready(self) -> bool:
        """Whether enough children of each policy that the job itself needs have their minimum."""
        return self._have_minima(self._ready)

    @property
    def are_pipelined(self) -> bool:
        """The same once pipelined tasks can start."""
        return self._have_minima(self._pipelined)

    def _have_minima(self, counts: Sequence[int]) -> bool:
        return all(counts[position] >= self.policies[position].minimum for position in self._needed)

    # -- what is missing ----------------------------------------------------------------------------------------------

    def tasks_missing(self) -> int:
        """The fewest tasks that must be placed before the job has what it needs of sub-groups."""
        return 0 if self.are_ready else sum(short.missing for short in self.shortages())

    def shortages(self, *, waiting: bool = False, pending: bool = False) -> Iterator[SubGroupShortage]:
        """The policies of the job itself with too few children that have their minimum, in their order.

        With ``waiting``, pipelined tasks count; with ``pending``, pending ones.
        """
        for position, policy in enumerate(self.policies):
            if policy.above == NO_POLICY:
                short = self.shortage(position, waiting=waiting, pending=pending)
                if short.complete < policy.minimum:
                    yield short

    def shortage(self, position: int, *, waiting: bool = False, pending: bool = False) -> SubGroupShortage:
        """How many children of a policy have their minimum, and what the others lack."""
        children = self._children[position]
        lacking = [(child, lacks) for child in children if (lacks := child.lacks(waiting=waiting, pending=pending))]
        lacking.sort(key=lambda one: (one[1], one[0].key.number, one[0].name))
        return SubGroupShortage(self.policies[position], len(children) - len(lacking), tuple(lacking))

    def choice(self, groups: Iterable[SubGroup], weight: Callable[[SubGroup], int]) -> list[SubGroup]:
        """Those of these sub-groups that would give the job what it needs, were they completed: the lightest ones.

        Of equal weight, the first. Their order stays; where they are too few, all that would help are chosen.
        """
        found: list[list[tuple[int, int, list[int]]]] = [[] for _ in self.policies]
        """By policy, the children that can be completed: weight, first sub-group, all sub-groups."""
        order = list(groups)
        for at, group in enumerate(order):
            if group.key.policy != NO_POLICY and not group.is_ready:
                found[group.key.policy].append((weight(group), at, [at]))
        chosen: list[int] = []
        for position in reversed(range(len(self.policies))):
            policy = self.policies[position]
            lacking = policy.minimum - self._ready[position]
            children = sorted(found[position])[: max(0, lacking)]
            members = [at for _, _, inner in children for at in inner]
            if policy.above == NO_POLICY:
                chosen += members
            elif lacking > 0 and len(children) == lacking:
                found[policy.above].append((sum(one[0] for one in children), min(members), members))
        return [order[at] for at in sorted(chosen)]

    def would_do(self, groups: Iterable[SubGroup]) -> bool:
        """Whether the job would have what it needs of sub-groups, were these completed."""
        complete = Counter(group.key.policy for group in self.groups.values() if group.is_ready)
        complete.update(group.key.policy for group in groups if not group.is_ready)
        return have_parts(self.policies, complete)

    def contiguous(self, order: Sequence[SubGroup]) -> list[SubGroup]:
        """These sub-groups with those of one composite side by side, at the place of the first of them."""
        if not self.composites:
            return list(order)
        first: dict[Composite, int] = {}
        rank = {group: (*(first.setdefault(one, at) for one in self.path(group)), at) for at, group in enumerate(order)}
        return sorted(order, key=rank.__getitem__)
