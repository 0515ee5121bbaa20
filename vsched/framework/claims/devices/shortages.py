"""How many devices are free for requests that no node can serve: figures for explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from vsched.framework.claims.devices.needs import Needs
from vsched.framework.claims.devices.room import DeviceRoom
from vsched.kernels.devices.matching import Want
from vsched.kernels.devices.search import ALL_DEVICES, Ask
from vsched.model.claims.devices import DeviceClaim, DeviceRequest, Pool
from vsched.model.pods.task import Task


class DeviceShortage(NamedTuple):
    """A request for more devices than are free on any node."""

    claim: str
    """``namespace/name``."""
    request: DeviceRequest
    needed: int
    """How many the pod needs of such devices on its node, for all its requests together."""
    most: int
    """The most that are free on one node."""
    largest: int
    """The most that one node has, in use or free."""
    free: int
    """How many are free on all nodes together."""
    matching: int
    """How many there are, in use or free."""
    held_back: tuple[Pool, ...] = ()
    """Pools with such devices that may not be used: slices are missing, or something is wrong with them."""


@runtime_checkable
class MeasuresShortages(Protocol):
    """A kind of claim that can say what is missing of devices."""

    def shortages(self, task: Task) -> Sequence[DeviceShortage]:
        """The requests of a task that no node can serve now, taken one by one."""
        ...


def shortages_of(
    keys: Sequence[str], needs: Needs, room: DeviceRoom, claims: Mapping[str, DeviceClaim]
) -> list[DeviceShortage]:
    """The requests of these claims, which have no devices yet, that no node can serve; ``needs`` is of the claims."""
    found: list[DeviceShortage] = []
    numbers = {total.want: total.number for total in needs.totals}
    for key, asked in zip(keys, needs.asks, strict=False):
        claim = claims.get(key)
        if claim is None:
            continue
        for asks, requests in zip(asked.requests, claim.spec.requests, strict=True):
            short = [_short(key, ask, request, numbers, room) for ask, request in zip(asks, requests, strict=True)]
            if all(one is not None for one in short):
                found.extend(one for one in short if one is not None)
    return found


def _short(
    key: str, ask: Ask, request: DeviceRequest, numbers: Mapping[Want, int], room: DeviceRoom
) -> DeviceShortage | None:
    """What is missing for one request; None where nothing is."""
    needed = 1 if ask.number == ALL_DEVICES else max(ask.number, numbers.get(ask.want, 0))
    free, at_most = room.counts.of(ask.want, later=False), room.at_most(ask.want)
    most = int(free.nodes.max(initial=0))
    if most >= needed:
        return None
    matching = int(free.match.units.sum())
    largest = int(at_most.max(initial=0))
    return DeviceShortage(key, request, needed, most, largest, free.together, matching, tuple(room.held_back(ask.want)))
