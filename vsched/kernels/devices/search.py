"""The exact search for devices on one node.

Claims, requests and devices are tried in order, depth first, and the first full solution is the answer, as in
kube-scheduler. Constraints only get harder to meet with each device, so a device that breaks one ends its branch.
The devices of one request are tried in ascending order: other orders of the same devices meet the same constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from vsched.kernels.devices.books import DeviceBooks
from vsched.kernels.devices.capacity import times
from vsched.kernels.devices.inventory import NOWHERE, Counter, Inventory
from vsched.kernels.devices.matching import DeviceMatch, Match, match
from vsched.kernels.devices.models import ATTRIBUTES, values
from vsched.model.claims.devices import DeviceConstraint, Quantities
from vsched.model.nodes.table import Ids

MOST_RESULTS = 32
"""The most devices of one claim."""
ALL_DEVICES = -1
"""The count of a request for all devices."""


class Ask(NamedTuple):
    """A request, or one alternative of it."""

    name: str
    want: DeviceMatch
    number: int
    """How many devices; ALL_DEVICES for every one that matches."""


class ClaimAsk(NamedTuple):
    """What one claim asks for."""

    requests: tuple[tuple[Ask, ...], ...]
    """For each request its alternatives in order of preference."""
    constraints: tuple[DeviceConstraint, ...] = ()


class Pick(NamedTuple):
    """A device for a request."""

    request: str
    device: int
    taken: Quantities = ()
    """What it takes of the capacity of a device that several claims may use."""
    admin: bool = False
    shared: bool = False
    """Whether several claims may use the device."""


class DeviceSearchResult(NamedTuple):
    """The result of a search."""

    picks: tuple[tuple[Pick, ...], ...] | None
    """For each claim its devices; None where there is no solution, or none was found in time."""
    complete: bool
    """Whether the search came to its end."""
    steps: int = 0
    """How many devices were tried."""


Picks = tuple[tuple[Pick, ...], ...]
"""A solution: for each claim its devices."""


def search(
    claims: Sequence[ClaimAsk],
    row: int,
    inventory: Inventory,
    books: DeviceBooks,
    *,
    later: bool,
    steps: int,
    among: Sequence[Collection[int]] | None = None,
) -> DeviceSearchResult:
    """The devices for all claims on a node; ``steps`` bounds the devices that are tried, 0 for no bound.

    ``among`` has for each claim the devices that it may get; None: any.
    """
    found: list[Picks] = []

    def accept(picks: Picks) -> bool:
        found.append(picks)
        return True

    complete, tried = explore(claims, row, inventory, books, accept, later=later, steps=steps, among=among)
    return DeviceSearchResult(found[0] if found else None, complete, tried)


def explore(
    claims: Sequence[ClaimAsk],
    row: int,
    inventory: Inventory,
    books: DeviceBooks,
    accept: Callable[[Picks], bool],
    *,
    later: bool,
    steps: int,
    among: Sequence[Collection[int]] | None = None,
    like: Callable[[int], Hashable] | None = None,
) -> tuple[bool, int]:
    """Show solutions to ``accept`` until it takes one. Returns whether the search came to its end, and its steps.

    Of devices for which ``like`` gives equal values, one is as good as the other: of solutions that differ only in such
    devices, one is shown.
    """
    running = _Search(claims, row, inventory, books, accept, later, steps, among, like)
    try:
        running.claim(0)
    except _OutOfSteps:
        return False, running.steps
    return True, running.steps


def attribute_values(inventory: Inventory, name: str) -> Ids:
    """int32[devices]: numbers of the values of an attribute, equal for equal values; NOWHERE for devices without it."""
    return inventory.keep(
        ("attribute", name), lambda: values(inventory, ATTRIBUTES, name)[inventory.model].astype(np.int32)
    )


def concerns(constraint: DeviceConstraint, request: str) -> bool:
    """Whether a constraint is about a request (``request`` or ``request/alternative``)."""
    names = constraint.requests
    return not names or request in names or request.partition("/")[0] in names


class _OutOfSteps(Exception):
    pass


class _Search:
    def __init__(
        self,
        claims: Sequence[ClaimAsk],
        row: int,
        inventory: Inventory,
        books: DeviceBooks,
        accept: Callable[[Picks], bool],
        later: bool,
        steps: int,
        among: Sequence[Collection[int]] | None,
        like: Callable[[int], Hashable] | None,
    ) -> None:
        self._claims = claims
        self._accept = accept
        self._among = among
        self._like = like
        self._row = row
        self._inventory = inventory
        self._books = books
        self._later = later
        self._most = steps
        self._devices = inventory.reaching(row)
        self._candidates: dict[DeviceMatch, tuple[list[int], Iterator[int]]] = {}
        """By request: the free devices that were looked at so far, and the others."""
        self._used: set[int] = set()
        self._shares: dict[int, list[Quantities]] = {}
        self._counters: dict[Counter, int] = {}
        self._touched: dict[tuple[int, str], int] = {}
        """By counter set: how many of its counters this search takes something of, device by device."""
        self._values: dict[tuple[int, int], list[int]] = {}
        self._picks: list[list[Pick]] = [[] for _ in claims]
        self.steps = 0

    def claim(self, at: int) -> bool:
        """Find devices for the claims from position ``at`` on; whether a solution was accepted."""
        if at == len(self._claims):
            return self._accept(tuple(map(tuple, self._picks)))
        return self._request(at, 0)

    def _request(self, claim: int, at: int) -> bool:
        requests = self._claims[claim].requests
        if at == len(requests):
            return self.claim(claim + 1)
        return any(self._alternative(claim, at, ask) for ask in requests[at])

    def _alternative(self, claim: int, at: int, ask: Ask) -> bool:
        found = match(ask.want, self._inventory)
        room = MOST_RESULTS - len(self._picks[claim])
        if ask.number != ALL_DEVICES:
            return ask.number <= room and self._some(claim, at, ask, found, ask.number, 0)
        selected = [device for device in self._devices if found.selected[device]]
        if not selected or len(selected) > room or self._inventory.incomplete[self._row]:
            return False
        return self._every(claim, at, ask, found, selected)

    def _some(self, claim: int, at: int, ask: Ask, found: Match, missing: int, start: int) -> bool:
        if not missing:
            return self._request(claim, at + 1)
        seen: set[Hashable] = set()
        for position in count(start):
            device = self._candidate(ask.want, found, position)
            if device is None:
                return False
            kind = self._kind(device)
            if kind in seen or (self._among is not None and device not in self._among[claim]):
                continue
            if not self._pick(claim, ask, found, device):
                continue
            if kind is not None:
                seen.add(kind)
            # A device that several claims may use may be picked several times.
            again = position if device in found.taken else position + 1
            if self._some(claim, at, ask, found, missing - 1, again):
                return True
            self._put_back(claim, ask, device)
        return False

    def _kind(self, device: int) -> Hashable:
        """Equal for devices of which one is as good as the other; None where this search took what tells them apart."""
        if self._like is None or self._shares.get(device):
            return None
        touched = any(self._touched.get(counter[:2]) for counter, _ in self._inventory.counters(device))
        return None if touched else self._like(device)

    def _every(self, claim: int, at: int, ask: Ask, found: Match, selected: list[int]) -> bool:
        picked = []
        for device in selected:
            if not found.units[device] or not self._pick(claim, ask, found, device):
                break
            picked.append(device)
        if len(picked) == len(selected) and self._request(claim, at + 1):
            return True
        for device in reversed(picked):
            self._put_back(claim, ask, device)
        return False

    def _candidate(self, want: DeviceMatch, found: Match, position: int) -> int | None:
        """The free device at a position among those that match; None where there are fewer."""
        if want not in self._candidates:
            self._candidates[want] = ([], self._free(want, found))
        known, others = self._candidates[want]
        while len(known) <= position:
            device = next(others, None)
            if device is None:
                return None
            known.append(device)
        return known[position]

    def _free(self, want: DeviceMatch, found: Match) -> Iterator[int]:
        for device in self._devices:
            if found.units[device] and (
                want.admin or self._books.units(device, found.taken.get(device), later=self._later)
            ):
                yield device

    def _pick(self, claim: int, ask: Ask, found: Match, device: int) -> bool:
        if self.steps == self._most and self._most:
            raise _OutOfSteps
        self.steps += 1
        taken = found.taken.get(device)
        if not self._is_free(claim, ask, device, taken) or not self._constrain(claim, ask.name, device):
            return False
        if not ask.want.admin:
            if not self._shares.get(device) and not self._books.is_in_use(device, later=self._later):
                self._count(device, 1)
            if taken is None:
                self._used.add(device)
            else:
                self._shares.setdefault(device, []).append(taken)
        several = self._inventory.devices[device].model.shareable
        self._picks[claim].append(Pick(ask.name, device, taken or (), ask.want.admin, several))
        return True

    def _is_free(self, claim: int, ask: Ask, device: int, taken: Quantities | None) -> bool:
        if ask.want.admin:
            return all(pick.device != device for pick in self._picks[claim])
        if device in self._used:
            return False
        if taken is None:
            return bool(self._books.units(device, None, later=self._later)) and self._has_counters(device)
        shares = self._shares.get(device, [])
        used = dict(self._books.used(device, later=self._later))
        for share in shares:
            for name, amount in share:
                used[name] = used.get(name, 0) + amount
        if not times(self._inventory.devices[device].model, tuple(used.items()), taken):
            return False
        return bool(shares) or self._books.is_in_use(device, later=self._later) or self._has_counters(device)

    def _has_counters(self, device: int) -> bool:
        consumes = self._inventory.devices[device].traits.consumes
        return not consumes or self._books.has_counters(device, later=self._later, besides=self._counters)

    def _count(self, device: int, sign: int) -> None:
        for key, amount in self._inventory.counters(device):
            self._counters[key] = self._counters.get(key, 0) + sign * amount
            self._touched[key[:2]] = self._touched.get(key[:2], 0) + sign

    def _put_back(self, claim: int, ask: Ask, device: int) -> None:
        self._picks[claim].pop()
        self._release(claim, ask.name, device)
        if ask.want.admin:
            return
        shares = self._shares.get(device)
        if shares:
            shares.pop()
        else:
            self._used.discard(device)
        if not shares and not self._books.is_in_use(device, later=self._later):
            self._count(device, -1)

    def _constrain(self, claim: int, request: str, device: int) -> bool:
        met: list[list[int]] = []
        for number, constraint in enumerate(self._claims[claim].constraints):
            if not concerns(constraint, request):
                continue
            value = int(attribute_values(self._inventory, constraint.attribute)[device])
            known = self._values.setdefault((claim, number), [])
            if value == NOWHERE or (value in known if constraint.distinct else known and known[0] != value):
                for each in met:
                    each.pop()
                return False
            known.append(value)
            met.append(known)
        return True

    def _release(self, claim: int, request: str, device: int) -> None:
        for number, constraint in enumerate(self._claims[claim].constraints):
            if concerns(constraint, request):
                self._values[claim, number].pop()
