"""The ways to serve the claims of a pod on one node: all choices of devices that differ for the pods beside it.

Two devices are alike if the same requests match them, the same values of the attributes in constraints stand in them,
and the same is free. Devices that consume counters are alike if their counter sets are, with all devices in them.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from vsched.kernels.devices.books import DeviceBooks
from vsched.kernels.devices.inventory import Counter, Inventory, counter_totals
from vsched.kernels.devices.matching import match
from vsched.kernels.devices.search import ClaimAsk, Picks, attribute_values, explore


class DeviceWays(NamedTuple):
    """Solutions for the claims of a pod on a node."""

    found: Sequence[Picks]
    """The first is that of ``search``."""
    complete: bool
    """Whether there are no others."""


def device_ways(
    claims: Sequence[ClaimAsk],
    row: int,
    inventory: Inventory,
    books: DeviceBooks,
    *,
    later: bool,
    steps: int,
    most: int,
    beside: Iterable[ClaimAsk],
) -> DeviceWays:
    """At most so many ways; of those that are alike for claims like these and those ``beside``, the first.

    ``steps`` bounds the devices that are tried.
    """
    alike = _Alike(inventory, books, (*claims, *beside))
    found: dict[Hashable, Picks] = {}

    def accept(picks: Picks) -> bool:
        found.setdefault(alike.all_of(picks), picks)
        return len(found) == most

    complete, _ = explore(claims, row, inventory, books, accept, later=later, steps=steps, like=alike.of)
    return DeviceWays(tuple(found.values()), complete and len(found) < most)


class _Alike:
    """Tells devices of a node apart."""

    def __init__(self, inventory: Inventory, books: DeviceBooks, claims: Sequence[ClaimAsk]) -> None:
        self._inventory = inventory
        self._books = books
        asks = [one for claim in claims for alternatives in claim.requests for one in alternatives]
        self._matches = [match(want, inventory) for want in dict.fromkeys(ask.want for ask in asks)]
        names = dict.fromkeys(constraint.attribute for claim in claims for constraint in claim.constraints)
        self._values = [attribute_values(inventory, name) for name in names]
        self._known: dict[int, Hashable] = {}

    def all_of(self, picks: Picks) -> Hashable:
        """Equal for ways that are alike: the same devices, as many of them together in a counter set or shared."""
        together: dict[Hashable, Multiset[Hashable]] = {}
        for claim, mine in enumerate(picks):
            for pick in mine:
                group = self._group(pick.device)
                together.setdefault(group, Multiset())[claim, self.of(pick.device)] += 1
        return frozenset(Multiset(frozenset(some.items()) for some in together.values()).items())

    def _group(self, device: int) -> Hashable:
        """Equal for devices of which one may leave less of the other: those of a counter set, or one and the same."""
        if self._inventory.plain[device]:
            return None
        sets = {counter[:2] for counter, _ in self._inventory.counters(device)}
        return next(iter(sets)) if len(sets) == 1 else device

    def of(self, device: int) -> Hashable:
        """Equal for devices that are alike."""
        found = self._known.get(device)
        if found is None:
            found = self._known[device] = self._worked_out(device)
        return found

    def _worked_out(self, device: int) -> Hashable:
        if self._inventory.plain[device]:
            return self._own(device)
        sets = {counter[:2] for counter, _ in self._inventory.counters(device)}
        if len(sets) > 1 or (sets and self._inventory.shareable[device]):
            return device
        return self._own(device), self._consumed(device), *(self._counter_set(*one) for one in sets)

    def _own(self, device: int) -> Hashable:
        """What is known of a device alone."""
        inventory, books = self._inventory, self._books
        found: list[Hashable] = [int(inventory.row[device]), int(inventory.group[device])]
        for one in self._matches:
            found += (bool(one.selected[device]), int(one.units[device]), one.taken.get(device))
        found += (int(values[device]) for values in self._values)
        for later in (False, True):
            found += (books.is_in_use(device, later=later), books.used(device, later=later))
        return tuple(found), id(inventory.devices[device].model.series) if inventory.shareable[device] else 0

    def _consumed(self, device: int) -> Hashable:
        return tuple(sorted((name, amount) for (_, _, name), amount in self._inventory.counters(device)))

    def _counter_set(self, pool: int, name: str) -> Hashable:
        """What is taken of a counter set, and the devices that take of it."""
        inventory, members = self._inventory, Multiset[Hashable]()
        taken: set[Hashable] = set()
        for device in inventory.counting[pool]:
            counters = inventory.counters(device)
            if any(counter[1] == name for counter, _ in counters):
                sets = {counter[1] for counter, _ in counters}
                members[device if len(sets) > 1 else (self._own(device), self._consumed(device))] += 1
                taken.update((one[2], self._left(one)) for one, _ in counters if one[1] == name)
        return frozenset(taken), frozenset(members.items())

    def _left(self, counter: Counter) -> tuple[int, int]:
        total = counter_totals(self._inventory).get(counter, 0)
        return total - self._books.taken(counter, later=False), total - self._books.taken(counter, later=True)
