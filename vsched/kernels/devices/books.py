"""Who uses which device in a session, now and later, and what is left of counters and of shared capacity.

"Now" counts every user. "Later" leaves out those that are leaving.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.devices.capacity import times
from vsched.kernels.devices.inventory import NOWHERE, Counter, Inventory, counter_totals, renumbered
from vsched.model.claims.devices import Quantities
from vsched.model.nodes.table import Ids, Mask

MANY = 64
"""So many uses are added by arrays."""


class Holding(NamedTuple):
    """One use of a device."""

    device: int
    """Its number in the inventory."""
    consumed: Quantities = ()
    """What it takes of the capacity of a device that several claims may use."""


class DeviceBooks:
    """The uses of all devices. Adding and removing the same uses in any order gives the same books."""

    __slots__ = ("_counters", "_inventory", "_totals", "_used", "changed", "held", "leaving", "moving")

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self.held: Ids = np.zeros(len(inventory), dtype=np.int32)
        """int32[devices]: uses, leaving ones included."""
        self.leaving: Ids = np.zeros(len(inventory), dtype=np.int32)
        """int32[devices]: uses that are leaving."""
        self.moving = 0
        """How many uses are leaving; without any, later is as now."""
        self._used: tuple[dict[int, dict[str, int]], dict[int, dict[str, int]]] = {}, {}
        """Of devices in use by several: amounts by capacity, for all uses and for those that are leaving."""
        self._counters: tuple[dict[Counter, int], dict[Counter, int]] = {}, {}
        """Amounts by pool, counter set and counter: what devices in use take, all and those in use later."""
        self._totals = counter_totals(inventory)
        self.changed: list[int] = []
        """Devices whose state changed since the reader emptied the list."""

    def copy(self) -> DeviceBooks:
        """Books that may be changed apart from these."""
        other = DeviceBooks.__new__(DeviceBooks)
        other._inventory, other._totals = self._inventory, self._totals
        other.held, other.leaving = self.held.copy(), self.leaving.copy()
        other._used = self._used[0].copy(), self._used[1].copy()
        other._counters = self._counters[0].copy(), self._counters[1].copy()
        other.changed = []
        other.moving = self.moving
        return other

    def add(self, uses: Iterable[Holding]) -> None:
        """The devices get these uses."""
        for use in uses:
            self._change(use, 1, 0)

    def add_all(self, uses: Sequence[Holding]) -> None:
        """As ``add``, for many uses at once."""
        if len(uses) < MANY:
            self.add(uses)
            return
        counting = {device for members in self._inventory.counting.values() for device in members}
        plain = [use.device for use in uses if not use.consumed and use.device not in counting]
        self.held += np.bincount(plain, minlength=len(self.held)).astype(np.int32)
        self.changed.extend(plain)
        self.add(use for use in uses if use.consumed or use.device in counting)

    def moved(self, inventory: Inventory) -> DeviceBooks:
        """The same uses by the numbers of another inventory. Devices of pools that changed must not be in use."""
        other = self.copy()
        other._inventory, other._totals = inventory, counter_totals(inventory)
        if self._inventory.first == inventory.first and len(self._inventory) == len(inventory):
            return other
        number, position = renumbered(self._inventory, inventory)
        there = number != NOWHERE
        for field in ("held", "leaving"):
            uses = np.zeros(len(inventory), dtype=np.int32)
            uses[number[there]] = getattr(self, field)[there]
            setattr(other, field, uses)
        all_used, leaving = ({int(number[one]): amounts for one, amounts in used.items()} for used in self._used)
        other._used = all_used, leaving
        now, later = (
            {(position[pool], counters, name): amount for (pool, counters, name), amount in taken.items() if amount}
            for taken in self._counters
        )
        other._counters = now, later
        return other

    def remove(self, uses: Iterable[Holding]) -> None:
        """The devices lose these uses."""
        for use in uses:
            self._change(use, -1, 0)

    def leave(self, uses: Iterable[Holding]) -> None:
        """These uses are leaving."""
        for use in uses:
            self._change(use, 0, 1)

    def stay(self, uses: Iterable[Holding]) -> None:
        """These uses are not leaving any more."""
        for use in uses:
            self._change(use, 0, -1)

    def in_use(self, *, later: bool) -> Mask:
        """bool[devices]"""
        return self.held > self.leaving if later else self.held > 0

    def is_in_use(self, device: int, *, later: bool) -> bool:
        """Whether one device is in use."""
        return bool(self.held[device] > (self.leaving[device] if later else 0))

    def used(self, device: int, *, later: bool) -> Quantities:
        """What is taken of a device's capacity."""
        all_uses = self._used[0].get(device)
        if all_uses is None:
            return ()
        gone = self._used[1].get(device, {}) if later else {}
        return tuple((name, amount - gone.get(name, 0)) for name, amount in all_uses.items())

    def shared(self) -> Iterable[int]:
        """The devices in use that several claims may use."""
        return self._used[0].keys()

    def counting(self) -> Iterable[int]:
        """The devices that consume counters of which others take some."""
        for pool in {pool for pool, _, _ in self._counters[0]}:
            yield from self._inventory.counting[pool]

    def units(self, device: int, taken: Quantities | None, *, later: bool) -> int:
        """How often the device can be allocated; ``taken`` is what one allocation takes of a device for several."""
        found = self._inventory.devices[device]
        in_use = self.is_in_use(device, later=later)
        if found.traits.consumes and not in_use and not self.has_counters(device, later=later):
            return 0
        if taken is None:
            return 0 if in_use else 1
        return times(found.model, self.used(device, later=later), taken)

    def has_counters(self, device: int, *, later: bool, besides: Mapping[Counter, int] | None = None) -> bool:
        """Whether enough of each counter is left for a device that is not in use; ``besides`` is what else is taken."""
        taken = self._counters[later]
        for key, amount in self._inventory.counters(device):
            held = taken.get(key, 0) + (besides.get(key, 0) if besides else 0)
            if held + amount > self._totals.get(key, 0):
                return False
        return True

    def taken(self, counter: Counter, *, later: bool) -> int:
        """What devices in use take of a counter."""
        return self._counters[later].get(counter, 0)

    def left(self, *, later: bool) -> dict[Counter, int]:
        """What is left of each counter; never negative unless a driver took away what is in use."""
        taken = self._counters[later]
        return {key: total - taken.get(key, 0) for key, total in self._totals.items()}

    def _change(self, use: Holding, held: int, leaving: int) -> None:
        device = use.device
        counting = bool(self._inventory.devices[device].traits.consumes)
        before = (self.held[device] > 0, self.held[device] > self.leaving[device]) if counting else (False, False)
        self.held[device] += held
        self.leaving[device] += leaving
        self.moving += leaving
        if use.consumed:
            _add(self._used[0], device, use.consumed, held)
            _add(self._used[1], device, use.consumed, leaving)
        self.changed.append(device)
        if counting:
            after = (self.held[device] > 0, self.held[device] > self.leaving[device])
            for books, was, now in zip(self._counters, before, after, strict=True):
                for key, amount in self._inventory.counters(device) if was != now else ():
                    books[key] = books.get(key, 0) + (amount if now else -amount)
            if before != after:
                self.changed.extend(self._inventory.counting[int(self._inventory.pool[device])])


def _add(books: dict[int, dict[str, int]], device: int, amounts: Quantities, sign: int) -> None:
    """Count the amounts; copies of the books share the maps of each device, which never change."""
    if not sign:
        return
    mine = books.get(device, {}).copy()
    for name, amount in amounts:
        mine[name] = mine.get(name, 0) + sign * amount
    if any(mine.values()):
        books[device] = mine
    else:
        books.pop(device, None)
