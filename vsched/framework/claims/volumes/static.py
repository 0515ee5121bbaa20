"""The volumes of a class that exist and that claims can get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.volumes.groups import NONE, Grouped, first_of, integers
from vsched.kernels.volumes import groups_at, least, reached, totals
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import Selector


class Wish(NamedTuple):
    """What a claim that waits for its first pod asks for. Claims with equal wishes have the same choice."""

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


class StaticVolumes:
    """Volumes of a class that exist, smallest first, without those that are reserved or taken."""

    def __init__(self, volumes: Sequence[Volume], by_group: Grouped) -> None:
        self.volumes = volumes
        self.where, self._group = by_group.where, by_group.group
        self.sizes = integers(one.capacity for one in volumes)
        self.free = np.array([one.available and not one.claim for one in volumes], dtype=np.bool_)
        self.position = {one.name: position for position, one in enumerate(volumes)}
        self._reserved: dict[str, list[Volume]] = {}
        for one in volumes:
            if one.claim:
                self._reserved.setdefault(one.claim, []).append(one)
        self.drivers = frozenset(one.driver for one in volumes)
        self._suited: dict[Wish, Mask] = {}

    def reserved_for(self, claim: VolumeClaim) -> Volume | None:
        """The smallest volume that is reserved for a claim and large enough."""
        for volume in self._reserved.get(claim.key, ()):
            if is_for(volume, claim) and volume.capacity >= claim.request and volume.block is claim.block:
                return volume
        return None

    def suited(self, wish: Wish) -> Mask:
        """bool[volumes]: the free volumes that such a claim may get. A reserved one is all that its claim may get."""
        if wish.reserved:
            only = np.zeros(len(self.volumes), dtype=np.bool_)
            only[self.position[wish.reserved]] = True
            return only
        found = self._suited.get(wish)
        if found is None:
            suits = [self._suits(one, wish) for one in self.volumes]
            found = self._suited[wish] = np.array(suits, dtype=np.bool_)
        return found & self.free

    def mask(self, wish: Wish) -> Mask:
        """bool[nodes]: the nodes that reach such a volume."""
        groups = np.zeros(self.where.size, dtype=np.bool_)
        groups[self._group[self.suited(wish)]] = True
        return reached(self.where, groups)

    def at(self, wish: Wish, row: int, besides: Sequence[int] = ()) -> int:
        """The smallest volume for the claim that the node reaches, without some; ``NONE`` where there is none."""
        suited = self.suited(wish) & np.isin(self._group, groups_at(self.where, row))
        suited[list(besides)] = False
        found = np.flatnonzero(suited)
        return int(found[0]) if len(found) else NONE

    def first(self, wish: Wish) -> Ints:
        """int64[nodes]: the volume that ``at`` finds for each node, ``NOTHING`` where it finds none."""
        return least(self.where, first_of(self._group, self.suited(wish), self.where.size))

    def count(self, wishes: Iterable[Wish]) -> tuple[Ints, int]:
        """int64[nodes]: how many volumes that suit one of the claims each node reaches; and how many there are."""
        suited = np.logical_or.reduce([self.suited(wish) for wish in wishes])
        by_group = np.zeros(self.where.size, dtype=np.int64)
        np.add.at(by_group, self._group[suited], 1)
        return totals(self.where, by_group), int(suited.sum())

    def _suits(self, volume: Volume, wish: Wish) -> bool:
        return (
            volume.capacity >= wish.request
            and volume.block is wish.block
            and volume.attributes_class == wish.attributes_class
            and all(mode in volume.modes for mode in wish.modes)
            and (wish.selector is None or wish.selector.matches(volume.labels))
        )
