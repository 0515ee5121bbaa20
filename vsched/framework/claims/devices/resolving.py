"""The device claims of tasks in a session: which claims a task has and uses, and what has yet to be allocated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vsched.framework.claims.devices.needs import DeviceNeeds, Implicit, NeedsTable
from vsched.framework.claims.devices.uses import ClaimUses
from vsched.kernels.devices.inventory import Inventory
from vsched.model.amounts.resources import scale_of
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import AllocationResult, ClaimSpec
from vsched.model.pods.task import Task


class AllocatedClaim(NamedTuple):
    """A claim that has devices."""

    allocation: AllocationResult
    later: bool
    """Whether some of the devices are still in use by pods that are leaving."""


class TaskDevices(NamedTuple):
    """The device claims of a task, as the session sees them now."""

    named: tuple[str, ...]
    """The claims that it names and that are made, by key; the one made for its extended resources comes last."""
    keys: tuple[str, ...]
    """The claims that it uses when it is placed, and then the one for extended resources that devices serve."""
    fresh: tuple[str, ...]
    """Claims that have no devices yet, by key; without the one for extended resources."""
    needs: DeviceNeeds | None
    """What these and the extended resources ask for; None where nothing is to be allocated."""
    allocated: tuple[AllocatedClaim, ...]
    full: bool
    """Whether one of them can be reserved for no further pod."""


class DeviceResolver:
    """Looks up the device claims of tasks in the catalogue and the uses of one session."""

    def __init__(
        self, catalogue: DeviceCatalogue, inventory: Inventory, uses: ClaimUses, resources: Sequence[str]
    ) -> None:
        """``resources`` are the names of resources by column."""
        self._catalogue = catalogue
        self._uses = uses
        self._names = resources
        self._needs = NeedsTable(catalogue.classes, inventory)
        self._last: tuple[Task, int, TaskDevices] | None = None

    def of(self, task: Task) -> TaskDevices:
        """The device claims of a task, as of now."""
        last = self._last
        if last is None or last[0] is not task or last[1] != self._uses.version:
            last = self._last = task, self._uses.version, self._resolved(task)
        return last[2]

    def _resolved(self, task: Task) -> TaskDevices:
        fresh: list[str] = []
        specs: list[ClaimSpec] = []
        allocated: list[AllocatedClaim] = []
        full = False
        named = self.named(task)
        keys = self.keys(task, named)
        claims, shared = self._catalogue.claims, shared_claims(task)
        for name, key in zip(named, keys, strict=False):
            claim = claims.get(name)
            if claim is None or (key != name and name == self._catalogue.made.get(task.uid)):
                continue
            chosen = self._uses.chosen(key)
            if chosen is not None:
                allocated.append(AllocatedClaim(chosen, self._uses.is_late(key)))
            elif claim.allocation is not None and key == name:
                allocated.append(AllocatedClaim(claim.allocation, False))
            else:
                fresh.append(key)
                specs.append(claim.spec)
            full = full or (key == name and self._uses.is_full(claim, task, shared=key in shared))
        implicit = self._implicit(task) if self._catalogue.extended else ()
        needs = self._needs.of(tuple(specs), implicit) if specs or implicit else None
        return TaskDevices(named, keys, tuple(fresh), needs, tuple(allocated), full)

    def named(self, task: Task) -> tuple[str, ...]:
        """The claims of the task that are there, by key; the one made for its extended resources comes last."""
        claims, named = self._catalogue.claims, []
        for one in task.claims.devices if task.claims is not None else ():
            if one.claim and not one.none:
                claim = claims.get(one.claim)
                named.append(one.claim if claim is None else claim.key)  # one string object for each claim
        made = self._catalogue.made.get(task.uid)
        if made is not None:
            named.append(made)
        return tuple(named)

    def keys(self, task: Task, named: tuple[str, ...]) -> tuple[str, ...]:
        """The claims that the task uses when it is placed, and then the one for extended resources that devices serve.

        A task that was evicted is placed again to see where its successor would go: the successor gets claims of its
        own in place of those that were made for the task.
        """
        if not self._uses.is_evicted(task.uid):
            return (*named, extended_claim(task)) if self._catalogue.extended else named
        own = tuple(f"\0{task.uid}/{key}" if self._is_own(key, task) else key for key in named)
        return (*own, extended_claim(task))

    def _is_own(self, key: str, task: Task) -> bool:
        claim = self._catalogue.claims.get(key)
        return claim is not None and claim.owner == task.uid

    def _implicit(self, task: Task) -> tuple[Implicit, ...]:
        extended = self._catalogue.extended
        if self._uses.chosen(extended_claim(task)) is not None:
            return ()
        if task.uid in self._catalogue.made and not self._uses.is_evicted(task.uid):
            return ()
        return tuple(
            Implicit(column, self._names[column], extended[column], amount // scale_of(self._names[column]))
            for column, amount in task.shape.request
            if column in extended
        )


def extended_claim(task: Task) -> str:
    """The name in the session of the claim that is to be made for the extended resources of a task."""
    return f"\0{task.uid}"


def shared_claims(task: Task) -> Mapping[str, str]:
    """The claims that the pods of a native PodGroup share, with the uid of the group."""
    devices = task.claims.devices if task.claims is not None and task.group else ()
    return {one.claim: one.group for one in devices if one.group and one.claim}
