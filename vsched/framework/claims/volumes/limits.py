"""Whether nodes can attach the volumes of a task, by the limits of CSI drivers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vsched.framework.claims.part import ClaimRoom
from vsched.framework.claims.volumes.arranging import Arranged, StorageLookup
from vsched.framework.claims.volumes.attached import AttachedVolumes
from vsched.framework.claims.volumes.names import Attachable
from vsched.framework.claims.volumes.wants import Wanted, Wants
from vsched.framework.claims.volumes.words import NO_DRIVER, TOO_MANY
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Mask

MASKS_MAX = 256
"""The most masks that a session keeps."""


class VolumeLimits:
    """Compares the volumes of tasks with what is attached and with what can be."""

    def __init__(self, attached: AttachedVolumes, storages: StorageLookup, chosen: Mapping[str, Arranged]) -> None:
        """``chosen`` has the choices of the session, by claim."""
        self._attached = attached
        self._storages = storages
        self._chosen = chosen
        self._masks: dict[tuple[str, int, tuple[Attachable, ...], bool], tuple[int, Mask]] = {}
        """By driver, number of volumes, those that are attached somewhere, and whether later: the mask, and how much of
        the journal it takes into account."""

    def checks(self, wants: Wants) -> list[Check]:
        """The nodes where each driver runs that has to, and where it can attach the volumes."""
        found: list[Check] = []
        for driver, names in self._by_driver(self._names(wants)).items():
            running = self._attached.running(driver)
            if running is not None and not running.all():
                found.append(Check(NO_DRIVER.format(driver=driver), running, code=Code.VOLUMES))
            now, later = self._mask(driver, names, later=False), self._mask(driver, names, later=True)
            if not (now.all() and later.all()):
                found.append(Check(TOO_MANY, now, resolvable=True, code=Code.VOLUMES, later=later))
        return found

    def fits(self, wants: Wants, row: int, arranged: Iterable[Arranged], *, later: bool) -> bool:
        """Whether the row can attach the volumes, with what was arranged for the claims that wait."""
        arranged_for = {one.claim: one for one in arranged}
        fresh = {one.name for one in arranged_for.values() if one.volume}
        names: set[Attachable | None] = set()
        for one in wants.claims:
            found = arranged_for.get(one.claim.key)
            names.add(self._known(one) if found is None else found.name)
        for driver, wanted in self._by_driver(name for name in names if name is not None).items():
            running = self._attached.running(driver)
            if running is not None and not running[row]:
                return False
            count = self._attached.count(driver)
            new = sum(name in fresh or not self._is_there(name, row, later=later) for name in wanted)
            if new and (count.later if later else count.now)[row] + new > count.limit[row]:
                return False
        return True

    def is_certain(self, one: Wanted) -> bool:
        """Whether the claim counts as a volume of the same driver whatever is chosen for it."""
        wish = one.content.wish
        if wish is None or wish.selected_node or one.claim.key in self._chosen:
            return True
        static = self._storages.of(wish.storage_class).static
        if static is None or static.drivers == {one.content.driver}:
            return True
        limited = self._attached.limited
        return all((driver if driver in limited else "") == one.content.driver for driver in static.drivers)

    def room(self, wanted: Sequence[Wanted]) -> list[ClaimRoom]:
        """How many tasks with such volumes of their own each node can attach."""
        own = (one for one in wanted if one.content.attached is None and self.is_certain(one))
        names = (one.name for one in own if one.name is not None)
        found: list[ClaimRoom] = []
        for driver, each in self._by_driver(names).items():
            count = self._attached.count(driver)
            most = np.where(count.limit < UNLIMITED, np.maximum(count.limit - count.later, 0) // len(each), UNLIMITED)
            found.append(ClaimRoom(TOO_MANY, Code.VOLUMES, most))
        return found

    def _mask(self, driver: str, names: Sequence[Attachable], *, later: bool) -> Mask:
        """bool[nodes]: where the driver can attach those of the volumes that are not there. Valid until the next step.

        After a step, only the rows are looked at that it changed.
        """
        count, journal = self._attached.count(driver), self._attached.journal
        used = count.later if later else count.now
        placed = tuple(name for name in names if self._attached.is_placed(name))
        key = (driver, len(names), placed, later)
        known = self._masks.get(key)
        if known is None or len(journal) - known[0] > len(used):
            mask: Mask = used + len(names) <= count.limit
            changed: Iterable[int] = {row for name in placed for row in self._attached.places(name)}
        else:
            mask, changed = known[1], journal[known[0] :]
        for row in changed:
            new = len(names) - sum([self._is_there(name, row, later=later) for name in placed])
            mask[row] = not new or used[row] + new <= count.limit[row]
        if len(self._masks) >= MASKS_MAX:
            self._masks.clear()
        self._masks[key] = len(journal), mask
        return mask

    def _is_there(self, name: Attachable, row: int, *, later: bool) -> bool:
        return self._attached.users_at(name, row)[later] > 0

    def _names(self, wants: Wants) -> Iterable[Attachable]:
        """The volumes that count whichever node the task goes to."""
        return (name for one in wants.claims if (name := self._known(one)) is not None and self.is_certain(one))

    def _known(self, one: Wanted) -> Attachable | None:
        chosen = self._chosen.get(one.claim.key)
        return one.name if chosen is None else chosen.name

    def _by_driver(self, names: Iterable[Attachable]) -> dict[str, list[Attachable]]:
        found: dict[str, list[Attachable]] = {}
        for name in dict.fromkeys(names):
            found.setdefault(name.driver, []).append(name)
        return found
