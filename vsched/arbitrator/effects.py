"""What the arbitrator wants done, as data: objects to be as they should be, pods to go, and what people are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vsched.model.arbitration.records import Told
from vsched.model.plan import Evict


class MakeConsumer(msgspec.Struct, frozen=True):
    """A namespace lacks a Consumer: make one without limits and reservations."""

    namespace: str


class WriteAllocation(msgspec.Struct, frozen=True):
    """An Allocation is to say this."""

    namespace: str
    name: str
    uid: str
    """Empty where it is to be made."""
    version: str
    spec: Mapping[str, Any] | None
    """deserved, hard, reserved as they are to be; None where the object already says so."""
    status: Mapping[str, Any] | None
    """allocated and conditions as they are to be; None where the object already says so."""
    owner: tuple[str, str] = ("", "")
    """Name and uid of the Consumer it belongs to, for a new one's ownerReferences."""


class DropAllocation(msgspec.Struct, frozen=True):
    """An Allocation whose Consumer is no more, or never counted."""

    namespace: str
    name: str
    uid: str


class WriteStatus(msgspec.Struct, frozen=True):
    """The status of a Consumer or a bucket is to say this."""

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
    """A namespace that uses more than it deserves while another is short, or more than it may at most."""

    namespace: str
    since: float
    """Seconds since the epoch."""
    excess: Mapping[str, int]
    """By how much more than it deserves, base units by counted name."""
    degree: float
    """The largest of ``(held - deserved) / total`` over the resources: the most overused goes first."""
    claimants: tuple[str, ...] = ()
    """Namespaces that are short of what they deserve."""
    beyond: Mapping[str, int] = {}
    """By how much more than its limit in force."""
    buckets: tuple[str, ...] = ()
    """Its buckets whose limit is exceeded in something that it keeps more of than it deserves."""


class Promise(msgspec.Struct, frozen=True):
    """A pod waits for room that others were made to leave: until it has its place nothing is lent."""

    namespace: str
    node: str
    until: float
    """Seconds since the epoch: whoever does not take its place by then is not waited for."""


class RoundResult(msgspec.Struct, frozen=True):
    """One round of arbitration."""

    effects: tuple[Effect, ...] = ()
    evictions: tuple[Evict, ...] = ()
    overused: Mapping[str, Overuse] = {}
    conditions: Mapping[str, tuple[Told, ...]] = {}
    """What is said of each namespace, by namespace."""
    of_buckets: Mapping[str, tuple[Told, ...]] = {}
    """What is said of each bucket, by name."""
    promised: Mapping[str, Promise] = {}
    """Promises that are open, by the pod's uid; the next round has to be told of them. While there are any, nobody is
    lent anything (``ceilings_of``): what leaves would come back before whom it was to make room for has come."""
