"""What users read of device claims: kube-scheduler's words where it has some."""

from __future__ import annotations

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.kernels.devices.matching import STEPS_MAX, UnansweredSelector
from vsched.kernels.devices.search import MOST_RESULTS
from vsched.model.claims.devices import AllocatedDevice, DeviceClaim, DeviceRequest
from vsched.model.pods.task import Task

TIMED_OUT = "timed out trying to allocate devices"
IN_USE = "resourceclaim in use"
REASON = "ResourceClaim"
"""The reason of refusals, for programs."""


def refused(message: str, claim: str = "") -> Refusal:
    """The refusal of a task because of a claim."""
    return Refusal(REASON, message, code=Code.CLAIM, subject=claim)


def not_made(task: Task) -> Refusal:
    """The claim of a template is not there yet."""
    return refused(f'pod "{task.key}": ResourceClaim not created yet')


def not_found(key: str) -> Refusal:
    """The pod names a claim that does not exist."""
    return refused(f"ResourceClaim {_name(key)} does not exist", key)


def deleting(claim: DeviceClaim) -> Refusal:
    """The claim is being deleted."""
    return refused(f"ResourceClaim {_name(claim.key)} is being deleted", claim.key)


def not_owner(claim: DeviceClaim, task: Task) -> Refusal:
    """A claim of that name was made for another pod."""
    return refused(f"ResourceClaim {claim.key} was not created for pod {task.key} (pod is not owner)", claim.key)


def binding_failed(claim: DeviceClaim) -> Refusal:
    """A device of the claim reports that it cannot be used."""
    return refused(f"resourceclaim {claim.key}: device binding failed: {claim.failed}", claim.key)


def device_gone(claim: DeviceClaim, lost: AllocatedDevice) -> Refusal:
    """A device of the claim is in no slice any more."""
    name = lost.device.path
    return refused(f"resourceclaim {claim.key}: its device {name} no longer exists", claim.key)


def device_tainted(claim: DeviceClaim, tainted: AllocatedDevice) -> Refusal:
    """A device of the claim got a taint that makes pods leave it."""
    name = tainted.device.path
    return refused(
        f"resourceclaim {claim.key}: its device {name} has a taint that the claim does not tolerate", claim.key
    )


def class_missing(request: DeviceRequest) -> str:
    """The class of a request does not exist."""
    return f"asks for DeviceClass {request.device_class}, which does not exist"


def selector_failed(request: DeviceRequest, failure: UnansweredSelector, of_class: int) -> str:
    """A selector has no answer; ``of_class`` is the number of selectors of the class, which come first."""
    if failure.selector < of_class:
        where, number = f"class {request.device_class}", failure.selector
    else:
        where, number = f"request {request.name}", failure.selector - of_class
    return f"{where}: selector #{number}: CEL {'runtime' if failure.compiles else 'compile'} error: {failure.message}"


TOO_COSTLY = f"evaluating its selectors takes more than {STEPS_MAX:,} steps with these devices"
"""Nobody else's pods wait for them."""


def too_many(number: int) -> str:
    """A claim asks for more devices than one can have."""
    return f"number of requested devices {number} exceeds the claim limit of {MOST_RESULTS}"


def _name(key: str) -> str:
    return key.rpartition("/")[2]
