"""The fields that vsched reads of Evictions, which Kubernetes makes from EvictionRequests."""

from __future__ import annotations

import msgspec

from vsched.api.base import ApiObject, ObjectCondition, Timestamp, Wire


class TargetPod(Wire):
    """The pod that an Eviction is about."""

    name: str = ""
    uid: str = ""


class EvictionTarget(Wire):
    """What an Eviction is about: so far, only pods."""

    pod: TargetPod | None = None


class EvictionSpec(Wire):
    """The spec of an Eviction."""

    target: EvictionTarget = msgspec.field(default_factory=EvictionTarget)


class TargetResponder(Wire):
    """A responder, and whether it is its turn."""

    name: str = ""
    state: str = ""


class ResponderStatus(Wire):
    """What a responder reports."""

    name: str = ""
    expected_completion_time: Timestamp | None = None
    completion_time: Timestamp | None = None
    message: str = ""


class EvictionStatus(Wire):
    """The status of an Eviction."""

    conditions: list[ObjectCondition] | None = None
    target_responders: list[TargetResponder] | None = None
    responders: list[ResponderStatus] | None = None


class Eviction(ApiObject):
    """lifecycle.k8s.io/v1alpha1 Eviction."""

    spec: EvictionSpec = msgspec.field(default_factory=EvictionSpec)
    status: EvictionStatus = msgspec.field(default_factory=EvictionStatus)
