"""Tiers: for each distance, which nodes are close to each other. One array of integers a tier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from vsched.model.nodes.table import NO_DOMAIN, Ids

__all__ = ["NO_DOMAIN", "WHOLE_CLUSTER", "LabelTier", "Tier", "Tiers"]

WHOLE_CLUSTER = "<cluster-top-hypernode>"
"""The name of the domain of the last tier: all nodes. No HyperNode and no label value can have this name."""


class LabelTier(msgspec.Struct, frozen=True):
    """A tier that follows from a label of nodes, as the policy lists them, closest first."""

    key: str
    """The label key. Nodes in no HyperNode tree are close to each other where its values, and those of all wider
    label tiers, agree."""
    level: int
    name: str = ""
    """Its ``tierName``; empty for the key."""


@dataclass(frozen=True, slots=True, eq=False)
class Tier:
    """One tier: the nodes of a domain are at most this far apart."""

    level: int
    """The number of the tier, as HyperNodes and ``highestTierAllowed`` give it; smaller is closer."""
    name: str
    """Its ``tierName``, or the label key that it follows from; empty where it has none."""
    ids: Ids
    """int32[nodes]: the position of the node's domain in ``domains``, or ``NO_DOMAIN``."""
    domains: tuple[str, ...]
    """The names of the domains, sorted: of HyperNodes, also of those without nodes; or the values of labels from the
    widest to this one, as ``zone/block/rack``, where a label that the nodes lack is empty, as ``zone//rack``."""


@dataclass(frozen=True, slots=True, eq=False)
class Tiers:
    """All tiers, closest first. A domain lies within one domain of each wider tier that its nodes are in.

    The last tier is the whole cluster: one domain, with the level after the highest one (1 where there is no other).
    """

    tiers: tuple[Tier, ...]
    levels: Mapping[str, int] = field(default_factory=dict)
    """The level of each tier name. Where HyperNodes of several levels have the same name, the closest level."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """By name of a HyperNode: why its tree is left out."""
    problem: str = ""
    """Why no HyperNode can be read, so that tiers are not known; empty where they can."""

    @property
    def is_flat(self) -> bool:
        """Whether there is no tier but the whole cluster."""
        return len(self.tiers) == 1
