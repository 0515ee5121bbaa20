"""The volumes of a class that exist and that claims can get."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.volumes.groups import NONE, Firsts, Grouped, SourceCache, add_bounded, grouped, integers
from vsched.kernels.volumes import NOTHING, Rows, totals
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.shape import Selector


class VolumeNeed(NamedTuple):
    """What a claim that waits for its first pod asks for. Claims with equal needs have the same choice."""

    storage_class: str
    request: int
    modes: tuple[str, ...] = ()
    block: bool = False
    selector: Selector | None = None
    selected_node: str = ""
    """Where its volume is already being made."""
    attributes_class: str = ""
    """A static volume must have the same."""
    reserved: str = ""
    """The volume that people reserved for it by name."""
    counted: bool = False
    """Whether its volume is being made, and its size is taken from a segment of storage already."""


def is_for(volume: Volume, claim: VolumeClaim) -> bool:
    """Whether a volume is reserved for a claim: by name alone, or for this very claim."""
    return volume.claim == claim.key and volume.claim_uid in ("", claim.uid)


class VolumeKind(NamedTuple):
    """What of a volume must agree with a claim, besides its size and labels."""

    block: bool
    attributes_class: str
    modes: tuple[str, ...]

    def suits(self, need: VolumeNeed) -> bool:
        """Whether volumes of this kind suit a claim."""
        same = (self.block, self.attributes_class) == (need.block, need.attributes_class)
        return same and all(mode in self.modes for mode in need.modes)


class VolumeTable(NamedTuple):
    """The volumes of a class as the snapshot shows them; sessions share it."""

    volumes: Sequence[Volume]
    """Smallest first, then by name."""
    by_group: Grouped
    sizes: Ints
    """Bytes."""
    kinds: Sequence[VolumeKind]
    """The distinct kinds of volumes."""
    kind: Rows
    """intp[volumes]: the kind of each, by its position in ``kinds``."""
    free: Mask
    """Those that no claim has and that are not reserved."""
    position: Mapping[str, int]
    """By name."""
    reserved: Mapping[str, Sequence[Volume]]
    """By the claim that they are reserved for."""
    drivers: frozenset[str]


def volume_table(name: str, volumes: Sequence[Volume], statics: NodeStatics) -> VolumeTable:
    """The volumes of a class; read again only when they or the nodes change."""

    def read(before: VolumeTable | None) -> VolumeTable:
        reserved: dict[str, list[Volume]] = {}
        for one in volumes:
            if one.claim:
                reserved.setdefault(one.claim, []).append(one)
        kinds: dict[VolumeKind, int] = {}
        kind = [kinds.setdefault(VolumeKind(one.block, one.attributes_class, one.modes), len(kinds)) for one in volumes]
        return VolumeTable(
            volumes,
            grouped(volumes, statics, None if before is None else before.by_group),
            integers(one.capacity for one in volumes),
            tuple(kinds),
            np.array(kind, dtype=np.intp),
            np.array([one.available and not one.claim for one in volumes], dtype=np.bool_),
            {one.name: position for position, one in enumerate(volumes)},
            reserved,
            frozenset(one.driver for one in volumes),
        )

    cache: SourceCache[VolumeTable] = statics.remember(("static volumes", name), SourceCache)
    return cache.of(volumes, read)


class StaticVolumes:
    """The volumes of a class in one session, less those that it takes."""

    def __init__(self, table: VolumeTable) -> None:
        self._table = table
        self.volumes, self.sizes, self.drivers = table.volumes, table.sizes, table.drivers
        self._by_group = table.by_group
        self._free = table.free.copy()
        self._changes: list[int] = []
        self._suited: dict[VolumeNeed, Mask] = {}
        self._firsts: dict[VolumeNeed, Firsts] = {}

    def volume(self, name: str) -> Volume:
        """A volume of the class."""
        return self.volumes[self._table.position[name]]

    def reserved_for(self, claim: VolumeClaim) -> Volume | None:
        """The smallest volume that is reserved for a claim and large enough."""
        for volume in self._table.reserved.get(claim.key, ()):
            if is_for(volume, claim) and volume.capacity >= claim.request and volume.block is claim.block:
                return volume
        return None

    def first(self, need: VolumeNeed) -> Ints:
        """int64[nodes]: the smallest volume that such a claim may get on each node, ``NOTHING`` where there is none."""
        found = self._firsts.get(need)
        suits = self._suits(need)
        if found is None:
            usable = suits.copy() if need.reserved else suits & self._free
            found = Firsts(self._by_group, usable, len(self._changes))
            add_bounded(self._firsts, need, found)
        if not need.reserved:
            for position in range(found.position, len(self._changes)):
                volume = self._changes[position]
                found.change(volume, bool(suits[volume] and self._free[volume]))
            found.position = len(self._changes)
        return found.first

    def at(self, need: VolumeNeed, row: int, besides: Collection[int] = ()) -> int:
        """The smallest volume for the claim that the node reaches, without some; ``NONE`` where there is none."""
        first = int(self.first(need)[row])
        if first == NOTHING:
            return NONE
        if first not in besides:
            return first
        usable = self._firsts[need].usable
        here = self._by_group.members_at(row)
        return next((int(one) for one in here[usable[here]].tolist() if one not in besides), NONE)

    def all_at(self, need: VolumeNeed, row: int) -> list[int]:
        """The volumes that the claim may get and the node reaches, smallest first."""
        if self.first(need)[row] == NOTHING:
            return []
        here = self._by_group.members_at(row)
        found: list[int] = np.sort(here[self._firsts[need].usable[here]]).tolist()
        return found

    def kind_for(self, volume: int, needs: Iterable[VolumeNeed]) -> Hashable:
        """Equal for volumes that nodes reach alike and that the same of these claims may get."""
        table = self._table
        group, driver = int(self._by_group.group[volume]), table.volumes[volume].driver
        return group, driver, tuple([bool(self._suits(need)[volume]) for need in needs])

    def count(self, needs: Iterable[VolumeNeed]) -> tuple[Ints, int]:
        """int64[nodes]: how many volumes that suit one of the claims each node reaches; and how many there are."""
        suited = np.logical_or.reduce([self._suits(need) for need in needs]) & self._free
        by_group = np.zeros(self._by_group.where.size, dtype=np.int64)
        np.add.at(by_group, self._by_group.group[suited], 1)
        return totals(self._by_group.where, by_group), int(suited.sum())

    def shift(self, name: str, *, free: bool) -> None:
        """A volume is taken, or given back."""
        position = self._table.position[name]
        self._free[position] = free
        self._changes.append(position)

    def _suits(self, need: VolumeNeed) -> Mask:
        """bool[volumes]: those that suit such a claim, free or not. A reserved one is all that its claim may get."""
        found = self._suited.get(need)
        if found is None:
            if need.reserved:
                found = np.zeros(len(self.volumes), dtype=np.bool_)
                found[self._table.position[need.reserved]] = True
            else:
                kinds = np.array([kind.suits(need) for kind in self._table.kinds], dtype=np.bool_)
                found = kinds[self._table.kind] & (self.sizes >= need.request)
                if need.selector is not None:
                    for position in np.flatnonzero(found).tolist():
                        found[position] = need.selector.matches(self.volumes[position].labels)
            self._suited[need] = found
        return found
