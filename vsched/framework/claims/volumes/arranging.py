"""Chooses volumes on one node for the claims of a task that wait for their first pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from vsched.framework.claims.volumes.groups import NONE
from vsched.framework.claims.volumes.names import Attachable, AttachNames
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import WantedClaim


class Arranged(NamedTuple):
    """What was chosen for a claim."""

    claim: str
    uid: str
    storage_class: str
    row: int
    """The node of the pod that it was chosen for."""
    name: Attachable | None
    """The volume as nodes attach it; None where nothing limits it."""
    volume: str = ""
    """The static volume; empty: one is made on the node."""
    reserved: bool = False
    """Whether the volume was reserved for the claim before."""
    segment: int = NONE
    """The segment of storage from which ``request`` is taken."""
    request: int = 0


class StorageLookup(Protocol):
    """Finds what can be got of a storage class."""

    def of(self, name: str) -> ClassStorage:
        """What can be got of a class that exists."""


def arrange(
    storages: StorageLookup, names: AttachNames, waiting: Sequence[WantedClaim], row: int
) -> tuple[Arranged, ...] | None:
    """What the claims get on the node; None where one of them gets nothing.

    As kube-scheduler does it: smaller claims first, each claim gets the smallest static volume that suits it, and
    volumes are made for those without.
    """
    if not waiting:
        return ()
    chosen: dict[str, Arranged] = {}
    given: dict[str, list[int]] = {}
    for one in sorted(waiting, key=lambda one: one.claim.request):
        found = _static(storages, names, one, row, given)
        if found is not None:
            chosen[one.claim.key] = found
    more: dict[str, dict[int, int]] = {}
    for one in waiting:
        if one.claim.key not in chosen:
            made = _made(storages, one, row, more)
            if made is None:
                return None
            chosen[one.claim.key] = made
    return tuple(chosen[one.claim.key] for one in waiting)


def _static(
    storages: StorageLookup, names: AttachNames, one: WantedClaim, row: int, given: dict[str, list[int]]
) -> Arranged | None:
    """The smallest free volume for the claim."""
    need = one.content.need
    assert need is not None
    storage = storages.of(need.storage_class)
    if storage.static is None or need.selected_node:
        return None
    taken = given.setdefault(storage.name, [])
    position = storage.static.at(need, row, taken)
    if position == NONE:
        return None
    taken.append(position)
    volume = storage.static.volumes[position]
    return Arranged(
        one.claim.key,
        one.claim.uid,
        storage.name,
        row,
        names.of_volume(volume),
        volume.name,
        reserved=bool(need.reserved),
    )


def _made(storages: StorageLookup, one: WantedClaim, row: int, more: dict[str, dict[int, int]]) -> Arranged | None:
    """A volume that is made for the claim on the node."""
    need = one.content.need
    assert need is not None
    storage = storages.of(need.storage_class)
    if not storage.can_make(need, row):
        return None
    segment = NONE
    if storage.segments is not None and not need.counted:
        taken = more.setdefault(storage.name, {})
        segment = storage.segments.at(row, need.request, taken)
        if segment == NONE:
            return None
        taken[segment] = taken.get(segment, 0) + need.request
    return Arranged(one.claim.key, one.claim.uid, storage.name, row, one.name, segment=segment, request=need.request)
