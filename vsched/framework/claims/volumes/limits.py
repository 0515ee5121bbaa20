"""Whether nodes can attach the volumes of a task, by the limits of CSI drivers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from vsched.framework.claims.handler import ClaimRoom
from vsched.framework.claims.volumes.arranging import Arranged, StorageLookup
from vsched.framework.claims.volumes.attached import AttachedVolumes
from vsched.framework.claims.volumes.names import Attachable
from vsched.framework.claims.volumes.wants import WantedClaim, Wants
from vsched.framework.claims.volumes.words import no_driver
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.words.nodes import TOO_MANY_VOLUMES
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Mask

MASKS_MAX = 256
"""The most pairs of masks that a session caches."""
SEVERAL = 2
ROWS_ONE_BY_ONE = 32
"""Up to so many changed rows, plain numbers are faster than arrays."""
SPARE_MIN = 8
"""It is worth counting what all nodes can attach if so many volumes need no further look."""


class LimitMasks:
    """The nodes that can attach some volumes, now and later."""

    __slots__ = ("later", "now", "position", "refused", "until")

    def __init__(self, now: Mask, later: Mask, position: int, spare: int) -> None:
        """Any node can attach ``spare`` volumes more, before one refuses."""
        self.now, self.later = now, later
        self.refused = 2 * len(now) - int(np.count_nonzero(now)) - int(np.count_nonzero(later))
        """How many nodes both masks refuse together."""
        self.position = position
        """How much of the journal is taken into account."""
        self.until = position + spare if spare >= SPARE_MIN else 0
        """Up to this length of the journal, the masks stay as they are."""

    def put(self, row: int, now: bool, later: bool) -> None:
        """Replace what is known of a node."""
        self.refused += int(self.now[row]) - int(now) + int(self.later[row]) - int(later)
        self.now[row], self.later[row] = now, later


class VolumeLimits:
    """Compares the volumes of tasks with what is attached and with what can be."""

    def __init__(self, attached: AttachedVolumes, storages: StorageLookup, chosen: Mapping[str, Arranged]) -> None:
        """``chosen`` has the choices of the session, by claim."""
        self._attached = attached
        self._storages = storages
        self._chosen = chosen
        self._masks: dict[tuple[str, int, tuple[Attachable, ...]], LimitMasks] = {}
        """By driver, number of volumes, and those that are attached somewhere."""

    def checks(self, wants: Wants) -> list[Check]:
        """The nodes where each driver runs that has to, and where it can attach the volumes."""
        found: list[Check] = []
        for driver, names in self._by_driver(self._names(wants)).items():
            running = self._attached.running(driver)
            if running is not None and not running.all():
                found.append(Check(no_driver(driver), running, code=Code.VOLUMES))
            masks = self._current(driver, names)
            if masks.refused:
                found.append(Check(TOO_MANY_VOLUMES, masks.now, resolvable=True, code=Code.VOLUMES, later=masks.later))
        return found

    def fits(self, wants: Wants, row: int, arranged: Iterable[Arranged], *, later: bool) -> bool:
        """Whether the row can attach the volumes, with what was arranged for the claims that wait."""
        arranged_for = {one.claim: one for one in arranged}
        fresh = {one.name for one in arranged_for.values() if one.volume}
        names: set[Attachable | None] = set()
        for one in wants.claims:
            found = arranged_for.get(one.claim.key)
            names.add(self._known(one) if found is None else found.name)
        for driver, wanted in self._by_driver([name for name in names if name is not None]).items():
            running = self._attached.running(driver)
            if running is not None and not running[row]:
                return False
            count = self._attached.count(driver)
            new = sum(name in fresh or not self._is_there(name, row, later=later) for name in wanted)
            if new and (count.later if later else count.now)[row] + new > count.limit[row]:
                return False
        return True

    def is_certain(self, one: WantedClaim) -> bool:
        """Whether the claim counts as a volume of the same driver whatever is chosen for it."""
        need = one.content.need
        if need is None or need.selected_node or one.claim.key in self._chosen:
            return True
        static = self._storages.of(need.storage_class).static
        if static is None or static.drivers == {one.content.driver}:
            return True
        limited = self._attached.limited
        return all((driver if driver in limited else "") == one.content.driver for driver in static.drivers)

    def room(self, wanted: Sequence[WantedClaim]) -> list[ClaimRoom]:
        """How many tasks with such volumes of their own each node can attach."""
        own = (one for one in wanted if one.content.attached is None and self.is_certain(one))
        names = [one.name for one in own if one.name is not None]
        found: list[ClaimRoom] = []
        for driver, each in self._by_driver(names).items():
            count = self._attached.count(driver)
            most = np.where(count.limit < UNLIMITED, np.maximum(count.limit - count.later, 0) // len(each), UNLIMITED)
            found.append(ClaimRoom(TOO_MANY_VOLUMES, Code.VOLUMES, most))
        return found

    def _current(self, driver: str, names: Sequence[Attachable]) -> LimitMasks:
        """Where the driver can attach those of the volumes that are not there. Valid until the next step.

        After a few steps, only the rows that they changed are updated.
        """
        count, journal = self._attached.count(driver), self._attached.journal
        placed = tuple([name for name in names if self._attached.is_placed(name)])
        key = (driver, len(names), placed)
        masks = self._masks.get(key)
        if masks is not None and len(journal) <= masks.until:
            return masks
        if masks is None or masks.until or len(journal) - masks.position > ROWS_ONE_BY_ONE:
            if len(self._masks) >= MASKS_MAX:
                self._masks.clear()
            enough = count.limit - len(names)
            spare = 0 if placed or not len(enough) else int((enough - np.maximum(count.now, count.later)).min())
            masks = LimitMasks(count.now <= enough, count.later <= enough, len(journal), spare)
            self._masks[key] = masks
            changed: Iterable[int] = {row for name in placed for row in self._attached.places(name)}
        else:
            changed, masks.position = journal[masks.position :], len(journal)
        for row in changed:
            now = later = len(names)
            for name in placed:
                users = self._attached.users_at(name, row)
                now -= users[0] > 0
                later -= users[1] > 0
            limit = count.limit[row]
            fits_now, fits_later = count.now[row] + now <= limit, count.later[row] + later <= limit
            masks.put(row, bool(fits_now or not now), bool(fits_later or not later))
        return masks

    def _is_there(self, name: Attachable, row: int, *, later: bool) -> bool:
        return self._attached.users_at(name, row)[later] > 0

    def _names(self, wants: Wants) -> list[Attachable]:
        """The volumes that count whichever node the task goes to."""
        return [name for one in wants.claims if (name := self._known(one)) is not None and self.is_certain(one)]

    def _known(self, one: WantedClaim) -> Attachable | None:
        chosen = self._chosen.get(one.claim.key)
        return one.name if chosen is None else chosen.name

    def _by_driver(self, names: Collection[Attachable]) -> dict[str, list[Attachable]]:
        if len(names) < SEVERAL:
            return {name.driver: [name] for name in names}
        found: dict[str, list[Attachable]] = {}
        for name in dict.fromkeys(names):
            found.setdefault(name.driver, []).append(name)
        return found
