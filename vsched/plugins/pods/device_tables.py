"""The shared devices of nodes as tables, as they are before a session places anything.

What pods hold is taken from what nodes register. The tables are kept from session to session: as long as no node
registers other devices, only nodes whose pods have changed are counted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.deviceshare.table import NO_BOUND, DeviceTable
from vsched.model.deviceshare.records import DevicePod, DeviceShareCatalogue, HeldPart, NodeDevices
from vsched.model.nodes.table import Ints, NodeTable


class Part(NamedTuple):
    """A part of the device in one slot."""

    slot: int
    thousandths: int
    memory: int


class Held(NamedTuple):
    """What a pod holds of the devices of a node, by container that asks for any."""

    place: int
    """Of the node in the tables."""
    parts: tuple[tuple[Part, ...], ...]


class DeviceTables(NamedTuple):
    """The devices of one kind of all nodes that register any. Never changes: sessions work on copies."""

    catalogue: DeviceShareCatalogue
    names: tuple[str, ...]
    """Of nodes, by row."""
    found: Sequence[NodeDevices]
    """By place."""
    pods: Sequence[Sequence[DevicePod]]
    """By place: the pods that are counted."""
    rows: Ints
    """int64[place]: the row of each node."""
    place_of: Mapping[int, int]
    """By row."""
    types: Sequence[str]
    """The types of devices, by the number that the tables have for them."""
    now: DeviceTable
    later: DeviceTable
    """What will be free once the pods have left that are leaving; the same object as ``now`` where none are."""
    held: Mapping[str, Held]
    """By uid."""


def device_tables(catalogue: DeviceShareCatalogue, nodes: NodeTable, kind: str) -> DeviceTables:
    """The tables; what of the last ones still holds is used again."""
    statics, key = nodes.statics, f"shared devices {kind}"
    before = statics.kept.get(key)
    if not isinstance(before, DeviceTables) or before.names != statics.names:
        before = None
    if before is not None and before.catalogue is catalogue:
        return before
    found = [one for kinds in catalogue.nodes.values() for one in kinds if one.kind == kind]
    found = sorted((one for one in found if one.node in statics.row), key=lambda one: statics.row[one.node])
    pods = [[pod for pod in catalogue.pods.get(one.node, ()) if pod.kind == kind] for one in found]
    if before is None or len(found) != len(before.found) or not all(map(_same, found, before.found)):
        before = _empty(catalogue, nodes, found)
    made = _counted(before, catalogue, pods)
    statics.kept[key] = made
    return made


def _same(one: NodeDevices, other: NodeDevices) -> bool:
    return one is other or one == other


def _empty(catalogue: DeviceShareCatalogue, nodes: NodeTable, found: Sequence[NodeDevices]) -> DeviceTables:
    """The tables as if there were no pods."""
    slots = max((len(one.devices) for one in found), default=0)
    types = sorted({device.type for one in found for device in one.devices})
    number_of = {name: number for number, name in enumerate(types)}
    table = DeviceTable.empty(slots, len(found))
    for place, one in enumerate(found):
        for slot, device in enumerate(one.devices):
            table.healthy[slot, place] = device.healthy
            table.types[slot, place] = number_of[device.type]
            table.total_memory[slot, place] = table.memory[slot, place] = device.memory
            table.thousandths[slot, place] = device.thousandths
            table.sharers[slot, place] = device.sharers or NO_BOUND
    rows = [nodes.statics.row[one.node] for one in found]
    return DeviceTables(
        catalogue,
        nodes.statics.names,
        found,
        [()] * len(found),
        np.array(rows, np.int64),
        {row: place for place, row in enumerate(rows)},
        types,
        table,
        table,
        {},
    )


def _counted(
    before: DeviceTables, catalogue: DeviceShareCatalogue, pods: Sequence[Sequence[DevicePod]]
) -> DeviceTables:
    """The tables with these pods."""
    now, held = before.now.copy(), dict(before.held)
    for place, (counted, wanted) in enumerate(zip(before.pods, pods, strict=True)):
        if counted != wanted:
            for pod in counted:
                shift(now, held.pop(pod.uid), 1)
            for pod in wanted:
                held[pod.uid] = _held(pod, before.found[place], place)
                shift(now, held[pod.uid], -1)
    leaving = [held[pod.uid] for some in pods for pod in some if pod.leaving]
    later = now.copy() if leaving else now
    for one in leaving:
        shift(later, one, 1)
    return before._replace(catalogue=catalogue, pods=pods, now=now, later=later, held=held)


def shift(table: DeviceTable, held: Held, sign: int) -> None:
    """Take what a pod holds (``sign`` -1), or give it back (1)."""
    for parts in held.parts:
        for part in parts:
            table.shift(part.slot, held.place, part.thousandths, part.memory, sign)


def _held(pod: DevicePod, found: NodeDevices, place: int) -> Held:
    """What a pod holds of devices that the node still has."""
    slots = {device.uuid: slot for slot, device in enumerate(found.devices) if device.uuid}
    numbers = {device.index: slot for slot, device in enumerate(found.devices)}

    def parts(some: Sequence[HeldPart]) -> Iterator[Part]:
        for one in some:
            slot = slots.get(one.uuid) if one.uuid else numbers.get(one.index)
            if slot is not None:
                yield Part(slot, one.thousandths, one.memory)

    return Held(place, tuple(tuple(parts(some)) for some in pod.parts))
