"""Validation of DeviceClasses and ResourceSlices."""

from __future__ import annotations

from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import label_problems, qualified_name_problems, subdomain_problems
from vsched.apimachinery.validation.resource_claims import (
    attribute_name_problems,
    check_opaque,
    check_selectors,
    too_many,
)

MOST_DEVICES, MOST_SPECIAL_DEVICES = 128, 64
"""Devices of a slice; fewer if any of them has taints or takes from counters."""
MOST_BINDING_CONDITIONS = 4
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def check_device_class(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    check_selectors(spec.get("selectors") or (), "spec.selectors", causes)
    for index, config in enumerate(spec.get("config") or ()):
        check_opaque(config, f"spec.config[{index}]", causes)
    name = spec.get("extendedResourceName")
    if name is not None:
        causes.check_format(name, qualified_name_problems, "spec.extendedResourceName")


def check_slice(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    causes.check_name(spec.get("driver"), subdomain_problems, "spec.driver")
    pool = spec.get("pool") or {}
    causes.check_name(pool.get("name"), subdomain_problems, "spec.pool.name")
    if pool.get("resourceSliceCount", 0) <= 0:
        causes.invalid("spec.pool.resourceSliceCount", pool.get("resourceSliceCount", 0), "must be greater than zero")
    causes.check_not_negative(pool.get("generation"), "spec.pool.generation")
    _check_place(spec, causes)
    devices, counters = spec.get("devices") or (), spec.get("sharedCounters") or ()
    if devices and counters:
        causes.invalid("spec", None, "only one of `sharedCounters` or `devices` is allowed")
    special = any(each.get("taints") or each.get("consumesCounters") for each in devices)
    too_many(causes, "spec.devices", len(devices), MOST_SPECIAL_DEVICES if special else MOST_DEVICES)
    names: set[str] = set()
    for index, device in enumerate(devices):
        _check_device(device, names, f"spec.devices[{index}]", bool(spec.get("perDeviceNodeSelection")), causes)
    sets: set[str] = set()
    for index, one in enumerate(counters):
        where = f"spec.sharedCounters[{index}]"
        causes.check_name(one.get("name"), label_problems, f"{where}.name")
        causes.check_unique(one.get("name") or "", sets, f"{where}.name")
        if not one.get("counters"):
            causes.required(f"{where}.counters")


def check_slice_update(new: Obj, old: Obj, causes: Causes) -> None:
    check_slice(new, causes)
    now, was = new.get("spec") or {}, old.get("spec") or {}
    causes.check_immutable(now.get("driver"), was.get("driver"), "spec.driver")
    causes.check_immutable((now.get("pool") or {}).get("name"), (was.get("pool") or {}).get("name"), "spec.pool.name")
    causes.check_immutable(now.get("nodeName"), was.get("nodeName"), "spec.nodeName")


def check_taint_rule(obj: Obj, causes: Causes) -> None:
    spec = obj.get("spec") or {}
    _check_taint(spec.get("taint") or {}, "spec.taint", causes)
    selector = spec.get("deviceSelector") or {}
    for field, problems in (("driver", subdomain_problems), ("pool", subdomain_problems), ("device", label_problems)):
        if selector.get(field) is not None:
            causes.check_format(selector[field], problems, f"spec.deviceSelector.{field}")


def _check_taint(taint: Obj, path: str, causes: Causes) -> None:
    causes.check_name(taint.get("key"), qualified_name_problems, f"{path}.key")
    causes.check_required_one_of(taint.get("effect"), _EFFECTS, f"{path}.effect")


def _check_place(spec: Obj, causes: Causes) -> None:
    given = [field for field in _PLACES if spec.get(field)]
    listed = ", ".join(f"`{field}`" for field in _PLACES)
    if not given:
        causes.required("spec", f"exactly one of {listed} is required")
    elif len(given) > 1:
        causes.invalid("spec", f"{{{', '.join(given)}}}", f"exactly one of {listed} is required")


def _check_device(device: Obj, names: set[str], path: str, selects: bool, causes: Causes) -> None:
    causes.check_name(device.get("name"), label_problems, f"{path}.name")
    if device.get("name"):
        causes.check_unique(device["name"], names, f"{path}.name")
    for name, value in (device.get("attributes") or {}).items():
        where = f"{path}.attributes[{name}]"
        causes.check_format(name, attribute_name_problems, where)
        if len(value) != 1:
            causes.invalid(where, value, "exactly one value must be specified")
    for name in device.get("capacity") or ():
        causes.check_format(name, attribute_name_problems, f"{path}.capacity[{name}]")
    for index, taint in enumerate(device.get("taints") or ()):
        _check_taint(taint, f"{path}.taints[{index}]", causes)
    _check_conditions(device, path, causes)
    placed = [field for field in ("nodeName", "nodeSelector", "allNodes") if device.get(field)]
    if selects and len(placed) != 1:
        causes.required(path, "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
                        "`perDeviceNodeSelection` is set to true in the ResourceSlice")  # fmt: skip
    if not selects:
        for field in placed:
            causes.invalid(f"{path}.{field}", device[field], "can only be set when `perDeviceNodeSelection` is set to "
                           "true in the ResourceSlice")  # fmt: skip


def _check_conditions(device: Obj, path: str, causes: Causes) -> None:
    """Binding conditions come with those for failures, and have other names."""
    ready, failed = device.get("bindingConditions") or (), device.get("bindingFailureConditions") or ()
    for field, conditions in (("bindingConditions", ready), ("bindingFailureConditions", failed)):
        too_many(causes, f"{path}.{field}", len(conditions), MOST_BINDING_CONDITIONS)
        for index, each in enumerate(conditions):
            causes.check_format(each, qualified_name_problems, f"{path}.{field}[{index}]")
    if ready and not failed:
        causes.required(f"{path}.bindingFailureConditions", "bindingFailureConditions are required to use "
                        "bindingConditions")  # fmt: skip
    if failed and not ready:
        causes.required(f"{path}.bindingConditions", "bindingConditions are required to use "
                        "bindingFailureConditions")  # fmt: skip
