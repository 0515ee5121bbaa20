"""Which claims have which devices in a session: those of the snapshot, and those that the session chose."""

from __future__ import annotations

from typing import NamedTuple

from vsched.framework.claims.devices.base import base_of, is_leaving, uses_of
from vsched.kernels.devices.books import Holding
from vsched.kernels.devices.inventory import Inventory
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import MOST_CONSUMERS, POD_GROUPS, AllocationResult, DeviceClaim
from vsched.model.groups import NameGroups
from vsched.model.pods.task import Task


class GivenUp(NamedTuple):
    """What a task had of one claim before it gave up its place."""

    key: str
    allocation: AllocationResult | None
    """What was chosen for the claim, and is not chosen any more."""
    later: bool


class ClaimUses:
    """The uses of claims. It follows the steps of a session."""

    def __init__(self, catalogue: DeviceCatalogue, inventory: Inventory) -> None:
        self._catalogue = catalogue
        self._base = base_of(catalogue, inventory)
        self.books = self._base.books.copy()
        self._chosen: dict[str, AllocationResult] = {}
        """By claim: devices that this session chose."""
        self._late: set[str] = set()
        """The claims that have some of these only once pods have left that use them still."""
        self._takers: NameGroups[str] = NameGroups()
        """By claim: the tasks that this session placed and that use it."""
        self._evicted: set[str] = set()
        self._left: dict[str, bool] = {}
        """By claim, where that changed: whether all its users are leaving."""
        self.version = 0
        """Rises with each change of what claims have."""

    def chosen(self, key: str) -> AllocationResult | None:
        """The devices that this session chose for the claim."""
        return self._chosen.get(key)

    def is_late(self, key: str) -> bool:
        """Whether some of these are still in use by pods that are leaving."""
        return key in self._late

    def is_evicted(self, uid: str) -> bool:
        """Whether the task was evicted in this session."""
        return uid in self._evicted

    def is_full(self, claim: DeviceClaim, task: Task, *, shared: bool) -> bool:
        """Whether the claim can be reserved for no further pod; ``shared`` if it is to be reserved for a PodGroup."""
        if shared:
            return len(claim.consumers) >= MOST_CONSUMERS and not is_for_group(claim, task)
        takers = self._takers.of(claim.key)
        if len(claim.consumers) + len(takers) < MOST_CONSUMERS or is_for_group(claim, task):
            return False
        reserved = {one.uid for one in claim.consumers}.union(takers)
        return len(reserved) >= MOST_CONSUMERS and task.uid not in reserved

    def choose(self, key: str, allocation: AllocationResult, *, later: bool) -> None:
        """The claim gets devices; ``later`` where some of them are still in use by pods that are leaving."""
        self._chosen[key] = allocation
        if later:
            self._late.add(key)
        self.books.add(self._uses_of(allocation))

    def take(self, key: str, uid: str) -> None:
        """A task that was placed uses the claim."""
        self._takers.add(key, uid)
        self.version += 1
        self._settle(key)

    def is_taken(self, key: str, uid: str) -> bool:
        """Whether this session placed the task and it uses the claim."""
        return uid in self._takers.of(key)

    def give_up(self, key: str, uid: str) -> GivenUp:
        """The task does not use the claim any more; devices that were chosen for nobody else are free."""
        self._takers.discard(key, uid)
        allocation, later = None, False
        if not self._takers.of(key):
            allocation, later = self._chosen.pop(key, None), self.is_late(key)
            self._late.discard(key)
            if allocation is not None:
                self.books.remove(self._uses_of(allocation))
        self.version += 1
        self._settle(key)
        return GivenUp(key, allocation, later)

    def take_again(self, gone: GivenUp, uid: str) -> None:
        """Undo ``give_up``."""
        if gone.allocation is not None:
            self.choose(gone.key, gone.allocation, later=gone.later)
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

    def _uses_of(self, allocation: AllocationResult) -> tuple[Holding, ...]:
        return uses_of(allocation, self._base.inventory)[0]

    def _settle(self, key: str) -> None:
        """Take over whether all users of a claim are leaving."""
        claim = self._catalogue.allocated.get(key)
        if claim is None:
            return
        base = key in self._base.leaving
        was = self._left.get(key, base)
        now = not self._takers.of(key) and is_leaving(claim, self._catalogue.users.get(key), self._evicted)
        if now != was:
            uses, _ = uses_of(claim.allocation, self._base.inventory)
            (self.books.leave if now else self.books.stay)(uses)
            if now == base:
                del self._left[key]
            else:
                self._left[key] = now


def is_for_group(claim: DeviceClaim, task: Task) -> bool:
    """Whether the claim is reserved for the PodGroup of the task, and so for all its pods."""
    keys = task.job, f"{task.namespace}/{task.group}"
    return any(one.resource == POD_GROUPS and f"{task.namespace}/{one.name}" in keys for one in claim.consumers)
