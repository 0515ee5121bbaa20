"""Conversion between the version that a kind is stored in and the other versions that are served.

Pure functions over objects. Only events, Workloads and PodGroups differ in more than their apiVersion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.apimachinery.meta.kinds import Kind, Obj, without

_MODES = {"PodGroup": "all", "Pod": "single"}
_OLDER_MODES = {new: old for old, new in _MODES.items()}
_NEWER = ("parentCompositePodGroupName", "preemptionPolicy")
"""Fields that v1alpha2 does not have."""


def group_to_older(obj: Obj) -> Obj:
    """A PodGroup in v1alpha2."""
    spec = _to_older(obj.get("spec") or {})
    reference = spec.pop("workloadRef", None)
    if reference is not None:
        named = {
            "workloadName": reference.get("workloadName", ""),
            "podGroupTemplateName": reference.get("templateName", ""),
        }
        spec["podGroupTemplateRef"] = {"workload": named}
    return {**obj, "spec": spec}


def group_to_newer(obj: Obj) -> Obj:
    """A PodGroup in v1beta1."""
    spec = _to_newer(obj.get("spec") or {})
    reference = (spec.pop("podGroupTemplateRef", None) or {}).get("workload")
    if reference is not None:
        spec["workloadRef"] = {
            "workloadName": reference.get("workloadName", ""),
            "templateName": reference.get("podGroupTemplateName", ""),
        }
    return {**obj, "spec": spec}


def workload_to_older(obj: Obj) -> Obj:
    """A Workload in v1alpha2, which knows no trees."""
    return {**obj, "spec": _templates(without(obj.get("spec") or {}, ("compositePodGroupTemplates",)), _to_older)}


def workload_to_newer(obj: Obj) -> Obj:
    """A Workload in v1beta1."""
    return {**obj, "spec": _templates(obj.get("spec") or {}, _to_newer)}


def _templates(spec: Obj, convert: Callable[[Obj], Obj]) -> Obj:
    if not spec.get("podGroupTemplates"):
        return dict(spec)
    return {**spec, "podGroupTemplates": [convert(each) for each in spec["podGroupTemplates"]]}


def _to_older(spec: Obj) -> Obj:
    older = without(spec, _NEWER)
    mode = next(iter(spec.get("disruptionMode") or ()), None)
    if mode is not None:
        older["disruptionMode"] = _OLDER_MODES.get(mode, mode)
    return older


def _to_newer(spec: Obj) -> Obj:
    newer, mode = dict(spec), spec.get("disruptionMode")
    if mode is not None:
        newer["disruptionMode"] = {_MODES.get(mode, mode): {}}
    return newer


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
