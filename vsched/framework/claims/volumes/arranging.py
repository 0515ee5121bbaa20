"""Chooses volumes on one node for the claims of a task that wait for their first pod.

kube-scheduler's choice comes first: smaller claims first, each gets the smallest volume that suits it. A claim
may so get the only volume that another one can use; then the volumes are chosen in another way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from vsched.framework.claims.volumes.groups import NONE
from vsched.framework.claims.volumes.names import Attachable, AttachNames
from vsched.framework.claims.volumes.static import VolumeNeed
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import WantedClaim

TRIES_MAX = 500
"""How many choices are tried for the claims of a pod on one node, besides kube-scheduler's."""
TRIES_OF_A_SESSION = 20_000
"""How many are tried so in one session, before it is content with ``TRIES_MIN`` on each node."""
TRIES_MIN = 10


class TriesLeft:
    """How many choices may still be tried."""

    def __init__(self) -> None:
        self._left = TRIES_OF_A_SESSION
        self._here = 0

    def begin(self) -> None:
        """The choice on one node begins."""
        self._here = max(TRIES_MIN, min(TRIES_MAX, self._left))

    def take(self) -> bool:
        """Take one; False where there is none left."""
        if not self._here:
            return False
        self._here -= 1
        self._left -= 1
        return True


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


def arrangements(
    storages: StorageLookup,
    names: AttachNames,
    waiting: Sequence[WantedClaim],
    row: int,
    tries: TriesLeft,
    beside: Sequence[VolumeNeed],
) -> Iterator[tuple[Arranged, ...]]:
    """What the claims may get on the node, all of them: first as kube-scheduler chooses, then in all other ways.

    Volumes of one size that are alike for these claims, and for claims with the needs ``beside``, are not told apart.
    As many choices are tried as ``tries`` allows.
    """
    if not waiting:
        yield ()
        return
    first = arrange(storages, names, waiting, row)
    if first is not None:
        yield first
    needs = [*(one.content.need for one in waiting if one.content.need is not None), *beside]
    tries.begin()
    for found in _others(storages, names, waiting, row, needs, {}, tries):
        if found != first:
            yield found


def is_possible(
    storages: StorageLookup,
    names: AttachNames,
    waiting: Sequence[WantedClaim],
    row: int,
    wanted: Sequence[Arranged],
) -> bool:
    """Whether these claims may get just this on the node."""
    chosen: dict[str, Arranged] = {}
    for one, mine in zip(waiting, wanted, strict=False):
        if all(option != mine for option, _ in _options(storages, names, one, row, (), chosen)):
            return False
        chosen[one.claim.key] = mine
    return len(waiting) == len(wanted)


def _others(
    storages: StorageLookup,
    names: AttachNames,
    waiting: Sequence[WantedClaim],
    row: int,
    needs: Sequence[VolumeNeed],
    chosen: dict[str, Arranged],
    tries: TriesLeft,
) -> Iterator[tuple[Arranged, ...]]:
    """The same for the claims that nothing is chosen for yet."""
    one = next((one for one in waiting if one.claim.key not in chosen), None)
    if one is None:
        yield tuple(chosen[one.claim.key] for one in waiting)
        return
    seen: set[Hashable] = set()
    for option, kind in _options(storages, names, one, row, needs, chosen):
        if kind in seen:
            continue
        if not tries.take():
            return
        seen.add(kind)
        chosen[one.claim.key] = option
        yield from _others(storages, names, waiting, row, needs, chosen, tries)
        del chosen[one.claim.key]


def _options(
    storages: StorageLookup,
    names: AttachNames,
    one: WantedClaim,
    row: int,
    needs: Sequence[VolumeNeed],
    chosen: Mapping[str, Arranged],
) -> Iterator[tuple[Arranged, Hashable]]:
    """What a claim may get beside what is chosen, with what is equal for options that are alike."""
    need = one.content.need
    assert need is not None
    storage = storages.of(need.storage_class)
    mine = [other for other in chosen.values() if other.storage_class == storage.name]
    static = storage.static
    if static is not None and not need.selected_node:
        gone = {other.volume for other in mine}
        for position in static.all_at(need, row):
            volume = static.volumes[position]
            if volume.name not in gone:
                kind = static.kind_for(position, [other for other in needs if other.storage_class == storage.name])
                yield _of_volume(names, one, storage, row, position), kind
    if not storage.can_make(need, row):
        return
    if storage.segments is None or need.counted:
        yield _made_in(one, storage, row, NONE), NONE
        return
    more: dict[int, int] = {}
    for other in mine:
        more[other.segment] = more.get(other.segment, 0) + other.request
    for segment in storage.segments.all_at(row, need.request, more):
        yield _made_in(one, storage, row, segment), segment


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
    return _of_volume(names, one, storage, row, position)


def _of_volume(names: AttachNames, one: WantedClaim, storage: ClassStorage, row: int, position: int) -> Arranged:
    """A static volume for a claim."""
    need, static = one.content.need, storage.static
    assert need is not None
    assert static is not None
    volume = static.volumes[position]
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
    return _made_in(one, storage, row, segment)


def _made_in(one: WantedClaim, storage: ClassStorage, row: int, segment: int) -> Arranged:
    """A volume that is made for a claim."""
    need = one.content.need
    assert need is not None
    return Arranged(one.claim.key, one.claim.uid, storage.name, row, one.name, segment=segment, request=need.request)
