"""ProvisioningRequests: what they ask for, and the conditions that the autoscaler gives them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import condition, is_true, seconds_since, with_condition

REQUESTS = "autoscaling.x-k8s.io/provisioningrequests"
CHECK_CAPACITY = "check-capacity.autoscaling.x-k8s.io"
ATOMIC_SCALE_UP = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
CLASSES = (CHECK_CAPACITY, ATOMIC_SCALE_UP)
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
"""The annotation of pods that use what a request provisioned; no other nodes are added for them."""
BOOKING_SECONDS = 600.0
"""How long what was provisioned is kept for the pods of the request."""
VALID_UNTIL = "ValidUntilSeconds"
VALID_SECONDS = 7 * 86_400.0
"""How long a request may wait for capacity where it does not say."""

Conditions = tuple[tuple[str, str, str, str], ...]
"""Type, status, reason and message of each."""


def is_over(request: Obj) -> bool:
    """Whether nothing is kept for it and nothing is to be done."""
    return any(is_true(request, kind) for kind in ("Failed", "BookingExpired", "CapacityRevoked"))


def is_ours(request: Obj) -> bool:
    """Whether the autoscaler knows its class."""
    return request["spec"].get("provisioningClassName") in CLASSES


def is_provisioned(request: Obj) -> bool:
    """Whether its nodes are there."""
    return is_true(request, "Provisioned")


def booked_for(request: Obj, now: datetime) -> float:
    """How much longer its nodes are kept for it, seconds."""
    since = (condition(request, "Provisioned") or {}).get("lastTransitionTime")
    return BOOKING_SECONDS - seconds_since(since, now)


def is_late(request: Obj, now: datetime) -> bool:
    """Whether it has waited for as long as it may."""
    said = str((request["spec"].get("parameters") or {}).get(VALID_UNTIL, ""))
    allowed = float(said) if said.isdecimal() else VALID_SECONDS
    return seconds_since(request["metadata"].get("creationTimestamp"), now) > allowed


def pods_of(request: Obj, template: Callable[[str], Obj | None]) -> list[Obj] | str:
    """The specs of its pods; or which PodTemplate is missing."""
    specs: list[Obj] = []
    for pod_set in request["spec"].get("podSets") or ():
        name = pod_set["podTemplateRef"]["name"]
        found = template(name)
        if found is None:
            return f"PodTemplate {name} does not exist"
        specs += [found.get("template", {}).get("spec") or {}] * int(pod_set["count"])
    return specs


def status_with(request: Obj, conditions: Conditions, now: datetime) -> Obj:
    """The status with these conditions in place of those of the same type."""
    status = request.get("status") or {}
    found = status.get("conditions")
    for kind, value, reason, message in conditions:
        found = with_condition(found, {"type": kind, "status": value, "reason": reason, "message": message}, now)
    return {**status, "conditions": found}


ACCEPTED = ("Accepted", "True", "Accepted", "the autoscaler takes the request on")
WAITING = ("Provisioned", "False", "CapacityIsNotProvisioned", "the nodes are not there yet")
NOT_FOUND = ("Provisioned", "False", "CapacityIsNotFound", "there is no room for it; the autoscaler looks again")
PROVISIONED = ("Provisioned", "True", "CapacityIsProvisioned", "the nodes are there")
EXPIRED = ("BookingExpired", "True", "BookingExpired", "the nodes are not kept for it any more")


def failed(message: str, reason: str = "CapacityIsNotFound") -> Conditions:
    """The conditions of a request that comes to nothing."""
    return (("Provisioned", "False", reason, message), ("Failed", "True", reason, message))
