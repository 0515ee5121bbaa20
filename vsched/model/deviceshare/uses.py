"""Which pods hold parts of which device of a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vsched.model.deviceshare.geometries import KnownGeometries, geometries_of, position_of
from vsched.model.deviceshare.records import DevicePod, DeviceShareCatalogue, HeldPart, NodeDevices, SharedDevice


class DeviceHolder(NamedTuple):
    """A pod that holds parts of one device."""

    pod: str
    """Namespace and name."""
    thousandths: int
    memory: int
    """MiB."""
    leaving: bool


class DeviceUse(NamedTuple):
    """A device, and what of it is held."""

    device: SharedDevice
    holders: tuple[DeviceHolder, ...] = ()
    """By name."""
    parts: int = 0
    """How many parts are held; a pod may hold several, one for each container."""

    @property
    def thousandths(self) -> int:
        """How much of its computing power is held."""
        return sum(one.thousandths for one in self.holders)

    @property
    def memory(self) -> int:
        """How much of its memory is held, in MiB."""
        return sum(one.memory for one in self.holders)


class DeviceSlots:
    """The slots of a node's devices: their positions in the order of their numbers."""

    def __init__(self, found: NodeDevices) -> None:
        self._by_uuid = {device.uuid: slot for slot, device in enumerate(found.devices) if device.uuid}
        self._by_index = {device.index: slot for slot, device in enumerate(found.devices)}

    def find(self, part: HeldPart) -> int | None:
        """The slot of the device that the part is of; None where the node does not register it."""
        if not part.uuid:
            return self._by_index.get(part.index)
        return self._by_uuid.get(part.uuid)


def device_uses(catalogue: DeviceShareCatalogue, node: str) -> list[tuple[NodeDevices, list[DeviceUse]]]:
    """The devices of a node by kind, with who holds parts of them; empty where it registers none."""
    pods = catalogue.pods.get(node, ())
    return [(found, uses_of(found, pods, catalogue.geometries)) for found in catalogue.nodes.get(node, ())]


def uses_of(found: NodeDevices, pods: Iterable[DevicePod], known: KnownGeometries) -> list[DeviceUse]:
    """The devices of one kind on a node, with who holds parts of them; ``pods`` are those on the node.

    Who holds an instance of MIG holds all of its memory.
    """
    slots = DeviceSlots(found)
    held: list[list[DeviceHolder]] = [[] for _ in found.devices]
    counts = [0] * len(found.devices)
    for pod in pods:
        if pod.kind != found.kind:
            continue
        sums: dict[int, tuple[int, int]] = {}
        for part in (part for some in pod.parts for part in some):
            slot = slots.find(part)
            if slot is not None:
                thousandths, memory = sums.get(slot, (0, 0))
                sums[slot] = thousandths + part.thousandths, memory + _memory(part, found.devices[slot], known)
                counts[slot] += 1
        for slot, (thousandths, memory) in sums.items():
            held[slot].append(DeviceHolder(pod.name, thousandths, memory, pod.leaving))
    return [
        DeviceUse(device, tuple(holders), count)
        for device, holders, count in zip(found.devices, held, counts, strict=True)
    ]


def _memory(part: HeldPart, device: SharedDevice, known: KnownGeometries) -> int:
    """MiB that a part holds."""
    at = position_of(geometries_of(device.type, known), part.instance) if part.instance else None
    return part.memory if at is None else at.memory
