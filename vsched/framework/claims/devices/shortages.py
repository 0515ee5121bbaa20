"""How many devices are free for requests that no node can serve: figures for explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from msgspec.structs import replace

from vsched.framework.claims.devices.needs import DeviceNeeds
from vsched.framework.claims.devices.room import DeviceRoom
from vsched.kernels.devices.matching import DeviceMatch
from vsched.kernels.devices.search import ALL_DEVICES, Ask
from vsched.model.claims.devices import DeviceClaim, DevicePool, DeviceRequest
from vsched.model.nodes.table import Taint
from vsched.model.pods.task import Task


class DeviceShortage(NamedTuple):
    """A request for more devices than are free: on any node, or on all nodes together."""

    claim: str
    """``namespace/name``; empty for the claims of several pods together."""
    request: DeviceRequest
    needed: int
    """How many such devices the pod needs on its node, for all its requests together; or the pods together."""
    most: int
    """The most that are free on one node."""
    largest: int
    """The most that one node has, in use or free."""
    free: int
    """How many are free on all nodes together."""
    matching: int
    """How many there are, in use or free."""
    unusable: tuple[DevicePool, ...] = ()
    """Pools with such devices that may not be used: slices are missing or invalid."""
    untolerated: tuple[Taint, ...] = ()
    """The first untolerated taint of each such device; such devices are in no other figure."""
    of_class: bool = False
    """Whether the class has devices, and the selectors of the request match none of them."""


@runtime_checkable
class MeasuresShortages(Protocol):
    """A kind of claim that can say what is missing of devices."""

    def shortages(self, task: Task) -> Sequence[DeviceShortage]:
        """The requests of a task that no node can serve now, taken one by one."""
        ...

    def shortages_together(self, tasks: Sequence[Task]) -> Sequence[DeviceShortage]:
        """What the tasks ask for together and all nodes together do not have free."""
        ...


def shortages_of(
    keys: Sequence[str], needs: DeviceNeeds, room: DeviceRoom, claims: Mapping[str, DeviceClaim]
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


def shortages_together(
    asked: Iterable[tuple[Sequence[str], DeviceNeeds]], room: DeviceRoom, claims: Mapping[str, DeviceClaim]
) -> list[DeviceShortage]:
    """What claims of several tasks ask for together and is not free; ``asked`` has the claims and needs of each.

    A claim that tasks share counts once. Requests with alternatives, and those for all devices, do not count.
    """
    numbers: dict[DeviceMatch, int] = {}
    first: dict[DeviceMatch, DeviceRequest] = {}
    seen: set[str] = set()
    for keys, needs in asked:
        for key, found in zip(keys, needs.asks, strict=False):
            claim = claims.get(key)
            if claim is None or key in seen:
                continue
            seen.add(key)
            for asks, requests in zip(found.requests, claim.spec.requests, strict=True):
                if len(asks) == 1 and asks[0].number != ALL_DEVICES and not asks[0].want.admin:
                    numbers[asks[0].want] = numbers.get(asks[0].want, 0) + asks[0].number
                    first.setdefault(asks[0].want, requests[0])
    made = (_measured("", want, first[want], number, room) for want, number in numbers.items())
    return [one for one in made if one.free < one.needed]


def _short(
    key: str, ask: Ask, request: DeviceRequest, numbers: Mapping[DeviceMatch, int], room: DeviceRoom
) -> DeviceShortage | None:
    """What is missing for one request; None where nothing is."""
    needed = 1 if ask.number == ALL_DEVICES else max(ask.number, numbers.get(ask.want, 0))
    found = _measured(key, ask.want, request, needed, room)
    return found if found.most < needed else None


def _measured(key: str, want: DeviceMatch, request: DeviceRequest, needed: int, room: DeviceRoom) -> DeviceShortage:
    free, at_most = room.counts.of(want, later=False), room.at_most(want)
    most, largest = int(free.nodes.max(initial=0)), int(at_most.max(initial=0))
    matching, unusable = int(free.match.units.sum()), tuple(room.unusable(want))
    untolerated = tuple(room.untolerated(want))
    others = want.selectors[: len(want.selectors) - len(request.selectors)]
    of_class = not (matching or untolerated) and bool(room.at_most(replace(want, selectors=others)).any())
    return DeviceShortage(key, request, needed, most, largest, free.together, matching, unusable, untolerated, of_class)
