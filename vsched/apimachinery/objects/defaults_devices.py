"""The defaults of ResourceClaims, their templates, ResourceSlices and DeviceTaintRules."""

from __future__ import annotations

from vsched.apimachinery.meta.kinds import Obj


def default_claim(obj: Obj) -> Obj:
    spec = _claim_spec(obj.get("spec") or {})
    return {**obj, "spec": spec}


def default_claim_template(obj: Obj) -> Obj:
    spec = obj.get("spec") or {}
    return {**obj, "spec": {**spec, "spec": _claim_spec(spec.get("spec") or {})}}


def _claim_spec(spec: Obj) -> Obj:
    devices = spec.get("devices") or {}
    if not devices.get("requests"):
        return spec
    return {**spec, "devices": {**devices, "requests": [_request(each) for each in devices["requests"]]}}


def _request(request: Obj) -> Obj:
    if request.get("exactly") is not None:
        return {**request, "exactly": _exact(request["exactly"])}
    if request.get("firstAvailable"):
        return {**request, "firstAvailable": [_exact(each) for each in request["firstAvailable"]]}
    return request


def _exact(request: Obj) -> Obj:
    """One device, unless the request says how many."""
    filled = {**request, "allocationMode": request.get("allocationMode") or "ExactCount"}
    if filled["allocationMode"] == "ExactCount" and not filled.get("count"):
        filled["count"] = 1
    if filled.get("tolerations"):
        filled["tolerations"] = [{"operator": "Equal", **each} for each in filled["tolerations"]]
    return filled


def default_slice(obj: Obj) -> Obj:
    """Taints begin when the slice was made, unless they say otherwise."""
    spec, created = obj.get("spec") or {}, obj["metadata"].get("creationTimestamp")
    devices = spec.get("devices") or ()
    if not created or not any("timeAdded" not in taint for each in devices for taint in each.get("taints") or ()):
        return obj
    return {**obj, "spec": {**spec, "devices": [_since(each, created) for each in devices]}}


def default_taint_rule(obj: Obj) -> Obj:
    """The taint begins when the rule was made, unless it says otherwise."""
    spec, created = obj.get("spec") or {}, obj["metadata"].get("creationTimestamp")
    if not created or not spec.get("taint"):
        return obj
    return {**obj, "spec": {**spec, "taint": {"timeAdded": created, **spec["taint"]}}}


def _since(device: Obj, created: str) -> Obj:
    if not device.get("taints"):
        return device
    return {**device, "taints": [{**taint, "timeAdded": taint.get("timeAdded", created)} for taint in device["taints"]]}
