"""The shared devices of nodes as tables, as they are before a session places anything.

What pods hold is taken from what nodes register. The tables are kept from session to session: as long as no node
registers other devices, only nodes whose pods have changed are counted again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from vsched.kernels.deviceshare.mig import MigState, instance_at, most_memory
from vsched.kernels.deviceshare.table import NO_BOUND, DeviceTable
from vsched.model.deviceshare.geometries import KnownGeometries, geometries_of
from vsched.model.deviceshare.records import MIG, DevicePod, DeviceShareCatalogue, HeldPart, NodeDevices
from vsched.model.deviceshare.uses import DeviceSlots
from vsched.model.nodes.table import Ints, NodeTable

UNNAMED = "?"
"""The instance of a part whose annotation names none, though the device is divided by MIG; it closes the device."""


class SlotPart(NamedTuple):
    """A part of the device in one slot."""

    slot: int
    thousandths: int
    memory: int
    """MiB; of a device that is divided by MIG, all of the instance."""
    instance: str = ""
    """Of a device that is divided by MIG."""


class HeldDevices(NamedTuple):
    """What a pod holds of the devices of a node, by container that asks for any."""

    place: int
    """Of the node in the tables."""
    parts: tuple[tuple[SlotPart, ...], ...]


class DeviceTables(NamedTuple):
    """The devices of one kind of all nodes that register any. Never changes: sessions work on copies."""

    catalogue: DeviceShareCatalogue
    names: tuple[str, ...]
    """Of nodes, by row."""
    found: Sequence[NodeDevices]
    """By place."""
    found_on: Sequence[str]
    """By place: the name of the node."""
    registered: Sequence[tuple[NodeDevices, ...]]
    """What the catalogue has of each node."""
    pods: Sequence[tuple[DevicePod, ...] | None]
    """By place: the pods that are counted, those of other kinds as well; None where there are none."""
    leaving: frozenset[str]
    """Uids of the pods that are leaving."""
    rows: Ints
    """int64[place]: the row of each node."""
    place_of: Mapping[int, int]
    """By row."""
    types: Sequence[str]
    """The types of devices, by the number that the tables have for them."""
    unused: DeviceTable
    """As if there were no pods."""
    now: DeviceTable
    later: DeviceTable
    """What will be free once the pods have left that are leaving; the same object as ``now`` where none are."""
    held: Mapping[str, HeldDevices]
    """By uid."""
    sizes: dict[Hashable, Any]
    """What is found out of ``unused``, by what was asked; kept as long as no node registers other devices."""

    def compared(self) -> tuple[object, ...]:
        """What other tables for the same cluster have as well: of sizes, only those that were asked for are there."""
        return self[:-1]


def device_tables(catalogue: DeviceShareCatalogue, nodes: NodeTable, kind: str) -> DeviceTables:
    """The tables; what of the last ones still holds is used again."""
    return nodes.statics.memo.renewed("shared devices", kind, DeviceTables, partial(_tables, catalogue, nodes, kind))


def _tables(catalogue: DeviceShareCatalogue, nodes: NodeTable, kind: str, before: DeviceTables | None) -> DeviceTables:
    if before is not None and before.names != nodes.statics.names:
        before = None
    if before is not None and before.catalogue is catalogue:
        return before
    registered = [*catalogue.nodes.values()]
    known = before is not None and before.catalogue.geometries == catalogue.geometries
    if before is None or not known or not _same(registered, before.registered):
        before = _empty(catalogue, nodes, kind, registered)
    return _counted(before, catalogue, kind)


def _same(some: Sequence[tuple[NodeDevices, ...]], others: Sequence[tuple[NodeDevices, ...]]) -> bool:
    """Whether nodes register what they did: the catalogue has the same objects as long as they do."""
    return len(some) == len(others) and all(map(is_, some, others))


def _empty(
    catalogue: DeviceShareCatalogue, nodes: NodeTable, kind: str, registered: Sequence[tuple[NodeDevices, ...]]
) -> DeviceTables:
    """The tables as if there were no pods."""
    row_of = nodes.statics.row
    found = [one for kinds in registered for one in kinds if one.kind == kind and one.node in row_of]
    found.sort(key=lambda one: row_of[one.node])
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
    if any(device.network >= 0 for one in found for device in one.devices):
        table.networks = np.full((slots, len(found)), -1, np.int64)
        for place, one in enumerate(found):
            table.networks[: len(one.devices), place] = [device.network for device in one.devices]
    _divide(table, found, catalogue.geometries)
    rows = [row_of[one.node] for one in found]
    return DeviceTables(
        catalogue,
        nodes.statics.names,
        found,
        [one.node for one in found],
        registered,
        [None] * len(found),
        frozenset(),
        np.array(rows, np.int64),
        {row: place for place, row in enumerate(rows)},
        types,
        table,
        table,
        table,
        {},
        {},
    )


def _divide(table: DeviceTable, found: Sequence[NodeDevices], known: KnownGeometries) -> None:
    """Note which devices are divided by MIG, and how that may be done. They have the memory of their instances."""
    divided = [place for place, one in enumerate(found) if one.mode == MIG]
    if divided:
        table.begin_division()
    for place in divided:
        for slot, device in enumerate(found[place].devices):
            geometries = geometries_of(device.type, known)
            table.divide(slot, place, MigState(geometries))
            if geometries:
                table.total_memory[slot, place] = table.memory[slot, place] = most_memory(geometries)


def _counted(before: DeviceTables, catalogue: DeviceShareCatalogue, kind: str) -> DeviceTables:
    """The tables with the pods of the catalogue: only nodes whose pods have changed are counted again."""
    pods = [*map(catalogue.pods.get, before.found_on)]
    changed = [place for place, same in enumerate(map(is_, pods, before.pods)) if not same]
    if not changed:
        return before._replace(catalogue=catalogue)
    now, held, leaving = before.now.copy(), dict(before.held), set(before.leaving)
    for place in changed:
        for pod in before.pods[place] or ():
            if pod.kind == kind:
                shift(now, held.pop(pod.uid), 1)
                leaving.discard(pod.uid)
    for place in changed:
        for pod in pods[place] or ():
            if pod.kind == kind:
                held[pod.uid] = _held(pod, before.found[place], place, now)
                shift(now, held[pod.uid], -1)
                if pod.leaving:
                    leaving.add(pod.uid)
    later = now.copy() if leaving else now
    for uid in sorted(leaving):
        shift(later, held[uid], 1)
    return before._replace(catalogue=catalogue, pods=pods, now=now, later=later, held=held, leaving=frozenset(leaving))


def shift(table: DeviceTable, held: HeldDevices, sign: int) -> None:
    """Take what a pod holds (``sign`` -1), or give it back (1)."""
    for parts in held.parts:
        for part in parts:
            table.shift(part.slot, held.place, part.thousandths, part.memory, sign, part.instance)


def _held(pod: DevicePod, found: NodeDevices, place: int, table: DeviceTable) -> HeldDevices:
    """What a pod holds of devices that the node still has."""
    slots = DeviceSlots(found)

    def parts(some: Sequence[HeldPart]) -> Iterator[SlotPart]:
        for one in some:
            slot = slots.find(one)
            if slot is not None:
                state = table.state(slot, place)
                if state is None:
                    yield SlotPart(slot, one.thousandths, one.memory)
                else:
                    instance = instance_at(state.geometries, one.instance)
                    memory = one.memory if instance is None else instance.memory
                    yield SlotPart(slot, one.thousandths, memory, one.instance or UNNAMED)

    return HeldDevices(place, tuple(tuple(parts(some)) for some in pod.parts))
