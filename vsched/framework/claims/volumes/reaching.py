"""Whether nodes reach the volumes of a task, or can get such: node affinity, static volumes, storage, and zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vsched.framework.claims.volumes.arranging import Arranged, StorageLookup
from vsched.framework.claims.volumes.static import VolumeNeed
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import VolumePlace, Wants, Zones
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.words.nodes import NO_STORAGE, NO_VOLUMES, OTHER_ZONE, OUT_OF_REACH
from vsched.kernels.selectors import remembered
from vsched.kernels.volumes import Terms, rows_named, terms_mask, zone_mask
from vsched.model.nodes.table import Mask, NodeStatics

PLACES = (OUT_OF_REACH, OTHER_ZONE)
"""Reasons that follow from where bound volumes are."""
ORDER = (OUT_OF_REACH, NO_VOLUMES, NO_STORAGE, OTHER_ZONE)
"""The order of kube-scheduler's filters."""
SEVERAL = 2
PLACES_MAX = 256
"""The most places whose masks a session caches."""


class Reaching:
    """Masks of the nodes that reach volumes."""

    def __init__(self, storages: StorageLookup, statics: NodeStatics, chosen: Mapping[str, Arranged]) -> None:
        """``chosen`` has the choices of the session, by claim."""
        self._storages = storages
        self._statics = statics
        self._chosen = chosen
        self._places: dict[VolumePlace, tuple[Mask, Mask]] = {}

    def checks(self, wants: Wants) -> list[Check]:
        """The nodes that reach bound volumes and are in their zones, and that can get volumes for claims that wait."""
        found = dict[str, Mask]()
        waiting: dict[str, list[VolumeNeed]] = {}
        may_come = False
        for one in wants.claims:
            place, need = one.content.place, one.content.need
            chosen = self._chosen.get(one.claim.key)
            if place is not None:
                affinity, zones = self._place(place)
                _restrict(found, OUT_OF_REACH, affinity)
                _restrict(found, OTHER_ZONE, zones)
            elif chosen is not None:
                _restrict(found, NO_VOLUMES, self._follows(chosen))
                may_come = True
            elif need is not None:
                waiting.setdefault(need.storage_class, []).append(need)
        for name, needs in waiting.items():
            storage = self._storages.of(name)
            self._restrict_to(found, storage, needs)
            may_come = may_come or not storage.provisions or storage.static is not None
        masks = ((reason, found[reason]) for reason in ORDER if reason in found)
        return [
            Check(
                reason,
                mask,
                code=Code.VOLUMES,
                lasting=reason in PLACES or (reason == NO_VOLUMES and not may_come),
            )
            for reason, mask in masks
            if not mask.all()
        ]

    def fits(self, wants: Wants, row: int) -> bool:
        """Whether the row reaches the volumes that are bound or chosen already."""
        for one in wants.claims:
            place, chosen = one.content.place, self._chosen.get(one.claim.key)
            if place is not None:
                if not all(mask[row] for mask in self._place(place)):
                    return False
            elif chosen is not None and not self._follows(chosen)[row]:
                return False
        return True

    def _place(self, place: VolumePlace) -> tuple[Mask, Mask]:
        found = self._places.get(place)
        if found is None:
            if len(self._places) >= PLACES_MAX:
                self._places.clear()
            found = self._places[place] = (self._terms(place.affinity), self._zones(place.zones))
        return found

    def _terms(self, terms: Terms) -> Mask:
        if terms is not None and len(terms) == 1 and (rows := rows_named(terms[0], self._statics)) is not None:
            # Many volumes belong to one node each. Their masks are not worth remembering.
            mask = np.zeros(len(self._statics), dtype=np.bool_)
            mask[rows] = True
            return mask
        return remembered(self._statics, ("volume affinity", terms), lambda: terms_mask(terms, self._statics))

    def _zones(self, zones: Zones) -> Mask:
        return remembered(self._statics, ("volume zones", zones), lambda: zone_mask(dict(zones), self._statics))

    def _follows(self, chosen: Arranged) -> Mask:
        """The nodes for further pods with a claim that the session chose something for."""
        static = self._storages.of(chosen.storage_class).static
        if chosen.volume and static is not None:
            return self._terms(static.volume(chosen.volume).affinity)
        mask = np.zeros(len(self._statics), dtype=np.bool_)
        mask[chosen.row] = True
        return mask

    def _restrict_to(self, found: dict[str, Mask], storage: ClassStorage, needs: Sequence[VolumeNeed]) -> None:
        """Nodes where volumes of a class exist or may be made, and where there is enough storage.

        Each claim is checked by itself, and then, where one kind of choice is left, all of them together.
        """
        for need in needs:
            possible, roomy = self._need(storage, need)
            _restrict(found, NO_VOLUMES, possible)
            if roomy is not None:
                _restrict(found, NO_STORAGE, roomy)
        if len(needs) < SEVERAL:
            return
        several = [need for need in needs if not (need.reserved or need.selected_node)]
        if several and not storage.provisions:
            _restrict(found, NO_VOLUMES, storage.count_static(several)[0] >= len(several))
        elif several and storage.static is None and storage.segments is not None:
            _restrict(found, NO_STORAGE, storage.segments.mask_together([need.request for need in several]))

    def _need(self, storage: ClassStorage, need: VolumeNeed) -> tuple[Mask, Mask | None]:
        """The nodes where a volume exists or may be made; and those of them with enough storage (None: all of them)."""
        static, allowed = storage.static_mask(need), storage.allowed_mask(need)
        if allowed is None:
            return np.zeros(len(self._statics), dtype=np.bool_) if static is None else static, None
        possible = allowed if static is None else static | allowed
        room = storage.room_mask(need)
        if room is None:
            return possible, None
        return possible, room if static is None else static | room


def _restrict(found: dict[str, Mask], reason: str, mask: Mask) -> None:
    """Keep the nodes that pass one more mask of a reason."""
    found[reason] = found[reason] & mask if reason in found else mask
