"""Which claims have which devices in a session: those of the snapshot, and those that the session chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vsched.kernels.devices.books import DeviceBooks, Holding
from vsched.kernels.devices.capacity import as_published
from vsched.kernels.devices.inventory import Inventory
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import Allocation, DeviceClaim
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task

MOST_CONSUMERS = 256
"""The most pods that a claim can be reserved for."""


POD_GROUPS = "podgroups"


class Choice(NamedTuple):
    """Devices that this session chose for a claim."""

    allocation: Allocation
    uses: tuple[Holding, ...]
    later: bool
    """Whether some of them are still in use by pods that are leaving."""


class Gone(NamedTuple):
    """What a task had of one claim before it gave up its place."""

    key: str
    choice: Choice | None
    """What was chosen for the claim, and is not chosen any more."""


class ClaimUses:
    """The uses of claims. It follows the steps of a session."""

    def __init__(self, catalogue: DeviceCatalogue, inventory: Inventory) -> None:
        self._catalogue = catalogue
        self._base = base_of(catalogue, inventory)
        self.books = self._base.books.copy()
        self._chosen: dict[str, Choice] = {}
        self._takers: dict[str, set[str]] = {}
        """By claim: tasks that this session placed and that use it."""
        self._evicted: set[str] = set()
        self._left: dict[str, bool] = {}
        """By claim, where that changed: whether all its users are leaving."""
        self.version = 0
        """Rises with each change of what claims have."""

    def chosen(self, key: str) -> Choice | None:
        """What this session chose for the claim."""
        return self._chosen.get(key)

    def is_evicted(self, uid: str) -> bool:
        """Whether the task was evicted in this session."""
        return uid in self._evicted

    def is_full(self, claim: DeviceClaim, task: Task) -> bool:
        """Whether the claim can be reserved for no further pod."""
        takers = self._takers.get(claim.key, ())
        if len(claim.consumers) + len(takers) < MOST_CONSUMERS or is_for_group(claim, task):
            return False
        reserved = {one.uid for one in claim.consumers}.union(takers)
        return len(reserved) >= MOST_CONSUMERS and task.uid not in reserved

    def choose(self, key: str, choice: Choice) -> None:
        """The claim gets devices."""
        self._chosen[key] = choice
        self.books.add(choice.uses)

    def take(self, key: str, uid: str) -> None:
        """A task that was placed uses the claim."""
        self._takers.setdefault(key, set()).add(uid)
        self.version += 1
        self._settle(key)

    def is_taken(self, key: str, uid: str) -> bool:
        """Whether this session placed the task and it uses the claim."""
        return uid in self._takers.get(key, ())

    def give_up(self, key: str, uid: str) -> Gone:
        """The task does not use the claim any more; devices that were chosen for nobody else are free."""
        takers = self._takers[key]
        takers.discard(uid)
        choice = None
        if not takers:
            del self._takers[key]
            choice = self._chosen.pop(key, None)
            if choice is not None:
                self.books.remove(choice.uses)
        self.version += 1
        self._settle(key)
        return Gone(key, choice)

    def take_again(self, gone: Gone, uid: str) -> None:
        """Undo ``give_up``."""
        if gone.choice is not None:
            self.choose(gone.key, gone.choice)
        self.take(gone.key, uid)

    def evict(self, uid: str, keys: tuple[str, ...]) -> None:
        """The task, which uses these claims, is evicted."""
        self._evicted.add(uid)
        for key in keys:
            self._settle(key)
        self.version += 1

    def restore(self, uid: str, keys: tuple[str, ...]) -> None:
        """Undo ``evict``."""
        self._evicted.discard(uid)
        for key in keys:
            self._settle(key)
        self.version += 1

    def _settle(self, key: str) -> None:
        """Take over whether all users of a claim are leaving."""
        claim = self._catalogue.allocated.get(key)
        if claim is None:
            return
        base = key in self._base.leaving
        was = self._left.get(key, base)
        now = not self._takers.get(key) and is_leaving(claim, self._catalogue.users.get(key), self._evicted)
        if now != was:
            uses, _ = uses_of(claim.allocation, self._base.inventory)
            (self.books.leave if now else self.books.stay)(uses)
            if now == base:
                del self._left[key]
            else:
                self._left[key] = now


def is_for_group(claim: DeviceClaim, task: Task) -> bool:
    """Whether the claim is reserved for the PodGroup of the task, and so for all its pods."""
    return any(one.resource == POD_GROUPS and f"{task.namespace}/{one.name}" == task.job for one in claim.consumers)


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


class _Base(NamedTuple):
    """The uses of a snapshot. It never changes."""

    catalogue: DeviceCatalogue | None
    """Only its identity counts: the next snapshot updates its maps in place."""
    inventory: Inventory
    books: DeviceBooks
    leaving: frozenset[str]
    """Claims of which all users are leaving."""
    partial: frozenset[str]
    """Claims with devices that are not there."""
    seen: dict[str, tuple[DeviceClaim, Mapping[str, Task] | None]]
    """The claims that have devices, and their users, as they were. What they use is worked out when it is needed:
    there may be very many."""


_LAST: list[_Base] = []
"""The base that was made last; a change of few claims is worked into a copy."""


def base_of(catalogue: DeviceCatalogue, inventory: Inventory) -> _Base:
    """The uses of the claims in a catalogue."""
    last = _LAST[0] if _LAST else None
    if last is None or last.inventory is not inventory:
        last = _moved(last, inventory)
    if last.catalogue is catalogue:
        return last
    made = _followed(last, catalogue)
    _LAST[:] = [made]
    return made


def _moved(last: _Base | None, inventory: Inventory) -> _Base:
    """The uses with the numbers of another inventory, without the claims that have to be looked at again."""
    if last is None or last.inventory.first != inventory.first or len(last.inventory) != len(inventory):
        return _Base(None, inventory, DeviceBooks(inventory), frozenset(), frozenset(), {})
    both = zip(last.inventory.blocks, inventory.blocks, strict=True)
    changed = {(one.pool.driver, one.pool.name) for one, other in both if one.pool is not other.pool}
    again = {key for key, (claim, _) in last.seen.items() if _touches(claim, changed)} | last.partial
    books, seen = last.books.copy(), last.seen.copy()
    for key in again:
        mine, _ = uses_of(seen.pop(key)[0].allocation, last.inventory)
        if key in last.leaving:
            books.stay(mine)
        books.remove(mine)
    return _Base(None, inventory, books.moved(inventory), last.leaving - again, frozenset(), seen)


def _touches(claim: DeviceClaim, pools: set[tuple[str, str]]) -> bool:
    found = claim.allocation
    return found is not None and any((one.device.driver, one.device.pool) in pools for one in found.devices)


def _followed(last: _Base, catalogue: DeviceCatalogue) -> _Base:
    books, leaving, partial = last.books.copy(), set(last.leaving), set(last.partial)
    seen = last.seen.copy()
    added: list[Holding] = []
    turned: list[str] = []

    def drop(key: str) -> None:
        uses, _ = uses_of(seen.pop(key)[0].allocation, last.inventory)
        if key in leaving:
            leaving.discard(key)
            books.stay(uses)
        partial.discard(key)
        books.remove(uses)

    for key in [key for key in seen if key not in catalogue.allocated]:
        drop(key)
    for key, claim in catalogue.allocated.items():
        users = catalogue.users.get(key)
        known = seen.get(key)
        if known is not None and known[0] is claim and known[1] is users:
            continue
        if known is None or known[0] is not claim:
            if known is not None:
                drop(key)
            uses, complete = uses_of(claim.allocation, last.inventory)
            added.extend(uses)
            if not complete:
                partial.add(key)
        seen[key] = claim, users
        if is_leaving(claim, users) != (key in leaving):
            turned.append(key)
    books.add_all(added)
    for key in turned:
        uses, _ = uses_of(seen[key][0].allocation, last.inventory)
        (books.stay if key in leaving else books.leave)(uses)
    books.changed.clear()
    now = frozenset(leaving.symmetric_difference(turned))
    return _Base(catalogue, last.inventory, books, now, frozenset(partial), seen)


def uses_of(allocation: Allocation | None, inventory: Inventory) -> tuple[tuple[Holding, ...], bool]:
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
