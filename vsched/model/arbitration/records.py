"""The input and output of arbitration as records: Consumers, Buckets, namespaces, and the division.

Amounts are ``Counted``: base units by counted name (``vsched.model.amounts.counted``). A resource that a limit does not
name is not limited.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vsched.model.amounts.counted import NOTHING, Counted
from vsched.model.marks import Resource, Sentence, Uid, Word
from vsched.model.pods.task import Task

ARBITRATOR_GROUP = "kube-arbitrator.incubator.k8s.io"
ARBITRATOR_VERSION = f"{ARBITRATOR_GROUP}/v1"
DEFAULT_CONSUMER = "defaults"
"""The name of Consumers that the arbitrator makes, and of the Allocation of a namespace without any."""
PREFERRED_VICTIM = "kube-arbitrator.incubator.k8s.io/preferred-victim"
"""Annotation of pods (``"true"``) by which a workload controller chooses which of its pods are evicted first."""
SYSTEM_NAMESPACE = "kube-system"
"""This namespace deserves what it requests, before all others."""


class ArbitrationCondition(msgspec.Struct, frozen=True):
    """A condition in the status of a Consumer, an Allocation or a Bucket."""

    kind: Word
    status: Word
    reason: Word = ""
    message: Sentence = ""
    since: float = 0.0
    """Its ``lastTransitionTime``, seconds since the epoch."""


class Claim(msgspec.Struct, frozen=True):
    """A Consumer: the limit and the reservation of a namespace."""

    namespace: str
    name: str
    uid: Uid = ""
    version: Word = ""
    generation: int = 0
    created: float = 0.0
    hard: Counted = NOTHING
    reserved: Counted = NOTHING
    weight: int = 0
    """0 if it states none; then the weight of the namespace's ResourceQuotas counts."""
    parent: str = ""
    """The bucket it belongs to; empty for none."""
    stated_hard: Mapping[Resource, Word] = {}
    """As written, for the copy in the Allocation."""
    stated_reserved: Mapping[Resource, Word] = {}
    conditions: tuple[ArbitrationCondition, ...] = ()
    observed: int = 0
    """``status.observedGeneration``."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Bucket(msgspec.Struct, frozen=True):
    """A Bucket: a group of namespaces and inner buckets with a limit and a reservation of its own."""

    name: str
    uid: Uid = ""
    version: Word = ""
    generation: int = 0
    hard: Counted = NOTHING
    reserved: Counted = NOTHING
    weight: int = 1
    parent: str = ""
    """The bucket it belongs to, as stated; empty for none."""
    deserved: Mapping[Resource, Word] = {}
    """``status.deserved`` as written."""
    allocated: Mapping[Resource, Word] = {}
    conditions: tuple[ArbitrationCondition, ...] = ()
    observed: int = 0


class AllocationRecord(msgspec.Struct, frozen=True):
    """An Allocation as the API server has it."""

    namespace: str
    name: str
    uid: Uid = ""
    version: Word = ""
    deserved: Mapping[Resource, Word] = {}
    """``spec.deserved``, ``spec.hard`` and ``spec.reserved`` as written."""
    hard: Mapping[Resource, Word] = {}
    reserved: Mapping[Resource, Word] = {}
    allocated: Mapping[Resource, Word] = {}
    """``status.allocated`` as written."""
    conditions: tuple[ArbitrationCondition, ...] = ()

    def condition(self, kind: str) -> ArbitrationCondition | None:
        """The condition of this type; None if there is none."""
        return next((condition for condition in self.conditions if condition.kind == kind), None)


class NamespaceAccount(msgspec.Struct, frozen=True):
    """One namespace as the arbitrator sees it."""

    namespace: str
    weight: int = 1
    """The weight from its ResourceQuotas; that of its Consumer takes precedence (``own_weight``)."""
    quota: Counted = NOTHING
    """The tightest ``hard`` of its ResourceQuotas without scopes."""
    held: Counted = NOTHING
    """What its PersistentVolumeClaims and its pods on nodes request, terminating pods included."""
    leaving: Counted = NOTHING
    """The part of ``held`` that belongs to terminating pods."""
    waiting: Counted = NOTHING
    """What its pending pods request: without gated pods, and without pods that no node could hold even if empty."""
    tasks: Mapping[Uid, Task] = {}
    """Its unfinished pods by uid, in no order."""
    pending: Mapping[Uid, Task] = {}
    """Those of its pods that have no node and are not gated, by uid, in no order."""
    claim: Claim | None = None
    """Its Consumer in force: the oldest, and of equally old ones the first by name."""
    idle_claims: tuple[Claim, ...] = ()
    """Further Consumers, which have no effect."""
    allocations: tuple[AllocationRecord, ...] = ()
    """Its Allocations, by name; the one in force has the name of the Consumer."""
    terminating: bool = False
    unreadable: bool = False
    """A Consumer of it cannot be decoded. That Consumer has no effect, and none is created beside it."""

    @property
    def own_weight(self) -> int:
        """Its weight in the division, at least 1: that of its Consumer if stated, else that of its ResourceQuotas."""
        return max(1, (self.claim.weight if self.claim is not None else 0) or self.weight)

    @property
    def requested(self) -> dict[str, int]:
        """What it keeps plus what it waits for: ``held`` - ``leaving`` + ``waiting``."""
        total = dict(self.held)
        for name, value in self.waiting.items():
            total[name] = total.get(name, 0) + value
        for name, value in self.leaving.items():
            total[name] -= value
        return total

    @property
    def kept(self) -> dict[str, int]:
        """What it will hold once its terminating pods are gone: ``held`` - ``leaving``."""
        return {name: value - self.leaving.get(name, 0) for name, value in self.held.items()}


class Arbitration(msgspec.Struct, frozen=True):
    """The input of a division at one moment: the accounts of namespaces, the buckets and the storage."""

    parties: Mapping[str, NamespaceAccount]
    """Accounts by namespace: of all namespaces that exist or hold anything."""
    buckets: Mapping[str, Bucket]
    storage: Counted = NOTHING
    """Total storage by counted name; a name that is missing has no known total."""
    version: int = 0
    """Grows with every change of the fields above; equal versions mean equal content."""


class Award(msgspec.Struct, frozen=True):
    """What the division gives one namespace or bucket."""

    deserved: Counted
    """Whole base units; with an entry for every resource that is divided or that it claims."""
    ceiling: Counted
    """The most it may hold for now: what it deserves, plus what no other namespace claims; never above ``hard``."""
    hard: Counted = NOTHING
    """The limit in force: the tightest of its own limit, its ResourceQuotas' and its buckets'."""
    reserved: Counted = NOTHING
    """The reservation in force."""
    cut: Counted = NOTHING
    """The part of its stated reservation that is not in force, because of missing room or a lower limit."""
    own: Counted = NOTHING
    """Of a namespace: what it keeps, or more if it can use more of what it deserves. What it holds beyond is lent."""
    spare: Counted = NOTHING
    """Of a bucket: how much may be lent to its namespaces together; a resource that is missing has no such limit."""
    parent: str = ""
    """Of a namespace: the bucket it is in, empty for none."""
    shared: Counted = NOTHING
    """For resources without a cluster total: what the tightest of its buckets lets its namespaces hold together."""


class Division(msgspec.Struct, frozen=True):
    """The result of a division: an award for each namespace and each bucket."""

    namespaces: Mapping[str, Award]
    buckets: Mapping[str, Award]
    total: Counted
    """The amounts that were divided; only resources with a known total."""
    spare: Counted = NOTHING
    """The part of the total that no namespace claims. It may be lent, to all namespaces together."""
    parents: Mapping[str, str] = {}
    """The parent of each bucket, empty for none."""


class Ceiling(msgspec.Struct, frozen=True):
    """How much a namespace may hold of requests and limits of pods, in base units; the form that schedulers use.

    Requests are by column, limits by counted name (``limits.cpu``). What ``most`` does not name is not limited.
    """

    most: Mapping[int, int]
    """Its ceiling, provided that nothing is lent to others meanwhile."""
    limits: Counted = NOTHING
    own: Mapping[int, int] = {}
    """What it holds beyond this is lent to it, and counts as lent in its pools."""
    own_limits: Counted = NOTHING
    deserved: Mapping[int, int] = {}
    """Up to this amount it is not refused because of what is lent to others."""
    deserved_limits: Counted = NOTHING
    pools: tuple[str, ...] = ()
    """The pools that it shares with others: the cluster, and the buckets it is in."""


class PoolLimits(msgspec.Struct, frozen=True):
    """How much all namespaces, or those of one bucket, may hold together. What is not named is not limited."""

    hard: Mapping[int, int] = {}
    """The most they may keep together."""
    hard_limits: Counted = NOTHING
    spare: Mapping[int, int] = {}
    """The most that may be lent to them together; negative where more is held and claimed than exists."""
    spare_limits: Counted = NOTHING


WHOLE = ""
"""The pool that all namespaces share: the cluster."""
