"""Whether nodes reach the volumes of a task, or can get such: node affinity, static volumes, storage, and zones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vsched.framework.claims.volumes.arranging import Arranged, StorageLookup
from vsched.framework.claims.volumes.static import Wish
from vsched.framework.claims.volumes.storage import ClassStorage
from vsched.framework.claims.volumes.wants import Place, Wanted, Wants, Zones
from vsched.framework.claims.volumes.words import NO_STORAGE, NO_VOLUMES, OTHER_ZONE, OUT_OF_REACH
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.kernels.selectors import remembered
from vsched.kernels.volumes import Terms, terms_mask, zone_mask
from vsched.model.nodes.table import Mask, NodeStatics


class Reaching:
    """Masks of the nodes that reach volumes."""

    def __init__(self, storages: StorageLookup, statics: NodeStatics, chosen: Mapping[str, Arranged]) -> None:
        """``chosen`` has the choices of the session, by claim."""
        self._storages = storages
        self._statics = statics
        self._chosen = chosen
        self._places: dict[Place, tuple[Mask, Mask]] = {}
        self._lasting: dict[int, list[Check]] = {}
        """By the number of the wants: checks that no step of the session changes."""

    def checks(self, wants: Wants) -> list[Check]:
        """The nodes that reach bound volumes and are in their zones, and that can get volumes for claims that wait."""
        if not all(self._lasts(one) for one in wants.claims):
            return self._worked_out(wants)
        found = self._lasting.get(wants.number)
        if found is None:
            found = self._lasting[wants.number] = self._worked_out(wants)
        return found

    def _lasts(self, one: Wanted) -> bool:
        """Whether nothing that the session places can change which nodes suit the claim."""
        if one.claim.key in self._chosen:
            return False
        wish = one.content.wish
        return wish is None or not self._storages.of(wish.storage_class).competes

    def _worked_out(self, wants: Wants) -> list[Check]:
        size = len(self._statics)
        near, bindable, enough, zoned = (np.ones(size, dtype=np.bool_) for _ in range(4))
        for one in wants.claims:
            place, wish = one.content.place, one.content.wish
            chosen = self._chosen.get(one.claim.key)
            if place is not None:
                affinity, zones = self._place(place)
                near &= affinity
                zoned &= zones
            elif chosen is not None:
                bindable &= self._follows(chosen)
            elif wish is not None:
                possible, roomy = self._wish(self._storages.of(wish.storage_class), wish)
                bindable &= possible
                if roomy is not None:
                    enough &= roomy
        found = ((OUT_OF_REACH, near), (NO_VOLUMES, bindable), (NO_STORAGE, enough), (OTHER_ZONE, zoned))
        return [Check(reason, mask, code=Code.VOLUMES) for reason, mask in found if not mask.all()]

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

    def _place(self, place: Place) -> tuple[Mask, Mask]:
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = (self._terms(place.affinity), self._zones(place.zones))
        return found

    def _terms(self, terms: Terms) -> Mask:
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

    def _wish(self, storage: ClassStorage, wish: Wish) -> tuple[Mask, Mask | None]:
        """The nodes where a volume exists or may be made; and those of them with enough storage (None: all of them)."""
        static, allowed = storage.static_mask(wish), storage.allowed_mask(wish)
        if allowed is None:
            return np.zeros(len(self._statics), dtype=np.bool_) if static is None else static, None
        possible = allowed if static is None else static | allowed
        room = storage.room_mask(wish)
        if room is None:
            return possible, None
        return possible, room if static is None else static | room
