"""Conversion between the version that a kind is stored in and the other versions that are served.

Pure functions over objects. Only events, Workloads and PodGroups differ in more than their apiVersion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.native_conversion import (
    group_to_newer,
    group_to_older,
    workload_to_newer,
    workload_to_older,
)

EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
"""What events.k8s.io calls the fields of the older events of v1."""
_OLDER_EVENT_FIELDS = {new: old for old, new in EVENT_FIELDS.items()}


def to_served(kind: Kind, obj: Obj) -> Obj:
    """A stored object in the version of ``kind``."""
    return obj if kind.stored else _converted(kind, obj, _TO_SERVED)


def to_stored(kind: Kind, stored: Kind, obj: Obj) -> Obj:
    """An object that a client sent, in the version that is stored."""
    if kind.stored:
        return obj
    return {**_converted(kind, obj, _TO_STORED), "apiVersion": stored.api_version}


def _converted(kind: Kind, obj: Obj, table: Mapping[str, Callable[[Obj], Obj]]) -> Obj:
    convert = table.get(kind.storage)
    changed = obj if convert is None else convert(obj)
    return {**changed, "apiVersion": kind.api_version}


def _event_to_served(obj: Obj) -> Obj:
    return {EVENT_FIELDS.get(field, field): value for field, value in obj.items()}


def _event_to_stored(obj: Obj) -> Obj:
    return {_OLDER_EVENT_FIELDS.get(field, field): value for field, value in obj.items()}


_WORKLOADS, _GROUPS = "scheduling.k8s.io/workloads", "scheduling.k8s.io/podgroups"
_TO_SERVED = {
    "/events": _event_to_served,
    _WORKLOADS: workload_to_older,
    _GROUPS: group_to_older,
}
_TO_STORED = {
    "/events": _event_to_stored,
    _WORKLOADS: workload_to_newer,
    _GROUPS: group_to_newer,
}
