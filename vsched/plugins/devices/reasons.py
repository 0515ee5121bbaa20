"""Why nodes have no devices for a pod, in words: which amount is short, and on how many devices.

Reasons that last name what the devices have; those that may pass name what is left of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from vsched.framework.points.nodes import NodeHolders
from vsched.kernels.deviceshare.mig import CLOSED
from vsched.kernels.deviceshare.table import DeviceTable
from vsched.model.deviceshare.records import (
    GPU_MEMORY,
    GPU_NUMBER,
    VGPU_NUMBER,
    WHOLE,
    DeviceAsk,
    DeviceKind,
    DeviceShareCatalogue,
    SharedDevice,
    SharedDeviceRequest,
)
from vsched.model.deviceshare.uses import uses_of
from vsched.model.nodes.table import Ints, Mask
from vsched.plugins.devices.books import FITS_MAX, SharedDeviceBooks
from vsched.plugins.devices.neighbours import Tags
from vsched.plugins.words import devices as words

HOLDERS_TOLD = 3
"""How many pods a sentence names."""


class DeviceReason(NamedTuple):
    """A reason, and the places of the nodes that it concerns."""

    text: str
    places: Ints
    lasting: bool = False
    """Whether the pod would not fit on these nodes whatever other pods leave."""


def reasons_of_size(books: SharedDeviceBooks, request: SharedDeviceRequest) -> list[DeviceReason]:
    """Nodes whose devices could not hold the pod even if nobody used them; each node has its first reason."""
    known, key = books.sizes, (request, books.order)
    found: list[DeviceReason] | None = known.get(key)
    if found is None:
        if len(known) >= FITS_MAX:
            known.clear()  # at once: an explanation in another thread may look at the same time
        found = known[key] = _sized(books, request)
    return found


def _sized(books: SharedDeviceBooks, request: SharedDeviceRequest) -> list[DeviceReason]:
    table, accepted = books.unused(), books.accepted(request)
    short = ~table.choose(request.asks, books.order, accepted).passes
    if accepted is not None:
        short &= accepted.any(axis=0)  # of other nodes it is said that they have no such device
    if not short.any():
        return []
    found = _apart(short, _of_size(books, table, request, accepted))
    rest = short.copy()
    for one in found:
        rest[one.places] = False
    return [*found, DeviceReason(words.NOT_FOR_ALL, np.flatnonzero(rest), lasting=True)] if rest.any() else found


def reasons_of_room(books: SharedDeviceBooks, request: SharedDeviceRequest, avoided: Tags) -> list[DeviceReason]:
    """Nodes whose devices are used by others; what no single reason explains is left out."""
    short = ~books.fit(request, avoided).passes
    if not short.any():
        return []
    table, accepted = books.free(), books.accepted(request)
    found = _of_room(table, request, books.unused(), accepted)
    return _apart(short, chain(found, _of_neighbours(books, request, avoided)))


def _of_size(
    books: SharedDeviceBooks, table: DeviceTable, request: SharedDeviceRequest, accepted: Mask | None
) -> Iterator[tuple[str, Mask, bool]]:
    """Reasons with the nodes that they apply to, and whether they last."""
    number = max(ask.number for ask in request.asks)
    there = books.exists if accepted is None else books.exists & accepted
    few = words.too_few if accepted is None else partial(words.too_few, accepted=True)
    yield few(number), _lacks(there, number), True
    if books.closed is not None:
        there = there & ~books.closed
        yield few(number, words.BESIDE_CLAIMS), _lacks(there, number), False
    healthy = there & table.healthy
    yield few(number, adjective=words.HEALTHY), _lacks(healthy, number), False
    if table.largest is not None:
        healthy = healthy & (table.largest > CLOSED)
        yield few(number, words.KNOWN_MODEL), _lacks(healthy, number), False
    for ask in dict.fromkeys(request.asks):
        enough = healthy & _has_memory(table, ask)
        yield few(ask.number, words.having(_memory(ask))), _lacks(enough, ask.number), True
        if table.largest is not None:
            enough = healthy & (table.largest >= table.memory_of(ask))
            yield few(ask.number, words.having_instance(_memory(ask))), _lacks(enough, ask.number), True
        enough = healthy & (table.thousandths >= ask.thousandths)
        yield few(ask.number, words.having(_power(ask))), _lacks(enough, ask.number), True


def _of_room(
    table: DeviceTable, request: SharedDeviceRequest, unused: DeviceTable, accepted: Mask | None
) -> Iterator[tuple[str, Mask, bool]]:
    for ask in dict.fromkeys(request.asks):
        able = unused.open_to(ask, accepted)
        few = partial(words.too_few, ask.number)
        yield few(words.having_left(_memory(ask))), _lacks(able & _has_memory(table, ask), ask.number), False
        if table.largest is not None:
            instances = able & (table.largest >= table.memory_of(ask))
            yield few(words.having_free_instance(_memory(ask))), _lacks(instances, ask.number), False
        if ask.thousandths >= WHOLE:
            yield few(words.UNUSED), _lacks(able & (table.users == 0), ask.number), False
        powerful = able & (table.thousandths >= max(1, ask.thousandths))
        yield few(words.having_left(_power(ask))), _lacks(powerful, ask.number), False
        yield few(words.SHAREABLE), _lacks(able & (table.sharers > 0), ask.number), False


def _of_neighbours(
    books: SharedDeviceBooks, request: SharedDeviceRequest, avoided: Tags
) -> Iterator[tuple[str, Mask, bool]]:
    """Nodes with too few devices that the pod does not have to leave to others."""
    places, accepted = np.arange(len(books.rows)), books.accepted(request)
    jobs, rules = (tuple(tag for tag in avoided if isinstance(tag, one)) for one in (str, int))
    for tags, which in ((jobs, words.APART_FROM_JOB), (rules, words.APART_BY_RULE)):
        if tags:
            apart = ~books.used_by(tags, places)
            for ask in dict.fromkeys(request.asks):
                able = books.free().open_to(ask, accepted) & apart
                yield words.too_few(ask.number, which), _lacks(able, ask.number), False


def _apart(short: Mask, found: Iterator[tuple[str, Mask, bool]]) -> list[DeviceReason]:
    """The reasons of nodes that are short, each node with its first."""
    left, reasons = short.copy(), list[DeviceReason]()
    for text, those, lasting in found:
        those = those & left
        if those.any():
            reasons.append(DeviceReason(text, np.flatnonzero(those), lasting))
            left &= ~those
            if not left.any():
                break
    return reasons


def _lacks(devices: Mask, number: int) -> Mask:
    """bool[places]: nodes with fewer such devices."""
    return np.asarray(devices.sum(axis=0) < number)


def _has_memory(table: DeviceTable, ask: DeviceAsk) -> Mask:
    return np.asarray((table.total_memory == 0) | (table.memory >= table.memory_of(ask)))


def _memory(ask: DeviceAsk) -> str:
    return words.memory(ask.memory, ask.percent)


def _power(ask: DeviceAsk) -> str:
    return words.power(ask.thousandths * 100 / WHOLE)


def closest(
    books: SharedDeviceBooks,
    request: SharedDeviceRequest,
    places: Ints,
    catalogue: DeviceShareCatalogue,
    names: Mapping[str, str],
) -> NodeHolders | None:
    """What is left of the device, on these nodes, that comes closest to holding the pod's largest part; and who holds
    the rest. None where no device could ever hold it. ``names`` are the pods of this session by uid.
    """
    found = _nearest(books, request, places)
    if found is None:
        return None
    place, slot = found
    node, device, free = books.found[place], books.found[place].devices[slot], books.free_at(np.array([place]))
    holders: dict[str, tuple[int, int]] = {}
    for one in uses_of(node, catalogue.pods.get(node.node, ()), catalogue.geometries)[slot].holders:
        holders[one.pod] = one.memory, one.thousandths
    for uid, part in books.placed_at(place):
        if part.slot == slot:
            name = names.get(uid, uid)
            memory, thousandths = holders.get(name, (0, 0))
            holders[name] = memory + part.memory, thousandths + part.thousandths
    if not holders:
        return None
    ranked = sorted(holders.items(), key=lambda one: (-one[1][0], -one[1][1], one[0]))
    shown = [(name, _part(device, *held)) for name, held in ranked[:HOLDERS_TOLD]]
    left = _part(device, int(_memory_left(free)[slot, 0]), int(free.thousandths[slot, 0]))
    which = words.device(device.uuid or f"device {device.index}", node.node, device.type)
    return NodeHolders(node.node, words.closest(which, left, shown, len(ranked) - len(shown)))


def _nearest(books: SharedDeviceBooks, request: SharedDeviceRequest, places: Ints) -> tuple[int, int] | None:
    """The place and the slot of the device with most left of what the pod's largest part asks for."""
    ask = max(request.asks, key=lambda one: (one.memory, one.percent, one.thousandths))
    accepted, unused = books.accepted(request), books.unused()
    able = unused.open_to(ask, accepted)[:, places]
    if not able.any():
        return None
    free = books.free_at(places)
    memory = free.memory_of(ask)
    power = np.minimum(1.0, free.thousandths / max(1, ask.thousandths))
    counts = (free.total_memory > 0) & (memory > 0)
    room = np.where(counts, np.minimum(1.0, _memory_left(free) / np.maximum(memory, 1)), 1.0)
    # What is shortest decides; of equals, the other amount.
    rank = np.where(able, np.minimum(power, room) + (power + room) / 8, -1.0)
    slot, at = np.unravel_index(int(rank.argmax()), rank.shape)
    return int(places[at]), int(slot)


def _memory_left(table: DeviceTable) -> Ints:
    """int64[slots, places], MiB: what one container could get; of a device that is divided by MIG, an instance."""
    return table.memory if table.largest is None else np.minimum(table.memory, np.maximum(table.largest, 0))


def _part(device: SharedDevice, memory: int, thousandths: int) -> str:
    percent = max(0, thousandths) * 100 / WHOLE
    return words.part(max(0, memory) if device.memory else None, percent)


def refusal_of(request: SharedDeviceRequest | None, kinds: Collection[str], *, whole_gpus: bool) -> str:
    """Why a pod gets no devices on any node; empty where nothing speaks against it.

    ``kinds`` are enabled; of GPUs, whole ones (``whole_gpus``) or their memory. NPUs that are not enabled are counted
    by sums.
    """
    if request is None:
        return ""
    enabled = request.kind in kinds
    if request.problem and (enabled or request.kind != DeviceKind.NPU):
        return words.not_tried(request.problem)
    name, argument = VGPU_NUMBER, "deviceshare.VGPUEnable"
    if request.kind == DeviceKind.GPU:
        asks_whole = request.asks[0].thousandths >= WHOLE
        enabled = enabled and asks_whole is whole_gpus
        memory, number = (GPU_MEMORY, "deviceshare.GPUSharingEnable"), (GPU_NUMBER, "deviceshare.GPUNumberEnable")
        name, argument = number if asks_whole else memory
    if enabled or request.kind == DeviceKind.NPU:
        return ""
    return words.not_tried(words.not_enabled(name, argument))
