"""What users read of device claims: kube-scheduler's words where it has some."""

from __future__ import annotations

TIMED_OUT = "timed out trying to allocate devices"
IN_USE = "resourceclaim in use"

# -- a claim that nobody can use as it is -------------------------------------------------------------------------


def not_made(pod: str) -> str:
    """The claim of a template is not there yet."""
    return f'pod "{pod}": ResourceClaim not created yet'


def not_found(claim: str) -> str:
    """The pod names a claim that does not exist."""
    return f"ResourceClaim {claim} does not exist"


def deleting(claim: str) -> str:
    """The claim is being deleted."""
    return f"ResourceClaim {claim} is being deleted"


def not_owner(claim: str, pod: str) -> str:
    """A claim of that name was made for another pod; both with their namespace."""
    return f"ResourceClaim {claim} was not created for pod {pod} (pod is not owner)"


# -- its devices; claims with their namespace ---------------------------------------------------------------------


def binding_failed(claim: str, why: str) -> str:
    """A device of the claim reports that it cannot be used."""
    return f"resourceclaim {claim}: device binding failed: {why}"


def device_gone(claim: str, device: str) -> str:
    """A device of the claim is in no slice any more."""
    return f"resourceclaim {claim}: its device {device} no longer exists"


def device_tainted(claim: str, device: str) -> str:
    """A device of the claim got a taint that makes pods leave it."""
    return f"resourceclaim {claim}: its device {device} has a taint that the claim does not tolerate"


# -- what it asks for ---------------------------------------------------------------------------------------------


def class_missing(name: str) -> str:
    """The class of a request does not exist."""
    return f"asks for DeviceClass {name}, which does not exist"


def selector_failed(where: str, number: int, message: str, *, compiles: bool) -> str:
    """A selector (counted from 0) of a class or of a request has no answer."""
    return f"{where}: selector #{number}: CEL {'runtime' if compiles else 'compile'} error: {message}"


def of_class(name: str) -> str:
    """Whose selector it is."""
    return f"class {name}"


def of_request(name: str) -> str:
    """The same."""
    return f"request {name}"


def too_costly(steps: int) -> str:
    """Nobody else's pods wait for them."""
    return f"evaluating its selectors takes more than {steps:,} steps with these devices"


def too_many(number: int, most: int) -> str:
    """A claim asks for more devices than one can have."""
    return f"number of requested devices {number} exceeds the claim limit of {most}"
