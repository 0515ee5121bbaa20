"""Levers of a job with sub-groups: wider tiers for those of a policy, fewer of them, and smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank, in_proportion
from vsched.explain.candidates.places import levels_above
from vsched.explain.edits.subgroups import SetMinSubGroups, SetSubGroupSize, SetSubGroupTier
from vsched.model.jobs.spec import JobSpec


def sub_group_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """All levers of sub-groups. Native PodGroups have none: theirs ask for a label, and are objects of their own."""
    spec = wants.job.spec
    if spec.native is not None:
        return
    lowered = partial(in_proportion, spec, wants.situation.snapshot.axis)
    for position, policy in enumerate(spec.sub_groups):
        if policy.topology is not None and policy.topology.hard:
            levels, tiers = levels_above(wants, policy.topology)
            if levels:
                edit = partial(_raised, wants.job.key, position, levels)
                yield Lever(Rank.ELSEWHERE, edit, len(levels), whole=tiers, kind="sub-group tiers")
        if policy.minimum > 1:
            fewer = partial(_fewer, wants.job.key, spec, position, lowered)
            yield Lever(Rank.LESS, fewer, policy.minimum - 1, whole=policy.minimum)
        if policy.size > 1:
            smaller = partial(_smaller, wants.job.key, spec, position, lowered)
            yield Lever(Rank.LESS, smaller, policy.size - 1, whole=policy.size)


Lowered = Callable[[int], Mapping[str, int]]
"""``minResources`` for a smaller ``minMember``."""


def _raised(key: str, position: int, levels: Sequence[int], step: int) -> SetSubGroupTier:
    return SetSubGroupTier(key, position, levels[step - 1])


def _fewer(key: str, spec: JobSpec, position: int, lowered: Lowered, step: int) -> SetMinSubGroups:
    policy = spec.sub_groups[position]
    members = members_without(spec, policy.size * step)
    return SetMinSubGroups(key, position, policy.minimum - step, members, _less(spec, members, lowered))


def _smaller(key: str, spec: JobSpec, position: int, lowered: Lowered, step: int) -> SetSubGroupSize:
    policy = spec.sub_groups[position]
    members = members_without(spec, policy.minimum * step)
    return SetSubGroupSize(key, position, policy.size - step, members, _less(spec, members, lowered))


def members_without(spec: JobSpec, fewer: int) -> int:
    """``minMember`` where the sub-groups that the job needs have this many pods fewer together, at least 1.

    It goes down by as much, unless it is below what these sub-groups need already.
    """
    needed = sum(policy.minimum * policy.size for policy in spec.sub_groups)
    spare = max(0, needed - spec.min_member)
    return max(min(1, spec.min_member), spec.min_member - max(0, fewer - spare))


def _less(spec: JobSpec, members: int, lowered: Lowered) -> dict[str, int]:
    return dict(lowered(members)) if members < spec.min_member else {}
