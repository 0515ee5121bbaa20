"""The uuids by which a published device is known elsewhere, as to device plugins."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.model.claims.devices import Device

NAMES = ("uuid", "parentUUID")
"""Attributes of drivers: the uuid of the device, and that of the device of which it is a partition."""


def uuids_of(device: Device) -> Iterator[str]:
    """The uuids of a device, and of the one that it is a partition of; none where its driver does not say them."""
    for name, value in device.model.attributes:
        if name.rpartition("/")[2] in NAMES and isinstance(value, str):
            yield value
