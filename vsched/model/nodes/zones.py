"""NUMA zones of nodes: what is free in each, and which pods may not be in the report yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from vsched.model.marks import NodeName, Resource, Uid, Word
from vsched.model.pods.shape import ZoneRequest

Named = tuple[tuple[Resource, int], ...]
"""Amounts by name of a resource, sorted; base units."""
ZoneShares = tuple[tuple[int, Named], ...]
"""What a pod holds of each zone, by the zone's number."""

ZONES_MAX = 8
"""The most zones of a node that are read: the kubelet manages no more by default."""
ZONE_AMOUNT_MAX = (1 << 62) // ZONES_MAX
"""The most of a resource that counts in one zone, so that sums over zones fit 64 bits."""


class ZonePolicy(StrEnum):
    """How the kubelet (its topology manager) aligns what pods ask for with zones."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE = "single-numa-node"


class Zone(msgspec.Struct, frozen=True):
    """One NUMA zone of a node."""

    number: int
    free: Named = ()
    """What the report says is free."""
    allocatable: Named = ()
    """What pods could have if there were none."""


class NodeZones(msgspec.Struct, frozen=True):
    """The zones of one node, as its NodeResourceTopology or Numatopology reports them."""

    node: NodeName
    policy: Word = ZonePolicy.NONE
    per_pod: bool = False
    """Whether a pod is aligned as a whole; else each container by itself."""
    static_cpus: bool = True
    """Whether the kubelet gives whole cpus to containers (its CPU manager is ``static``)."""
    zones: tuple[Zone, ...] = ()
    """Sorted by number."""
    reported: float = 0.0
    """When the report was written, seconds since the epoch; 0 where it does not say."""
    pods: tuple[tuple[Uid, ZoneShares], ...] | None = None
    """By uid: the pods that the report counts, and what they hold; None where it does not list them."""


class ZonedPod(msgspec.Struct, frozen=True):
    """A pod on a node with zones that the kubelet aligns."""

    uid: Uid
    name: str
    """Namespace and name."""
    request: ZoneRequest
    running: bool = False
    started: float = 0.0
    """When its node started it, seconds since the epoch; 0 where that is not known."""
    shares: ZoneShares = ()
    """What was decided for it, by its annotation; empty where nothing was."""
    on_paper: bool = False
    """Whether a simulation started it, so that no report will ever count it."""


@dataclass(frozen=True, slots=True, eq=False)
class ZoneCatalogue:
    """The zones of all nodes that report any. The same object while nothing changes."""

    nodes: Mapping[str, NodeZones] = field(default_factory=dict)
    """By name."""
    pods: Mapping[str, tuple[ZonedPod, ...]] = field(default_factory=dict)
    """By name of a node: the pods there that the kubelet aligns, sorted by name."""


NO_ZONES = ZoneCatalogue()
"""The catalogue of a cluster without reports of zones."""
