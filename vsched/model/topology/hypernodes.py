"""HyperNodes: sets of nodes that are close to each other, in trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from vsched.model.marks import Opaque, Uid
from vsched.model.pods.shape import Selector


class Member(msgspec.Struct, frozen=True):
    """One entry of a HyperNode's members. Exactly one of ``name``, ``pattern`` and ``labels`` is set."""

    is_node: bool
    """Whether it names nodes; else it names one HyperNode, by ``name``."""
    name: str = ""
    pattern: Opaque = ""
    """A regular expression that nodes' names match (RE2 syntax, found anywhere in the name)."""
    labels: Selector | None = None
    """A selector of nodes' labels."""


class HyperNode(msgspec.Struct, frozen=True):
    """A HyperNode as its object says."""

    name: str
    uid: Uid = ""
    tier: int = 0
    """How close its nodes are: smaller is closer."""
    tier_name: str = ""
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TopologyCatalogue:
    """All HyperNodes of the cluster. The same object while none changes."""

    hypernodes: tuple[HyperNode, ...] = ()
    """Sorted by name; also those of broken trees, which sessions leave out by the same rules as the mirror."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """By name: HyperNodes that cannot be read, and why. Trees with such a member are broken. What could be read of them
    is among the HyperNodes, too."""
    problem: str = ""
    """Why no HyperNode can be read, so that nobody knows the tiers; empty where they can, or where there are none."""


NO_TOPOLOGY = TopologyCatalogue()
"""The catalogue of a cluster without HyperNodes."""
