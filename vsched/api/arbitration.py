"""The fields that vsched reads of the objects of arbitration.

What the arbitrator writes itself (Allocations, every status) stays raw, so that invalid content is only written again.
"""

from __future__ import annotations

import msgspec

from vsched.api.base import NO_BYTES, ApiObject, ObjectCondition, Raw, ResourceList, Wire


class ShareSpec(Wire):
    """What a namespace or a group of namespaces may hold at most, and what is reserved for it."""

    hard: ResourceList | None = None
    reserved: ResourceList | None = None
    weight: int | None = None
    parent: str | None = None


class Consumer(ApiObject):
    """kube-arbitrator.incubator.k8s.io/v1 Consumer."""

    spec: ShareSpec = msgspec.field(default_factory=ShareSpec)
    status: Raw = NO_BYTES


class Bucket(ApiObject):
    """kube-arbitrator.incubator.k8s.io/v1 Bucket."""

    spec: ShareSpec = msgspec.field(default_factory=ShareSpec)
    status: Raw = NO_BYTES


class Allocation(ApiObject):
    """kube-arbitrator.incubator.k8s.io/v1 Allocation."""

    spec: Raw = NO_BYTES
    status: Raw = NO_BYTES


class AllocationSpec(Wire):
    """The spec of an Allocation."""

    deserved: ResourceList | None = None
    hard: ResourceList | None = None
    reserved: ResourceList | None = None


class ArbitrationStatus(Wire):
    """The status of a Consumer, a Bucket or an Allocation; each has some of these fields."""

    observed_generation: int | None = None
    deserved: ResourceList | None = None
    allocated: ResourceList | None = None
    conditions: list[ObjectCondition] | None = None
