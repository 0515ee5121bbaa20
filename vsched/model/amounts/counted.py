"""What Consumers, like ResourceQuotas, count: requests, limits and storage, each under one name.

| written | counted as | what counts towards it |
|---|---|---|
| ``cpu``, ``requests.cpu`` (any compute resource) | ``cpu`` | requests of pods that are not finished |
| ``pods`` | ``pods`` | pods that are not finished |
| ``limits.cpu``, ``limits.memory``, ``limits.ephemeral-storage`` | as written | limits of the same pods |
| ``requests.storage`` (or ``storage``) | ``requests.storage`` | what PersistentVolumeClaims ask for |
| ``persistentvolumeclaims`` | as written | PersistentVolumeClaims |
| ``CLASS.storageclass.storage.k8s.io/`` and one of the two above | as written | those of one storage class |

Everything else a quota may name (``services``, ``count/…``) is nothing that could be divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from vsched.model.amounts.quantity import format_bytes, format_milli
from vsched.model.amounts.resources import DEVICE_CAPACITY, format_amount, is_schedulable, parse_scaled, scale_of
from vsched.model.marks import Resource

Counted = Mapping[Resource, int]
"""Base units by counted name; what is not named is nothing, or no limit."""

STORAGE, CLAIMS = "requests.storage", "persistentvolumeclaims"
LIMITS = ("limits.cpu", "limits.memory", "limits.ephemeral-storage")
_OF_CLASS = ".storageclass.storage.k8s.io/"
_REQUESTS = "requests."
_NEVER = ("limits.", "volcano.sh/namespace.")
"""Limits of extended resources are their requests; what quotas say of their namespace is no resource."""

NOTHING: Counted = {}


def counted_name(name: str) -> str:
    """The name a resource is counted under, empty where it cannot be divided."""
    if name in LIMITS or is_storage(name):
        return name
    if name == "storage":
        return STORAGE
    resource = name.removeprefix(_REQUESTS)
    if name == "requests.pods" or name.startswith(_NEVER) or _OF_CLASS in name or not is_schedulable(resource):
        return ""
    return resource


def is_storage(name: str) -> bool:
    """Whether this is counted of PersistentVolumeClaims rather than of pods."""
    owner, of_class, what = name.partition(_OF_CLASS)
    return what in (STORAGE, CLAIMS) and bool(owner) if of_class else name in (STORAGE, CLAIMS)


def of_class(storage_class: str, what: str) -> str:
    """The name under which ``STORAGE`` or ``CLAIMS`` of one storage class are counted."""
    return f"{storage_class}{_OF_CLASS}{what}"


@lru_cache(maxsize=4096)
def counted_scale(name: str) -> int:
    """Base units in one unit: bytes and things count as they are, everything else in thousandths.

    A quota's own word for requests (``requests.memory``) is in the unit of what is requested.
    """
    return 1 if is_storage(name) else scale_of(_resource(name))


def parse_counted(name: str, quantity: object) -> int:
    """One quantity under a counted name in base units; raises BadQuantity naming it."""
    return parse_scaled(name, quantity, counted_scale(name))


def format_counted(name: str, value: int) -> str:
    """Base units under a counted name as a canonical quantity."""
    if DEVICE_CAPACITY in name:
        return format_amount(name, value)
    if counted_scale(name) == 1000:
        return format_milli(value)
    return str(value) if _resource(name) == "pods" or name.endswith(CLAIMS) else format_bytes(value)


def _resource(name: str) -> str:
    """What is requested or limited."""
    return name.removeprefix("limits.").removeprefix(_REQUESTS)


def render_counted(amounts: Counted) -> dict[str, str]:
    """Amounts as a ResourceList, sorted. Zeros are included, because a written zero has a meaning."""
    return {name: format_counted(name, value) for name, value in sorted(amounts.items())}


def lesser(left: Counted, right: Counted) -> Counted:
    """The tighter of two limits, name by name."""
    return {**left, **{name: min(value, left.get(name, value)) for name, value in right.items()}}


def beyond_limit(amounts: Counted, limit: Counted) -> dict[str, int]:
    """By how much more there is than a limit allows."""
    return {name: amounts[name] - most for name, most in limit.items() if amounts.get(name, 0) > most}


def summed(amounts: Iterable[Counted]) -> dict[str, int]:
    """The sum, name by name."""
    total: dict[str, int] = {}
    for each in amounts:
        for name, value in each.items():
            total[name] = total.get(name, 0) + value
    return total
