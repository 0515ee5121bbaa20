"""The uses of the claims in a snapshot: what sessions begin with, worked out from those of the snapshot before.

The cost follows the claims that changed, as long as the catalogues of one mirror come one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import NamedTuple

from vsched.kernels.devices.books import DeviceBooks, Holding
from vsched.kernels.devices.capacity import as_published
from vsched.kernels.devices.inventory import Inventory, changed_pools
from vsched.model.claims.catalogue import ClaimChanges, DeviceCatalogue
from vsched.model.claims.devices import AllocationResult, DeviceClaim
from vsched.model.groups import NameGroups
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task

PoolName = tuple[str, str]
"""Driver and pool."""


class SeenClaims:
    """The claims that have devices, as they were. What they use is worked out when it is needed: there may be many."""

    def __init__(self) -> None:
        self.by_key: dict[str, DeviceClaim] = {}
        self._by_pool: NameGroups[PoolName] = NameGroups()

    def put(self, key: str, claim: DeviceClaim) -> None:
        """Add a claim that is not known."""
        self.by_key[key] = claim
        for pool in _pools(claim):
            self._by_pool.add(pool, key)

    def pop(self, key: str) -> DeviceClaim | None:
        """Take a claim away, None where it is not known."""
        claim = self.by_key.pop(key, None)
        for pool in _pools(claim) if claim is not None else ():
            self._by_pool.discard(pool, key)
        return claim

    def of(self, pools: Iterable[PoolName]) -> set[str]:
        """The claims that have devices of one of the pools."""
        return {key for pool in pools for key in self._by_pool.of(pool)}


class BaseUses(NamedTuple):
    """The uses of a snapshot. The next base takes over the claims; the rest never changes."""

    catalogue: DeviceCatalogue
    """Only its identity counts: the next snapshot updates its maps in place."""
    changes: ClaimChanges | None
    """The record of the catalogue."""
    inventory: Inventory
    books: DeviceBooks
    leaving: frozenset[str]
    """Claims of which all users are leaving."""
    partial: frozenset[str]
    """Claims with devices that are not there."""
    seen: SeenClaims


_LAST: list[BaseUses] = []
"""The base that was made last."""
_LOCK = Lock()
"""Sessions of several threads begin one after the other."""


def base_of(catalogue: DeviceCatalogue, inventory: Inventory) -> BaseUses:
    """The uses of the claims in a catalogue."""
    with _LOCK:
        last = _LAST[0] if _LAST else None
        if last is not None and last.catalogue is catalogue and last.inventory is inventory:
            return last
        _LAST.clear()
        follower = _Follower(last, inventory)
        follower.follow(catalogue, None if last is None else last.changes)
        made = follower.base(catalogue)
        _LAST.append(made)
        return made


class _Follower:
    """Brings the uses of one snapshot to those of another."""

    def __init__(self, last: BaseUses | None, inventory: Inventory) -> None:
        self._inventory = inventory
        self._again: set[str] = set()
        """Claims to look at, though they did not change."""
        self._leaving: set[str] = set()
        self._partial: set[str] = set()
        self._seen = SeenClaims()
        if last is None:
            self._books = DeviceBooks(inventory)
            return
        self._books, self._seen = last.books.copy(), last.seen
        self._leaving.update(last.leaving)
        self._partial.update(last.partial)
        if last.inventory is not inventory:
            self._move(last.inventory)

    def _move(self, before: Inventory) -> None:
        """Take over the numbers of another inventory. Claims on pools that changed are to be looked at again."""
        changed = changed_pools(before, self._inventory)
        self._again = self._seen.of(changed) | self._partial
        for key in self._again:
            self._drop(key, before)
        self._books = self._books.moved(self._inventory)

    def follow(self, catalogue: DeviceCatalogue, known: ClaimChanges | None) -> None:
        """Look at the claims that changed since the catalogue with the record ``known``; if that is unknown, at all."""
        changed = None if catalogue.changes is None else catalogue.changes.since(known)
        keys: Iterable[str] = catalogue.allocated.keys() if changed is None else changed | self._again
        if changed is None:
            for key in [key for key in self._seen.by_key if key not in catalogue.allocated]:
                self._drop(key, self._inventory)
        added: list[Holding] = []
        turned: list[str] = []
        for key in keys:
            claim = catalogue.allocated.get(key)
            if self._seen.by_key.get(key) is not claim:
                self._drop(key, self._inventory)
                if claim is not None:
                    added.extend(self._put(key, claim))
            if claim is not None and is_leaving(claim, catalogue.users.get(key)) != (key in self._leaving):
                turned.append(key)
        self._books.add_all(added)
        for key in turned:
            self._turn(key)

    def _put(self, key: str, claim: DeviceClaim) -> tuple[Holding, ...]:
        self._seen.put(key, claim)
        uses, complete = uses_of(claim.allocation, self._inventory)
        if not complete:
            self._partial.add(key)
        return uses

    def _drop(self, key: str, inventory: Inventory) -> None:
        """Forget a claim, and remove its uses, which are counted by the numbers of ``inventory``."""
        claim = self._seen.pop(key)
        if claim is None:
            return
        uses, _ = uses_of(claim.allocation, inventory)
        if key in self._leaving:
            self._leaving.discard(key)
            self._books.stay(uses)
        self._partial.discard(key)
        self._books.remove(uses)

    def _turn(self, key: str) -> None:
        """The users of a claim begin to leave, or do not leave any more."""
        uses, _ = uses_of(self._seen.by_key[key].allocation, self._inventory)
        if key in self._leaving:
            self._leaving.discard(key)
            self._books.stay(uses)
        else:
            self._leaving.add(key)
            self._books.leave(uses)

    def base(self, catalogue: DeviceCatalogue) -> BaseUses:
        """The uses as they are now."""
        self._books.changed.clear()
        leaving, partial = frozenset(self._leaving), frozenset(self._partial)
        return BaseUses(catalogue, catalogue.changes, self._inventory, self._books, leaving, partial, self._seen)


def is_leaving(claim: DeviceClaim, users: Mapping[str, Task] | None, evicted: set[str] | None = None) -> bool:
    """Whether all pods that a claim is reserved for are leaving: then it loses its devices with the last of them."""
    if not claim.consumers or not users:
        return False
    for one in claim.consumers:
        if evicted and one.uid in evicted:
            continue
        task = users.get(one.uid)
        if task is None or not HOLDS[task.status].releasing:
            return False
    return True


def uses_of(allocation: AllocationResult | None, inventory: Inventory) -> tuple[tuple[Holding, ...], bool]:
    """The uses of an allocation, and whether all its devices are there. Administrative access uses nothing."""
    found = []
    complete = True
    for one in allocation.devices if allocation is not None else ():
        if one.admin:
            continue
        number = inventory.number(one.device)
        if number is None:
            complete = False
        else:
            consumed = as_published(inventory.devices[number], one.consumed) if one.consumed else ()
            found.append(Holding(number, consumed))
    return tuple(found), complete


def _pools(claim: DeviceClaim) -> set[PoolName]:
    """The pools of a claim's devices."""
    devices = claim.allocation.devices if claim.allocation is not None else ()
    return {(one.device.driver, one.device.pool) for one in devices}
