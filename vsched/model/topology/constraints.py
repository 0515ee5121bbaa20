"""What a job asks of the places of its pods: how close they have to be, and its sub-groups (reference 0.5, 5.2)."""

from __future__ import annotations

import msgspec

from vsched.model.pods.shape import Selector


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


class SubGroupPolicy(msgspec.Struct, frozen=True):
    """How pods of a job form sub-groups: gangs within the gang."""

    name: str = ""
    size: int = 1
    """The minimum of one sub-group."""
    minimum: int = 0
    """How many sub-groups of this policy have to have their minimum before the job may start."""
    selector: Selector = Selector()
    """The pods that the policy concerns."""
    match_keys: tuple[str, ...] = ()
    """Labels whose values tell sub-groups apart."""
    groups: tuple[str, ...] = ()
    """Native PodGroups, each of which is a sub-group of this policy; then selector and keys do not count."""
    topology: NetworkTopology | None = None
