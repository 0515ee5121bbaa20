"""What is said of the claims of pods: what they ask for, and what has become of them."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.words.lists import counted

# -- claims that do not exist or cannot be met -------------------------------------------------------------------------

DOES_NOT_EXIST = "does not exist"


def not_free_together(kind: str, name: str, asked: str) -> str:
    return f"{kind} {name} asks for {asked}; no node has these free together"


def did_you_mean(kind: str, name: str) -> str:
    return f"did you mean {kind} {name}?"


def do_not_exist(claims: str) -> str:
    return f"{claims} do not exist"


# -- devices -----------------------------------------------------------------------------------------------------------


def of_class(number: str, device_class: str) -> str:
    return f"{number} of class {device_class}"


def and_of_each(amounts: str) -> str:
    return f"and {amounts} of each"


def not_made_from_template(template: str) -> str:
    return f"is not made yet from ResourceClaimTemplate {template}"


BEING_DELETED = "is being deleted"


def asks_for_lost_class(device_class: str) -> str:
    return f"asks for DeviceClass {device_class}, which does not exist"


NO_DEVICES_YET = "has no devices yet"


def devices_failed(has: str, condition: str) -> str:
    return f"{has}; their condition {condition} says that they cannot be used"


def being_prepared(has: str) -> str:
    return f"{has}; they are being prepared"


def has_devices(number: int, where: str, names: str) -> str:
    return f"has {counted(number, 'device', 'devices')}{f' {where}' if where else ''}: {names}"


def reserved_for_most(has: str, pods: int) -> str:
    return f"{has}; reserved for {pods} pods, the maximum"


def reserved_for(has: str, users: str) -> str:
    return f"{has}; reserved for {users}"


def fewer_in_all(asked: str, matching: int) -> str:
    return f"its pods ask for {asked} together, and there are {matching} in all"


def fewer_free(asked: str, free: int, matching: int) -> str:
    return f"its pods ask for {asked} together, {free} are free ({matching} in all)"


SLICES_MISSING = "some of its slices do not exist yet"


def pool_cannot_be_used(pool: str, driver: str, why: str) -> str:
    return f"pool {pool} of {driver} cannot be used: {why}"


def not_tolerated(devices: int, taints: Sequence[str], *, more: bool) -> str:
    """``; 2 more have the taint example.com/burn-in=yes:NoSchedule, which the claim does not tolerate``."""
    if more:
        who = f"{devices} more {'have' if devices > 1 else 'has'}"
    else:
        who = f"{devices} match, but have" if devices > 1 else "1 matches, but has"
    tainted = f"the taint {taints[0]}" if len(taints) == 1 else f"taints, as {taints[0]}"
    return f"; {who} {tainted}, which the claim does not tolerate"


def no_device_matches(asked: str) -> str:
    return f"{asked} asked, and no device matches"


def no_node_has_more(asked: str, most: int, matching: int) -> str:
    return f"{asked} asked, and no node has more than {most} ({matching} in all)"


def free_on_one_node(most: int, asked: str, free: int, matching: int) -> str:
    return f"{most} of {asked} are free on any one node ({free} of {matching} in all)"


def devices_of(requests: str) -> str:
    return f"devices of {requests}"


# -- places ------------------------------------------------------------------------------------------------------------


def or_other_places(more: int) -> str:
    return f" or {more} other places"


def in_zone(zones: str) -> str:
    return f"in zone {zones}"


def in_region(regions: str) -> str:
    return f"in region {regions}"


def on_node(nodes: str) -> str:
    return f"on node {nodes}"


def where_not(label: str, values: str) -> str:
    return f"where {label} is not {values}"


# -- volumes -----------------------------------------------------------------------------------------------------------


def of_storage_class(name: str) -> str:
    return f" of class {name}"


NOT_MADE_YET = "is not made yet"
NOT_MADE_FOR_ITS_PODGROUP = "was not made for its PodGroup"
NOT_MADE_FOR_THIS_POD = "was not made for this pod"
VOLUME_LOST = "is lost: its volume is gone"


def volume_chosen(volume: str) -> str:
    return f"PersistentVolume {volume} is chosen but not bound yet"


def volume_being_made(node: str) -> str:
    return f"a volume is being made for node {node}"


def bound_to_lost_volume(volume: str) -> str:
    return f"is bound to PersistentVolume {volume}, which does not exist"


def bound_to(volume: str, where: str) -> str:
    return f"is bound to PersistentVolume {volume}{f', usable {where}' if where else ''}"


NO_VOLUME_WITHOUT_CLASS = "is not bound: it names no storage class and no volume without a class is free"


def lost_storage_class(name: str) -> str:
    return f"cannot be bound: StorageClass {name} does not exist"


def bound_before_placing(name: str) -> str:
    return f"is not bound: the volume controller binds claims of class {name} before pods are placed"


def free_volumes(number: int, *, large: bool) -> str:
    """``large`` says that these are the large ones of all that are free."""
    are = counted(number, "volume of its class is", "volumes of its class are")
    return f"{are} free{' and large enough' if large else ''}"


def gets_volume(free: str) -> str:
    return f"gets a volume with the pod's node: {free}"


def gets_new_volume(where: str, free: str) -> str:
    made = f"can be made {where}" if where else "can be made"
    return f"gets a volume with the pod's node: one {made}" + (f", {free}" if free else "")
