"""The result of a round of arbitration as data: objects to write, pods to evict, Events to record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vsched.model.arbitration.records import ArbitrationCondition
from vsched.model.plan import Evict


class MakeConsumer(msgspec.Struct, frozen=True):
    """A namespace lacks a Consumer: make one without limits and reservations."""

    namespace: str


class WriteAllocation(msgspec.Struct, frozen=True):
    """Create an Allocation, or bring it up to date."""

    namespace: str
    name: str
    uid: str
    """Empty for an Allocation that is to be created."""
    version: str
    spec: Mapping[str, Any] | None
    """The wanted ``deserved``, ``hard`` and ``reserved``; None if the object already has them."""
    status: Mapping[str, Any] | None
    """The wanted ``allocated`` and ``conditions``; None if the object already has them."""
    owner: tuple[str, str] = ("", "")
    """Name and uid of the Consumer it belongs to, for the ownerReferences of a new Allocation."""


class DropAllocation(msgspec.Struct, frozen=True):
    """Delete an Allocation that belongs to no Consumer in force."""

    namespace: str
    name: str
    uid: str


class WriteStatus(msgspec.Struct, frozen=True):
    """Write the status of a Consumer or a bucket."""

    kind: str
    """``Consumer`` or ``Bucket``."""
    namespace: str
    """Empty for buckets."""
    name: str
    uid: str
    version: str
    status: Mapping[str, Any]


class Remark(msgspec.Struct, frozen=True):
    """An Event to be recorded."""

    kind: str
    """``Consumer``, ``Allocation`` or ``Bucket``."""
    namespace: str
    name: str
    uid: str
    warning: bool
    reason: str
    message: str


Effect = MakeConsumer | WriteAllocation | DropAllocation | WriteStatus | Remark


class Overuse(msgspec.Struct, frozen=True):
    """A namespace that uses more than it deserves while another is short, or more than its hard limit."""

    namespace: str
    since: float
    """Seconds since the epoch."""
    excess: Mapping[str, int]
    """By how much it holds more than it deserves, base units by counted name."""
    degree: float
    """The largest of ``(held - deserved) / total`` over the resources; the most overused namespace loses pods first."""
    claimants: tuple[str, ...] = ()
    """Namespaces that are short of what they deserve."""
    beyond: Mapping[str, int] = {}
    """By how much it holds more than its limit in force."""
    buckets: tuple[str, ...] = ()
    """Its buckets that exceed their limit in a resource of which it keeps more than it deserves."""


class Promise(msgspec.Struct, frozen=True):
    """Room that was made for a pending pod by evictions. Until the pod has its place, nothing is lent."""

    namespace: str
    node: str
    until: float
    """Seconds since the epoch; then the promise ends, even if the pod is still pending."""


class RoundResult(msgspec.Struct, frozen=True):
    """Duration of a round of arbitration."""

    effects: tuple[Effect, ...] = ()
    evictions: tuple[Evict, ...] = ()
    overused: Mapping[str, Overuse] = {}
    conditions: Mapping[str, tuple[ArbitrationCondition, ...]] = {}
    """Conditions of each namespace (of its Consumer and its Allocation), by namespace."""
    of_buckets: Mapping[str, tuple[ArbitrationCondition, ...]] = {}
    """Conditions of each bucket, by name."""
    promised: Mapping[str, Promise] = {}
    """Open promises by the uid of the pod, to be passed to the next round. While there are any, nothing is lent
    (``ceilings_of``): otherwise the evicted pods would come back before the pod that they made room for is placed."""
