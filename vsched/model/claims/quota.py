"""Amounts of devices in queues: ``deviceclass/CLASS`` and ``DIMENSION.deviceclass/CLASS``, and what claims count."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from vsched.model.claims.devices import EXACT_COUNT, ClaimSpec

PREFIX = "deviceclass/"


class DeviceAmount(NamedTuple):
    """What an amount in a queue counts."""

    device_class: str
    dimension: str = ""
    """The capacity of devices that is counted (``cores``); empty where devices are counted."""

    def __str__(self) -> str:
        """The name in the queue."""
        return f"{self.dimension}.{PREFIX}{self.device_class}" if self.dimension else PREFIX + self.device_class


def device_amount(name: str) -> DeviceAmount | None:
    """The meaning of a resource name in a queue; None for other resources."""
    dimension, found, device_class = name.partition(PREFIX)
    if not found or not device_class:
        return None
    if not dimension:
        return DeviceAmount(device_class)
    return DeviceAmount(device_class, dimension[:-1]) if dimension.endswith(".") and dimension != "." else None


@lru_cache(maxsize=4096)
def demand_of(spec: ClaimSpec) -> tuple[tuple[DeviceAmount, int], ...]:
    """What a claim counts in its queue, in thousandths.

    Only requests for an exact number of devices count, because what ``firstAvailable`` and ``All`` get is not known
    before.
    """
    found: dict[DeviceAmount, int] = {}
    for alternatives in spec.requests:
        request = alternatives[0]
        if len(alternatives) > 1 or "/" in request.name or request.mode != EXACT_COUNT:
            continue
        _add(found, DeviceAmount(request.device_class), 1000 * request.count)
        for name, amount in request.capacity:
            _add(found, DeviceAmount(request.device_class, name.rpartition("/")[2]), amount * request.count)
    return tuple(sorted(found.items()))


def _add(found: dict[DeviceAmount, int], key: DeviceAmount, amount: int) -> None:
    found[key] = found.get(key, 0) + amount
