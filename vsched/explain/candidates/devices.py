"""Levers of devices: more of them on a node, and the nodes that have enough of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank
from vsched.explain.edits.claims import AddDevices
from vsched.explain.edits.rules import TolerateDevices
from vsched.framework.claims.devices.base import base_of
from vsched.kernels.devices.inventory import Inventory, inventory_of
from vsched.kernels.devices.matching import DeviceMatch, kept_off, match
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import EXACT_COUNT, DeviceRequest
from vsched.model.nodes.table import Ints, Mask, Taint
from vsched.model.pods.task import Task

ADDED_MAX = 256
"""The most devices that a lever adds to a node."""
TAINTS_MAX = 4
"""The most taints of devices that levers are made for."""


class DeviceWish(NamedTuple):
    """Devices that a waiting pod asks for."""

    request: DeviceRequest
    number: int
    has: Ints
    """int64[nodes]: the devices of a node that it may get, in use or free."""
    free: Ints
    """int64[nodes]: those that are free."""
    like: int
    """The number of one such device in the inventory."""


def claiming(wants: MissingMinimum) -> Task | None:
    """The first waiting pod that claims devices."""
    return next((task for task in wants.waiting if task.claims is not None and task.claims.devices), None)


def device_wishes(wants: MissingMinimum) -> list[DeviceWish]:
    """What the first pod that claims devices asks for and has none yet: each class once."""
    task = claiming(wants)
    if task is None:
        return []
    snapshot = wants.situation.snapshot
    found = snapshot.claims.devices
    inventory = inventory_of(found.pools, snapshot.nodes.statics)
    in_use = base_of(found, inventory).books.held > 0
    numbers: dict[DeviceMatch, int] = {}
    first: dict[DeviceMatch, DeviceRequest] = {}
    for request in _requests(wants, task):
        want = _want(found, request)
        numbers[want] = numbers.get(want, 0) + request.count
        first.setdefault(want, request)
    made = (_wish(first[want], want, number, inventory, in_use) for want, number in numbers.items())
    return [wish for wish in made if wish is not None]


def toleration_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers that let the claims have devices with a taint, one for each taint that keeps off devices that match."""
    task = claiming(wants)
    if task is None:
        return
    snapshot = wants.situation.snapshot
    found = snapshot.claims.devices
    inventory = inventory_of(found.pools, snapshot.nodes.statics)
    asked = dict.fromkeys(_want(found, request) for request in _requests(wants, task))
    taints = dict.fromkeys(taint for want in asked for taint in kept_off(want, inventory))
    for taint in list(taints)[:TAINTS_MAX]:
        yield Lever(Rank.ELSEWHERE, partial(_tolerate, wants.job.key, taint), kind="tolerations")


def _tolerate(key: str, taint: Taint, _: int) -> TolerateDevices:
    return TolerateDevices(key, taint.key, taint.value, taint.effect)


def _want(found: DeviceCatalogue, request: DeviceRequest) -> DeviceMatch:
    selectors = (*found.classes[request.device_class].selectors, *request.selectors)
    return DeviceMatch(selectors, request.tolerations, request.capacity)


def _requests(wants: MissingMinimum, task: Task) -> Iterator[DeviceRequest]:
    """The plain requests of the pod's claims that have no devices; of alternatives the first."""
    found = wants.situation.snapshot.claims.devices
    for entry in task.claims.devices if task.claims is not None else ():
        claim = found.claims.get(entry.claim)
        if claim is None or claim.allocation is not None:
            continue
        for alternatives in claim.spec.requests:
            request = alternatives[0]
            if request.mode == EXACT_COUNT and not request.admin and request.device_class in found.classes:
                yield request


def _wish(
    request: DeviceRequest, want: DeviceMatch, number: int, inventory: Inventory, in_use: Mask
) -> DeviceWish | None:
    units = match(want, inventory).units
    suitable = np.flatnonzero(units)
    if not suitable.size:
        return None
    free = np.where(in_use & ~inventory.shareable, 0, units)
    return DeviceWish(request, number, inventory.per_node(units), inventory.per_node(free), int(suitable[0]))


def device_levers(wants: MissingMinimum, wishes: list[DeviceWish], usable: Mask, room: Ints) -> Iterator[Lever]:
    """For each wish, more devices on the node that lacks the fewest; ``room`` is how many pods its amounts take."""
    snapshot = wants.situation.snapshot
    for wish in wishes:
        rows = np.flatnonzero(usable & (room > 0) & (wish.has > 0))
        if not rows.size:
            rows = np.flatnonzero(usable & (room > 0))
        if not rows.size:
            continue
        row = int(rows[np.argmax(wish.free[rows])])
        short = max(1, wish.number - int(wish.free[row]))
        most = min(ADDED_MAX, short + wish.number * (wants.missing - 1))
        inventory = inventory_of(snapshot.claims.devices.pools, snapshot.nodes.statics)
        device, node = inventory.devices[wish.like].id, snapshot.nodes.statics.names[row]
        chosen = (device.driver, device.pool, device.device)
        name = wish.request.device_class

        def more(step: int, node: str = node, name: str = name, like: tuple[str, str, str] = chosen) -> AddDevices:
            return AddDevices(node, name, like, step)

        yield Lever(Rank.MACHINES, more, max(short, most), short, max(1, int(wish.has[row])), "machines")
