"""The sub-groups of a tree of native PodGroups, and its minimum in pods.

Each CompositePodGroup of the tree is a policy, and each PodGroup a sub-group of it with its own ``minCount`` and
topology. So many of a composite's groups have to start as its ``minGroupCount`` says; with ``basic``, one is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vsched.model.jobs.native import ChildGroup, NativeGroup
from vsched.model.topology.constraints import NO_POLICY, MemberGroup, NetworkTopology, SubGroupPolicy

ROOT = "podGroups"
"""The policy of the root in messages."""


class SubGroupParts(NamedTuple):
    """How the pods of a tree form sub-groups."""

    sub_groups: tuple[SubGroupPolicy, ...]
    minimum: int
    """The least number of pods that the tree can start with."""


def sub_groups_of(root: NativeGroup, name: str) -> SubGroupParts:
    """The sub-groups of a tree, from the groups below its root, parents before their children."""
    composites = [ChildGroup(name, minimum=root.minimum), *(one for one in root.children if one.composite)]
    position = {one.name: at for at, one in enumerate(composites)}
    members: list[list[MemberGroup]] = [[] for _ in composites]
    for leaf in root.children:
        if not leaf.composite:
            members[position[leaf.parent]].append(MemberGroup(leaf.name, leaf.minimum, _closeness(leaf)))
    policies = tuple(
        SubGroupPolicy(
            name=one.name if at else ROOT,
            minimum=one.minimum,
            groups=tuple(members[at]),
            above=position[one.parent] if at else NO_POLICY,
            together=_closeness(one),
        )
        for at, one in enumerate(composites)
    )
    return SubGroupParts(policies, _fewest(policies))


def _fewest(policies: Sequence[SubGroupPolicy]) -> int:
    """The fewest pods with which all has its minimum; of groups that do not exist yet, one pod each."""
    sizes = [[group.size for group in policy.groups or ()] for policy in policies]
    fewest = 0
    for policy, parts in zip(reversed(policies), reversed(sizes), strict=True):
        fewest = sum(sorted(parts)[: policy.minimum]) + max(0, policy.minimum - len(parts))
        if policy.above != NO_POLICY:
            sizes[policy.above].append(fewest)
    return fewest


def _closeness(group: ChildGroup) -> NetworkTopology | None:
    return NetworkTopology(hard=True, key=group.topology) if group.topology else None
