"""The input and output of arbitration as records: Consumers, Buckets, namespaces, and the division (seed 001).

Amounts are ``Counted``: base units by counted name (``vsched.model.amounts.counted``). A resource that a limit does not
name is not limited.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vsched.model.amounts.counted import NOTHING, Counted
from vsched.model.pods.task import Task

ARBITRATOR_GROUP = "kube-arbitrator.incubator.k8s.io"
ARBITRATOR_VERSION = f"{ARBITRATOR_GROUP}/v1"
DEFAULT_CONSUMER = "defaults"
"""The name of Consumers that the arbitrator makes, and of the Allocation of a namespace without any."""
PREFERRED_VICTIM = "kube-arbitrator.incubator.k8s.io/preferred-victim"
"""Annotation by which a workload controller says which of its pods go first: ``"true"``."""
SYSTEM_NAMESPACE = "kube-system"
"""Deserves what it requests, before all others."""


class Told(msgspec.Struct, frozen=True):
    """A condition in the status of a Consumer, an Allocation or a bucket, as it stands in the object."""

    kind: str
    status: str
    reason: str = ""
    message: str = ""
    since: float = 0.0
    """Its ``lastTransitionTime``, seconds since the epoch."""


class Claim(msgspec.Struct, frozen=True):
    """A Consumer: what a namespace may hold at most, and what is kept for it."""

    namespace: str
    name: str
    uid: str = ""
    version: str = ""
    generation: int = 0
    created: float = 0.0
    hard: Counted = NOTHING
    reserved: Counted = NOTHING
    weight: int = 0
    """0 where it has none of its own: then the namespace's counts."""
    parent: str = ""
    """The bucket it belongs to; empty for none."""
    stated_hard: Mapping[str, str] = {}
    """As written, for the copy in the Allocation."""
    stated_reserved: Mapping[str, str] = {}
    conditions: tuple[Told, ...] = ()
    observed: int = 0
    """``status.observedGeneration``."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Bucket(msgspec.Struct, frozen=True):
    """A group of Consumers, and of other buckets, with a limit and a guarantee of its own."""

    name: str
    uid: str = ""
    version: str = ""
    generation: int = 0
    hard: Counted = NOTHING
    reserved: Counted = NOTHING
    weight: int = 1
    parent: str = ""
    """The bucket it belongs to, as stated; empty for none."""
    deserved: Mapping[str, str] = {}
    """``status.deserved`` as written."""
    allocated: Mapping[str, str] = {}
    conditions: tuple[Told, ...] = ()
    observed: int = 0


class AllocationRecord(msgspec.Struct, frozen=True):
    """An Allocation as it stands in the API server."""

    namespace: str
    name: str
    uid: str = ""
    version: str = ""
    deserved: Mapping[str, str] = {}
    """``spec.deserved``, ``spec.hard`` and ``spec.reserved`` as written."""
    hard: Mapping[str, str] = {}
    reserved: Mapping[str, str] = {}
    allocated: Mapping[str, str] = {}
    """``status.allocated`` as written."""
    conditions: tuple[Told, ...] = ()

    def condition(self, kind: str) -> Told | None:
        """The condition of this type, None where there is none."""
        return next((told for told in self.conditions if told.kind == kind), None)


class NamespaceAccount(msgspec.Struct, frozen=True):
    """One namespace as the arbitrator sees it."""

    namespace: str
    weight: int = 1
    """By its ResourceQuotas (seed 000); that of its Consumer goes before."""
    quota: Counted = NOTHING
    """The tightest ``hard`` of its ResourceQuotas without scopes."""
    held: Counted = NOTHING
    """Pods that have a node, those on their way out included, and PersistentVolumeClaims."""
    leaving: Counted = NOTHING
    """The part of ``held`` that is on its way out."""
    waiting: Counted = NOTHING
    """Pods without a node that are not gated and that some node could hold if it were empty."""
    tasks: Mapping[str, Task] = {}
    """Its pods by uid, in no order; without those that are finished."""
    pending: Mapping[str, Task] = {}
    """Those of them that have no node and are not gated, by uid, in no order."""
    claim: Claim | None = None
    """Its Consumer: the oldest, by name among equally old ones."""
    idle_claims: tuple[Claim, ...] = ()
    """Further Consumers, which count for nothing."""
    allocations: tuple[AllocationRecord, ...] = ()
    """Its Allocations, by name; one of them is the Consumer's namesake."""
    terminating: bool = False
    unreadable: bool = False
    """A Consumer of it cannot be read: it counts for nothing, and none is to be made beside it."""

    @property
    def own_weight(self) -> int:
        """The weight it is divided by, 1 at the least: its Consumer's where that has one, else its quotas'."""
        return max(1, (self.claim.weight if self.claim is not None else 0) or self.weight)

    @property
    def requested(self) -> dict[str, int]:
        """What it holds for good and what it waits for."""
        total = dict(self.held)
        for name, value in self.waiting.items():
            total[name] = total.get(name, 0) + value
        for name, value in self.leaving.items():
            total[name] -= value
        return total

    @property
    def kept(self) -> dict[str, int]:
        """What it holds once everything that leaves has left."""
        return {name: value - self.leaving.get(name, 0) for name, value in self.held.items()}


class Arbitration(msgspec.Struct, frozen=True):
    """Everything that is divided, and among whom, at one moment."""

    parties: Mapping[str, NamespaceAccount]
    """By namespace: all that exist or hold anything."""
    buckets: Mapping[str, Bucket]
    storage: Counted = NOTHING
    """How much storage there is, by counted name; what is not named has no known bound."""
    version: int = 0
    """Grows with every change of what is above; equal numbers, equal content."""


class Award(msgspec.Struct, frozen=True):
    """What the division gives one namespace or bucket."""

    deserved: Counted
    """Whole base units; every resource that is divided or that it claims has an entry."""
    ceiling: Counted
    """What it may hold at most for now: what it deserves, and what nobody else claims; never over ``hard``."""
    hard: Counted = NOTHING
    """The limit in force: its own, its quota's and its bucket's, whichever is tightest."""
    reserved: Counted = NOTHING
    """The floor in force."""
    cut: Counted = NOTHING
    """What of its stated reservation is not in force, for want of room or for a limit below it."""
    own: Counted = NOTHING
    """Of a namespace: what it keeps, and what else it can use of what it deserves. What it holds beyond is lent."""
    spare: Counted = NOTHING
    """Of a bucket: how much may be lent to its namespaces together; what is not named is not limited by it."""
    parent: str = ""
    """Of a namespace: the bucket it is in, empty for none."""
    shared: Counted = NOTHING
    """Of what the cluster has no total of: what the tightest of its buckets lets its namespaces hold together."""


class Division(msgspec.Struct, frozen=True):
    """Who deserves what."""

    namespaces: Mapping[str, Award]
    buckets: Mapping[str, Award]
    total: Counted
    """What there was to divide; only resources with a known total."""
    spare: Counted = NOTHING
    """What nobody claims of it: so much may be lent, to all namespaces together."""
    parents: Mapping[str, str] = {}
    """The bucket that each bucket stands in, empty for none."""


class Ceiling(msgspec.Struct, frozen=True):
    """How much a namespace may hold of what pods ask for and are limited to: for those who place them. Base units.

    Requests are by column, limits by counted name (``limits.cpu``); what is not named in ``most`` is not limited.
    """

    most: Mapping[int, int]
    """If nobody else is lent anything meanwhile."""
    limits: Counted = NOTHING
    own: Mapping[int, int] = {}
    """What it holds beyond this is lent to it, and counts as such in its pools."""
    own_limits: Counted = NOTHING
    deserved: Mapping[int, int] = {}
    """Up to here it is not refused for what others are lent."""
    deserved_limits: Counted = NOTHING
    pools: tuple[str, ...] = ()
    """What it shares with others: the cluster, and the buckets it is in."""


class Pool(msgspec.Struct, frozen=True):
    """How much namespaces may hold together: all of them, or those of one bucket. What is not named is not limited."""

    hard: Mapping[int, int] = {}
    """What they may keep together."""
    hard_limits: Counted = NOTHING
    spare: Mapping[int, int] = {}
    """What may be lent to them together; below zero where more is held than there is."""
    spare_limits: Counted = NOTHING


WHOLE = ""
"""The pool that all namespaces share: the cluster."""
