"""What is said where claims cannot be written as they were planned."""

from __future__ import annotations

# -- devices -----------------------------------------------------------------------------------------------------------


def other_devices(kind: str, claim: str) -> str:
    return f"{kind} {claim} was given other devices in the meantime"


def no_devices_any_more(kind: str, claim: str) -> str:
    return f"{kind} {claim} has no devices any more"


def reserved_for_most(pods: int, most: int) -> str:
    return f"is reserved for {pods} of at most {most} pods"


def device_cannot_be_made_ready(device: str, condition: str) -> str:
    return f"{device} cannot be made ready: {condition}"


def device_is_not_ready(device: str, condition: str) -> str:
    return f"{device} is not ready: {condition}"


# -- extended resources ------------------------------------------------------------------------------------------------


def no_class_serves(resource: str) -> str:
    return f"no DeviceClass serves {resource} any more"


def asks_for_other_devices(pod: str) -> str:
    return f"pod {pod} asks for other devices than those that were chosen"


def belongs_to_another(kind: str, name: str) -> str:
    return f"{kind} {name} belongs to another object"


def is_being_deleted(kind: str, name: str) -> str:
    return f"{kind} {name} is being deleted"


# -- what is gone ------------------------------------------------------------------------------------------------------


def node_is_gone(node: str) -> str:
    return f"node {node} is gone"


def pod_was_deleted(pod: str) -> str:
    return f"pod {pod} was deleted"


def does_not_exist_any_more(kind: str, name: str) -> str:
    return f"{kind} {name} does not exist any more"


def deleted_and_made_again(kind: str, name: str) -> str:
    return f"{kind} {name} was deleted and made again"


# -- reservations ------------------------------------------------------------------------------------------------------


def made_for_no_pod(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name} was made for no pod"


def no_class_any_more(name: str) -> str:
    return f"DeviceClass {name} does not exist any more"


def changed_before_binding(kind: str, claim: str) -> str:
    return f"{kind} {claim} was changed before its pods were bound"


def not_bound_any_more(kind: str, claim: str) -> str:
    return f"{kind} {claim} is not bound any more"


# -- writes ------------------------------------------------------------------------------------------------------------

WRITTEN = "written: what is written does not last"


def could_not_be(kind: str, name: str, what: str) -> str:
    return f"{kind} {name} could not be {what}"


def answer_cannot_be_read(path: str, why: Exception) -> str:
    return f"GET {path}: the answer cannot be read: {why}"


# -- whole gangs -------------------------------------------------------------------------------------------------------

TOO_MANY_GANGS = "too many gangs are being bound"


def claims_left_unchanged(job: str) -> str:
    return f"the claims of {job} are left unchanged"


def claims_cannot_be_written(why: str) -> str:
    return f"its claims cannot be written: {why}"


ANOTHER_DECIDES = "another daemon decides"


# -- volumes -----------------------------------------------------------------------------------------------------------


def volume_being_made(kind: str, claim: str, node: str) -> str:
    return f"a volume for {kind} {claim} is being made on node {node}"


def was_not_bound(kind: str, claim: str) -> str:
    return f"{kind} {claim} was not bound"


def volume_reserved_for(kind: str, volume: str, namespace: str, claim: str) -> str:
    return f"{kind} {volume} is reserved for {namespace}/{claim}"


def volume_cannot_be_used(kind: str, volume: str, phase: str) -> str:
    return f"{kind} {volume} cannot be used any more: it is {phase}"


def lost_its_volume(kind: str, claim: str) -> str:
    return f"{kind} {claim} lost its volume"


def bound_to_another_volume(kind: str, claim: str, volume: str, chosen: str) -> str:
    return f"{kind} {claim} was bound to volume {volume} instead of {chosen}"


def no_volume_could_be_made(kind: str, claim: str, node: str) -> str:
    return f"no volume could be made for {kind} {claim} on node {node}"


def volume_not_on_node(kind: str, volume: str, node: str) -> str:
    return f"{kind} {volume} cannot be used on node {node}"
