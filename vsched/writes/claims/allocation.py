"""An allocation as the API server has it: made from a decision, and compared with what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import asdict, astuple

from vsched.api.devices import AllocationFields
from vsched.kube.times import time_stamp
from vsched.model.amounts.quantity import format_milli
from vsched.model.claims.devices import AllocatedDevice, AllocationResult
from vsched.model.pods.shape import NodeTerm, Requirement
from vsched.writes.claims.objects import ConfigRead, DeviceClaimSpecRead

ClassConfigs = Mapping[str, list[ConfigRead]]
"""``config`` of DeviceClasses, by name."""


def allocation_fields(
    allocation: AllocationResult, spec: DeviceClaimSpecRead, configs: ClassConfigs, now: float
) -> dict[str, Any]:
    """``status.allocation`` of a claim."""
    tolerations = {name: request.tolerations for name, request in spec.requests()}
    results = [_result(each, tolerations.get(each.request)) for each in allocation.devices]
    devices: dict[str, Any] = {"results": results}
    used = list(dict.fromkeys(each.request for each in allocation.devices))
    config = [*_class_configs(spec, configs, used), *_claim_configs(spec, used)]
    if config:
        devices["config"] = config
    found: dict[str, Any] = {"devices": devices, "allocationTimestamp": time_stamp(now)}
    if allocation.nodes is not None:
        found["nodeSelector"] = {"nodeSelectorTerms": [_term(term) for term in allocation.nodes]}
    return found


def _result(device: AllocatedDevice, tolerations: list[Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {"request": device.request, **asdict(device.device)}
    if device.admin:
        found["adminAccess"] = True
    if tolerations:
        found["tolerations"] = tolerations
    if device.binding_conditions:
        found["bindingConditions"] = list(device.binding_conditions)
    if device.binding_failures:
        found["bindingFailureConditions"] = list(device.binding_failures)
    if device.share:
        found["shareID"] = device.share
    if device.consumed:
        found["consumedCapacity"] = {name: format_milli(amount) for name, amount in device.consumed}
    return found


def _class_configs(spec: DeviceClaimSpecRead, configs: ClassConfigs, used: list[str]) -> list[dict[str, Any]]:
    """The configuration of each class once, for the requests that got their devices by it."""
    requests: dict[str, list[str]] = {}
    for name, request in spec.requests():
        if name in used:
            requests.setdefault(request.device_class_name, []).append(name)
    return [
        {"source": "FromClass", "requests": names, "opaque": config.opaque}
        for device_class, names in requests.items()
        for config in configs.get(device_class, ())
    ]


def _claim_configs(spec: DeviceClaimSpecRead, used: list[str]) -> Iterable[dict[str, Any]]:
    """The claim's own configuration, without that for alternatives which were not chosen."""
    names = {*used, *(name.partition("/")[0] for name in used)}
    for config in spec.devices.config or ():
        if not config.requests:
            yield {"source": "FromClaim", "opaque": config.opaque}
        elif names.intersection(config.requests):
            yield {"source": "FromClaim", "requests": config.requests, "opaque": config.opaque}


def _term(term: NodeTerm) -> dict[str, Any]:
    found = {}
    if term.expressions:
        found["matchExpressions"] = [_expression(each) for each in term.expressions]
    if term.fields:
        found["matchFields"] = [_expression(each) for each in term.fields]
    return found


def _expression(requirement: Requirement) -> dict[str, Any]:
    values = {"values": list(requirement.values)} if requirement.values else {}
    return {"key": requirement.key, "operator": requirement.operator, **values}


def is_same(read: AllocationFields, decided: AllocationResult | None) -> bool:
    """Whether a claim has the devices that were decided; None is for a decision that named none."""
    if decided is None:
        return True
    has = sorted((result.request, *result.identity) for result in read.results)
    return has == sorted((each.request, *astuple(each.device), each.share) for each in decided.devices)
