"""Device claims that nobody can use as they are: not there, being deleted, made for another pod, or broken."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.claims.devices import words
from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.kernels.devices.inventory import Inventory
from vsched.kernels.devices.matching import EVICTING, is_repelled
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import AllocatedDevice, DeviceClaim
from vsched.model.pods.task import Task

REASON = "ResourceClaim"
"""The reason of refusals, for programs."""


def refused(message: str, claim: str = "") -> Refusal:
    """The refusal of a task because of a claim (``namespace/name``)."""
    return Refusal(REASON, message, code=Code.CLAIM, subject=claim)


class DeviceObstacles:
    """The obstacles of one snapshot."""

    def __init__(self, catalogue: DeviceCatalogue, inventory: Inventory) -> None:
        self._catalogue = catalogue
        self._inventory = inventory

    def of(self, task: Task, keys: Sequence[str]) -> Refusal | None:
        """The first obstacle among the claims that the task names; None where there is none.

        ``keys`` begin with those of the claims of the task that are made.
        """
        named = iter(keys)
        for one in task.claims.devices if task.claims is not None else ():
            if one.none:
                continue
            if not one.claim:
                return refused(words.not_made(task.key))
            key = next(named)
            claim = self._catalogue.claims.get(key)
            if claim is None:
                return refused(words.not_found(key.rpartition("/")[2]), key)
            if claim.deleting:
                return refused(words.deleting(key.rpartition("/")[2]), key)
            if one.template and claim.owner != (one.group or task.uid):
                return refused(words.not_owner(key, task.key), key)
            found = self._lost(claim)
            if found is not None:
                return found
        return None

    def _lost(self, claim: DeviceClaim) -> Refusal | None:
        """Why the devices that a claim has are of no use to pods that still wait."""
        if claim.allocation is None:
            return None
        if claim.failed:
            return refused(words.binding_failed(claim.key, claim.failed), claim.key)
        if self._catalogue.users.get(claim.key):
            return None
        for one in claim.allocation.devices:
            number = self._inventory.number(one.device)
            if number is None:
                if self._is_gone(one):
                    return refused(words.device_gone(claim.key, one.device.path), claim.key)
            elif is_repelled(self._inventory.devices[number].traits.taints, one.tolerations, EVICTING):
                return refused(words.device_tainted(claim.key, one.device.path), claim.key)
        return None

    def _is_gone(self, one: AllocatedDevice) -> bool:
        pool = self._inventory.first.get((one.device.driver, one.device.pool))
        # While slices of a pool are missing, its device may be in one of those.
        return pool is None or self._inventory.blocks[pool[1]].pool.complete
