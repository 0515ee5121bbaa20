"""Why nodes have no devices for a pod, in words: which amount is short, and on how many devices.

Reasons that last name what the devices have; those that may pass name what is left of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from vsched.framework.points.nodes import NodeHolders
from vsched.kernels.deviceshare.mig import CLOSED
from vsched.kernels.deviceshare.table import DeviceTable
from vsched.model.deviceshare.records import WHOLE, DeviceAsk, DeviceShareCatalogue, SharedDevice, SharedDeviceRequest
from vsched.model.deviceshare.uses import uses_of
from vsched.model.nodes.table import Ints, Mask
from vsched.plugins.devices.books import FITS_MAX, SharedDeviceBooks
from vsched.plugins.devices.neighbours import Tags

NODES = "node(s) had"
HOLDERS_TOLD = 3
"""How many pods a sentence names."""
NO_ROOM = "node(s) had too few devices with enough memory and computing power left"


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
    text = f"{NODES} too few devices for all containers of the pod"
    return [*found, DeviceReason(text, np.flatnonzero(rest), lasting=True)] if rest.any() else found


def reasons_of_room(books: SharedDeviceBooks, request: SharedDeviceRequest, avoided: Tags = ()) -> list[DeviceReason]:
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
    which = "" if accepted is None else " that the pod accepts"
    yield f"{NODES} {_few(number)}{which}", _lacks(there, number), True
    if books.closed is not None:
        there = there & ~books.closed
        yield f"{NODES} {_few(number)} beside those for claims{which}", _lacks(there, number), False
    healthy = there & table.healthy
    yield f"{NODES} {_few(number, 'healthy ')}{which}", _lacks(healthy, number), False
    if table.largest is not None:
        healthy = healthy & (table.largest > CLOSED)
        yield f"{NODES} {_few(number)} of a model with known MIG geometries{which}", _lacks(healthy, number), False
    for ask in dict.fromkeys(request.asks):
        enough = healthy & _has_memory(table, ask)
        yield f"{NODES} {_few(ask.number)} with {_memory(ask)}{which}", _lacks(enough, ask.number), True
        if table.largest is not None:
            enough = healthy & (table.largest >= table.memory_of(ask))
            yield (
                f"{NODES} {_few(ask.number)} with a MIG instance of {_memory(ask)}{which}",
                _lacks(enough, ask.number),
                True,
            )
        enough = healthy & (table.thousandths >= ask.thousandths)
        yield f"{NODES} {_few(ask.number)} with {_power(ask)}{which}", _lacks(enough, ask.number), True


def _of_room(
    table: DeviceTable, request: SharedDeviceRequest, unused: DeviceTable, accepted: Mask | None
) -> Iterator[tuple[str, Mask, bool]]:
    for ask in dict.fromkeys(request.asks):
        able = unused.open_to(ask, accepted)
        few = f"{NODES} {_few(ask.number)}"
        yield f"{few} with {_memory(ask)} left", _lacks(able & _has_memory(table, ask), ask.number), False
        if table.largest is not None:
            instances = able & (table.largest >= table.memory_of(ask))
            yield f"{few} with a free MIG instance of {_memory(ask)}", _lacks(instances, ask.number), False
        if ask.thousandths >= WHOLE:
            yield f"{few} that no pod uses", _lacks(able & (table.users == 0), ask.number), False
        powerful = able & (table.thousandths >= max(1, ask.thousandths))
        yield f"{few} with {_power(ask)} left", _lacks(powerful, ask.number), False
        yield f"{few} that one more container may share", _lacks(able & (table.sharers > 0), ask.number), False


def _of_neighbours(
    books: SharedDeviceBooks, request: SharedDeviceRequest, avoided: Tags
) -> Iterator[tuple[str, Mask, bool]]:
    """Nodes with too few devices that the pod does not have to leave to others."""
    places, accepted = np.arange(len(books.rows)), books.accepted(request)
    jobs, rules = (tuple(tag for tag in avoided if isinstance(tag, one)) for one in (str, int))
    for tags, which in ((jobs, "no other pod of its job uses"), (rules, "no pod of the same exclusive rule uses")):
        if tags:
            apart = ~books.used_by(tags, places)
            for ask in dict.fromkeys(request.asks):
                able = books.free().open_to(ask, accepted) & apart
                yield f"{NODES} {_few(ask.number)} left that {which}", _lacks(able, ask.number), False


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


def _few(number: int, which: str = "") -> str:
    return f"no {which}device" if number == 1 else f"fewer than {number} {which}devices"


def _memory(ask: DeviceAsk) -> str:
    return f"{ask.memory} MiB of memory" if ask.memory or not ask.percent else f"{ask.percent}% of memory"


def _power(ask: DeviceAsk) -> str:
    """Computing power in per cent of a device; a container that names none needs some."""
    if not ask.thousandths:
        return "computing power"
    return f"{ask.thousandths * 100 / WHOLE:g}% of computing power"


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
    told = [f"{name} ({_amounts(device, *held)})" for name, held in ranked[:HOLDERS_TOLD]]
    left = _amounts(device, int(_memory_left(free)[slot, 0]), int(free.thousandths[slot, 0]))
    what = f"{device.uuid or f'device {device.index}'} of {node.node}{f' ({device.type})' if device.type else ''}"
    message = f"{what} comes closest: {left} left, the rest held by {_listed(told, len(ranked))}"
    return NodeHolders(node.node, message)


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


def _amounts(device: SharedDevice, memory: int, thousandths: int) -> str:
    """``20000 MiB and 30%``; memory alone is left out where it does not count."""
    power = f"{max(0, thousandths) * 100 / WHOLE:g}%"
    return f"{max(0, memory)} MiB and {power}" if device.memory else power


def _listed(told: Sequence[str], count: int) -> str:
    more = count - len(told)
    if more:
        return f"{', '.join(told)} and {more} more"
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
