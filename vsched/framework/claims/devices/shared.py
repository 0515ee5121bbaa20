"""Published devices that pods share by ``deviceshare``: no claim gets them until these pods have left.

A device plugin may register a device that a driver publishes as well; both know it by its uuid. The plugin
``deviceshare`` gives out no shares of such a device, but pods may have some from before, or by another scheduler.
"""

from __future__ import annotations

from typing import NamedTuple

from vsched.kernels.devices.books import DeviceBooks, Holding
from vsched.kernels.devices.inventory import Inventory
from vsched.model.claims.devices import uuids_of
from vsched.model.deviceshare.records import DevicePod, DeviceShareCatalogue

_KEY = "devices/node,uuid"


class DeviceName(NamedTuple):
    """What a device is known by outside of its pool."""

    node: str
    uuid: str


def occupy_shared(books: DeviceBooks, shares: DeviceShareCatalogue, inventory: Inventory) -> None:
    """Count devices that pods have shares of as in use."""
    if not shares.pods or not len(inventory):
        return
    known: dict[DeviceName, list[int]] = inventory.keep(_KEY, lambda: _numbers(inventory))
    if not known:
        return
    for node, pods in shares.pods.items():
        for pod in pods:
            uses = [_whole(inventory, number) for name in _names(node, pod) for number in known.get(name, ())]
            books.add(uses)
            if pod.leaving:
                books.leave(uses)


def _numbers(inventory: Inventory) -> dict[DeviceName, list[int]]:
    found: dict[DeviceName, list[int]] = {}
    for number, device in enumerate(inventory.devices):
        if device.node:
            for uuid in uuids_of(device):
                found.setdefault(DeviceName(device.node, uuid), []).append(number)
    return found


def _names(node: str, pod: DevicePod) -> list[DeviceName]:
    """The devices that a pod has shares of."""
    uuids = {part.uuid for parts in pod.parts for part in parts}
    return [DeviceName(node, uuid) for uuid in sorted(uuids) if uuid]


def _whole(inventory: Inventory, number: int) -> Holding:
    """A use that leaves nothing of the device, also where several claims may use it."""
    model = inventory.devices[number].model
    return Holding(number, model.capacity if model.shareable else ())
