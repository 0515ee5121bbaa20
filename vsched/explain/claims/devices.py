"""Puts resource claims into words: what they ask for, and what has become of them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from vsched.explain.claims import words
from vsched.explain.claims.places import places
from vsched.explain.claims.selectors import in_words
from vsched.framework.claims.devices.shortages import DeviceShortage
from vsched.framework.words.lists import counted
from vsched.model.amounts.quantity import format_bytes, format_milli
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import (
    ALL,
    MOST_CONSUMERS,
    POD_GROUPS,
    AllocationResult,
    ClaimSpec,
    DeviceClaim,
    DeviceConstraint,
    DevicePool,
    DeviceRequest,
    Quantities,
)
from vsched.model.pods.claims import PodDevices
from vsched.model.pods.task import Task

NAMED_MAX = 3
"""A phrase names at most this many devices, and counts the others."""
POOLS_MAX = 2
"""A phrase names at most this many pools that cannot be used."""


def claim_of(task: Task, entry: PodDevices, found: DeviceCatalogue) -> DeviceClaim | None:
    """The claim of an entry; None where it does not exist, or is not made yet."""
    return found.claims.get(entry.claim) if entry.claim else None


def asks(spec: ClaimSpec) -> str:
    """``2 of class gpu with model h100, memory ≥ 80Gi; all with the same numa``."""
    requests = (" else ".join(map(request, alternatives)) for alternatives in spec.requests)
    return "; ".join((*requests, *map(_constraint, spec.constraints)))


def request(one: DeviceRequest) -> str:
    """``2 of class gpu with model h100``."""
    number = "all" if one.mode == ALL else str(one.count)
    selected = ", ".join(in_words(selector.expression) for selector in one.selectors)
    parts = [words.of_class(number, one.device_class), *([f"with {selected}"] if selected else [])]
    if one.capacity:
        parts.append(words.and_of_each(_amounts(one.capacity)))
    return " ".join(parts) + (" (admin access)" if one.admin else "")


def state(task: Task, entry: PodDevices, claim: DeviceClaim | None, found: DeviceCatalogue) -> tuple[str, bool]:
    """What has become of the claim, and whether the pod can use it somewhere."""
    if claim is None:
        of_template = words.not_made_from_template(entry.template)
        return (of_template if entry.template and not entry.claim else words.DOES_NOT_EXIST), False
    if claim.deleting:
        return words.BEING_DELETED, False
    if entry.template and claim.owner != (entry.group or task.uid):
        return words.NOT_MADE_FOR_ITS_PODGROUP if entry.group else words.NOT_MADE_FOR_THIS_POD, False
    missing = sorted({one.device_class for one in _requests(claim.spec)} - found.classes.keys())
    if missing and claim.allocation is None:
        return words.asks_for_lost_class(missing[0]), False
    if claim.allocation is None:
        return words.NO_DEVICES_YET, True
    return _allocated(entry.group or task.uid, claim, claim.allocation)


def is_lasting(entry: PodDevices, claim: DeviceClaim | None, found: DeviceCatalogue) -> bool:
    """Whether a claim that cannot be used stays so until somebody makes or changes an object."""
    if claim is None:
        return not entry.template
    classes = {one.device_class for one in _requests(claim.spec)}
    return claim.allocation is None and not classes <= found.classes.keys()


def _allocated(consumer: str, claim: DeviceClaim, allocation: AllocationResult) -> tuple[str, bool]:
    where = places(allocation.nodes)
    devices = [one.device for one in allocation.devices]
    names = ", ".join(f"{one.pool}/{one.device}" for one in devices[:NAMED_MAX])
    names += f" and {len(devices) - NAMED_MAX} more" if len(devices) > NAMED_MAX else ""
    has = words.has_devices(len(devices), where, names)
    if claim.failed:
        return words.devices_failed(has, claim.failed), False
    if not claim.ready:
        return words.being_prepared(has), True
    mine = any(one.uid == consumer for one in claim.consumers)
    if not mine and len(claim.consumers) >= MOST_CONSUMERS:
        return words.reserved_for_most(has, len(claim.consumers)), False
    groups = sum(one.resource == POD_GROUPS for one in claim.consumers)
    counts = (len(claim.consumers) - groups, "pod", "pods"), (groups, "PodGroup", "PodGroups")
    users = " and ".join(counted(*each) for each in counts if each[0])
    return (words.reserved_for(has, users) if claim.consumers else has), True


def missing(short: DeviceShortage) -> str:
    """``3 of 8 of class gpu with model h100 are free on any one node (12 of 96 in all)``."""
    return _figures(short) + _kept_off(short) + "".join(f"; {_held_back(pool)}" for pool in short.unusable[:POOLS_MAX])


def missing_together(short: DeviceShortage) -> str:
    """``its pods ask for 6 of class gpu together, 4 are free (8 in all)``."""
    what = request(replace(short.request, count=short.needed))
    if short.matching < short.needed:
        return words.fewer_in_all(what, short.matching) + _kept_off(short)
    return words.fewer_free(what, short.free, short.matching) + _kept_off(short)


def _held_back(pool: DevicePool) -> str:
    why = pool.problem or words.SLICES_MISSING
    return words.pool_cannot_be_used(pool.name, pool.driver, why)


def _kept_off(short: DeviceShortage) -> str:
    """``; 2 more have the taint example.com/burn-in=yes:NoSchedule, which the claim does not tolerate``."""
    if not short.untolerated:
        return ""
    taints = [one.text for one in dict.fromkeys(short.untolerated)]
    return words.not_tolerated(len(short.untolerated), taints, more=bool(short.matching))


def _figures(short: DeviceShortage) -> str:
    what = request(replace(short.request, count=short.needed))
    if not short.matching and short.untolerated:
        return f"{what} asked"
    if not short.matching:
        return words.no_device_matches(what)
    if short.largest < short.needed:
        return words.no_node_has_more(what, short.largest, short.matching)
    return words.free_on_one_node(short.most, what, short.free, short.matching)


def _requests(spec: ClaimSpec) -> Iterable[DeviceRequest]:
    return (one for alternatives in spec.requests for one in alternatives)


def _constraint(one: DeviceConstraint) -> str:
    attribute = one.attribute.rpartition("/")[2]
    of = words.devices_of(", ".join(one.requests)) if one.requests else "all devices"
    return f"{of} with {'different' if one.distinct else 'the same'} {attribute}"


def _amounts(amounts: Quantities) -> str:
    """``memory 10Gi``; amounts are in thousandths."""
    return ", ".join(
        f"{name.rpartition('/')[2]} {format_milli(amount) if amount % 1000 else format_bytes(amount // 1000)}"
        for name, amount in amounts
    )
