"""What to write next about a ResourceClaim, given how it was read. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from vsched.api.devices import FINALIZER, ConsumerFields, DeviceStatusFields
from vsched.mirror.state.resource_versions import SeenObject
from vsched.model.claims.devices import MOST_CONSUMERS, POD_GROUPS, ClaimConsumer, DeviceClaim
from vsched.writes.claims import words
from vsched.writes.claims.allocation import ClassConfigs, allocation_fields, is_same
from vsched.writes.claims.objects import DeviceClaimRead
from vsched.writes.claims.patches import opening, patch, trouble
from vsched.writes.claims.steps import DONE, Failed, Send, Step, Wait
from vsched.writes.claims.wishes import ClaimedDevices

KIND = "ResourceClaim"


def reserve(found: DeviceClaimRead | None, wish: ClaimedDevices, configs: ClassConfigs, now: float) -> Step:
    """Give a claim its devices and reserve it for its consumers: first the finalizer, then the status in one write."""
    why = trouble(found, KIND, wish.key, wish.uid)
    if found is None or why:
        return Failed(why)
    allocation = found.allocation
    if allocation is not None and not is_same(allocation, wish.allocation):
        return Failed(words.other_devices(KIND, wish.key))
    if allocation is None and not wish.allocate:
        return Failed(words.no_devices_any_more(KIND, wish.key))
    missing = _missing(found, wish)
    if allocation is not None and not missing:
        return DONE
    if len(found.consumers) + len(missing) > MOST_CONSUMERS:
        reserved = words.reserved_for_most(len(found.consumers), MOST_CONSUMERS)
        return Failed(f"{KIND} {wish.key} {reserved}")
    status: dict[str, Any] = {"reservedFor": [*found.consumers, *map(_consumer, missing)]}
    if allocation is None and wish.allocation is not None:
        if not found.is_protected:
            return patch(found, {}, metadata={"finalizers": [*(found.metadata.finalizers or ()), FINALIZER]})
        status["allocation"] = allocation_fields(wish.allocation, found.spec, configs, now)
    return _status(found, status)


def protect(watched: SeenObject[DeviceClaim] | None, wish: ClaimedDevices) -> Send | None:
    """The first write for a claim that is to get devices, by what the mirror shows; None where it has to be read."""
    if watched is None or not wish.allocate or not wish.uid:
        return None
    claim = watched.found
    if claim.uid != wish.uid or claim.deleting or claim.allocation is not None or claim.consumers or claim.protected:
        return None
    metadata = {"finalizers": [FINALIZER]}
    return opening(DeviceClaimRead, wish.key, wish.uid, watched.resource_version, metadata)


def _missing(found: DeviceClaimRead, wish: ClaimedDevices) -> list[ClaimConsumer]:
    """Those that a claim is not reserved for yet; what is reserved for a PodGroup is for its pods."""
    for_group = any(each.resource == POD_GROUPS and each.name == wish.group for each in found.consumers)
    reserved = {each.uid for each in found.consumers}
    return [one for one in wish.consumers if one.uid not in reserved and (one.resource == POD_GROUPS or not for_group)]


def _consumer(pod: ClaimConsumer) -> ConsumerFields:
    return ConsumerFields(resource=pod.resource, name=pod.name, uid=pod.uid, api_group=pod.group or None)


def _status(found: DeviceClaimRead, status: dict[str, Any]) -> Send:
    return patch(found, {"status": msgspec.to_builtins(status)}, "status")


def ready(found: DeviceClaimRead | None, wish: ClaimedDevices) -> Step:
    """Whether every binding condition of the claim's devices is true, and none that means failure is."""
    why = trouble(found, KIND, wish.key, wish.uid)
    if found is None or why:
        return Failed(why)
    allocation = found.allocation
    if allocation is None:
        return Failed(words.no_devices_any_more(KIND, wish.key))
    said = {each.identity: _true(each) for each in (found.status and found.status.devices) or ()}
    waits = []
    for result in allocation.results:
        about, true = f"device {result.device} of {KIND} {wish.key}", said.get(result.identity, set())
        for condition in result.binding_failure_conditions or ():
            if condition in true:
                return Failed(words.device_cannot_be_made_ready(about, condition))
        waits += [
            words.device_is_not_ready(about, each) for each in result.binding_conditions or () if each not in true
        ]
    return Wait(waits[0]) if waits else DONE


def _true(status: DeviceStatusFields) -> set[str]:
    return {each.type for each in status.conditions or () if each.status == "True"}


def give_back(found: DeviceClaimRead | None, uid: str, leaves: Callable[[ConsumerFields], bool]) -> Step:
    """End the reservations for those that leave; with the last one the devices go, and then the finalizer."""
    if found is None or (uid and found.metadata.uid != uid):
        return DONE
    staying = [each for each in found.consumers if not leaves(each)]
    if staying:
        return DONE if len(staying) == len(found.consumers) else _status(found, {"reservedFor": staying})
    if found.allocation is not None or found.consumers:
        return _status(found, {"allocation": None, "reservedFor": None, "devices": None})
    if found.is_protected:
        kept = [each for each in found.metadata.finalizers or () if each != FINALIZER]
        return patch(found, {}, metadata={"finalizers": kept or None})
    return DONE
