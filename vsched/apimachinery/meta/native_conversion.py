"""Conversion of Workloads and PodGroups (``scheduling.k8s.io``) between v1beta1, which is stored, and v1alpha2."""

from __future__ import annotations

from collections.abc import Callable

from vsched.apimachinery.meta.kinds import Obj, without

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
