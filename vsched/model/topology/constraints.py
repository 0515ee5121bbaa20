"""What a job asks of the places of its pods: how close they have to be, and its sub-groups."""

from __future__ import annotations

import msgspec

from vsched.model.pods.shape import Selector

NO_POLICY = -1
"""In place of the position of a policy: none."""


class NetworkTopology(msgspec.Struct, frozen=True):
    """How close the pods of a job, or of one of its sub-groups, have to be."""

    hard: bool = True
    """Whether the pods wait if it cannot be met; else they are only placed as close as possible."""
    highest_tier: int | None = None
    """The highest tier whose domains may hold them; None for no limit."""
    tier_name: str = ""
    """The same by the tier's name; empty where it is given by number or not at all."""
    key: str = ""
    """A node label: all pods have to be on nodes with one value of it, whatever the tiers. Native PodGroups ask so."""


class MemberGroup(msgspec.Struct, frozen=True):
    """A native PodGroup that is a sub-group of a job."""

    name: str
    size: int = 1
    """Its minimum."""
    topology: NetworkTopology | None = None
    """How close its pods have to be."""


class SubGroupPolicy(msgspec.Struct, frozen=True):
    """How pods of a job form sub-groups: gangs within the gang.

    The policies of a tree of native groups are a tree, too: each stands for a CompositePodGroup. Its parts are its
    sub-groups and the policies right below it.
    """

    name: str = ""
    size: int = 1
    """The minimum of one sub-group."""
    minimum: int = 0
    """How many of its parts have to have their minimum: before the job may start, or before the policy counts as a part
    of the one above it."""
    selector: Selector = Selector()
    """The pods that the policy concerns."""
    match_keys: tuple[str, ...] = ()
    """Labels whose values tell sub-groups apart."""
    topology: NetworkTopology | None = None
    """How close the pods of one sub-group have to be."""
    groups: tuple[MemberGroup, ...] | None = None
    """Native PodGroups, each of which is a sub-group; then size, selector, keys and topology do not count."""
    above: int = NO_POLICY
    """The position of the policy of which this one is a part; policies come after those above them."""
    together: NetworkTopology | None = None
    """How close all pods of the policy and of those below it have to be. Only a policy below another one has this: the
    job says it for the others."""
