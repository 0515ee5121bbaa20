"""The sub-groups of a tree of native PodGroups, and its minimum in pods.

Each PodGroup of the tree is a sub-group with its ``minCount``. PodGroups that ask for the same form one policy, so that
any ``minGroupCount`` of them are enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from vsched.model.jobs.native import ChildGroup, NativeGroup
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy

NOT_YET = "not supported yet (--ignore-unsupported subgroups ignores it)"
MIXED = "groups with different minCount or topology"


class Parts(NamedTuple):
    """How the pods of a tree form sub-groups."""

    sub_groups: tuple[SubGroupPolicy, ...]
    minimum: int
    """The least number of pods that the tree can start with."""
    unsupported: str = ""


def sub_groups_of(root: NativeGroup, name: str, minimum: int) -> Parts:
    """The sub-groups of a tree; ``minimum`` is the root's ``minGroupCount``, 1 for ``basic``."""
    problem = _problem(root.children)
    if problem:
        return Parts((), minimum, problem)
    leaves = [child for child in root.children if not child.composite]
    below = [child for child in root.children if child.parent == name]
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for leaf in leaves:
        alike[leaf.minimum, leaf.topology].append(leaf.name)
    if not root.gang:
        return Parts(_policies(alike, {}), min((leaf.minimum for leaf in leaves), default=1))
    if minimum >= len(below):
        missing = minimum - len(below)
        needed = {kind: len(names) for kind, names in alike.items()}
        if needed and missing:
            needed[next(iter(needed))] += missing
        return Parts(_policies(alike, needed), sum(kind[0] * count for kind, count in needed.items()) or minimum)
    if len(alike) > 1 or len(leaves) > len(below):
        return Parts(
            (), minimum, f"spec.schedulingPolicy.gang.minGroupCount: {minimum} of {len(below)} {MIXED}: {NOT_YET}"
        )
    ((size, _),) = alike
    return Parts(_policies(alike, dict.fromkeys(alike, minimum)), size * minimum)


def _policies(
    alike: dict[tuple[int, str], list[str]], needed: dict[tuple[int, str], int]
) -> tuple[SubGroupPolicy, ...]:
    return tuple(
        SubGroupPolicy(
            name="podGroups",
            size=size,
            minimum=needed.get((size, key), 0),
            groups=tuple(names),
            topology=NetworkTopology(hard=True, key=key) if key else None,
        )
        for (size, key), names in alike.items()
    )


def _problem(children: Sequence[ChildGroup]) -> str:
    """Why a tree below a tree cannot be scheduled; empty where it can.

    A CompositePodGroup below another one only counts: all of its groups have to be needed, and nothing may bind them
    to one another.
    """
    for inner in children:
        if not inner.composite:
            continue
        groups = sum(child.parent == inner.name for child in children)
        if inner.topology:
            return f"CompositePodGroup {inner.name}: schedulingConstraints below another CompositePodGroup: {NOT_YET}"
        if not inner.gang or inner.minimum < groups:
            return (
                f"CompositePodGroup {inner.name}: below another CompositePodGroup all of its groups have to be needed "
                f"(minGroupCount of {groups} or more): others are {NOT_YET}"
            )
    return ""
