"""How many volumes are attached to each node in a session, by CSI driver, and how many more a node can attach.

A volume counts once a node, however many pods use it there. It counts until the last of them has left.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.volumes.counted import (
    NOBODY,
    ONE_USER,
    AttachedCount,
    CountedVolumes,
    Users,
    counted,
    limited_drivers,
)
from vsched.framework.claims.volumes.names import Attachable
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.nodes.table import Mask, NodeStatics


class AttachStep(NamedTuple):
    """So many users more, or less, of each volume on a node: now, and later."""

    row: int
    names: Sequence[Attachable]
    now: int
    later: int


class AttachedVolumes:
    """Follows the volumes on nodes in one session. Nodes are counted when the first limit is asked for."""

    def __init__(self, catalogue: VolumeCatalogue, statics: NodeStatics) -> None:
        self._catalogue = catalogue
        self._statics = statics
        self._limited: frozenset[str] | None = None
        self._running: dict[str, Mask] = {}
        self._counted: CountedVolumes | None = None
        """As the snapshot shows them; None before the nodes are counted."""
        self._counts: dict[str, AttachedCount] = {}
        self._users: dict[int, dict[Attachable, Users]] = {}
        """By row: the users of the volumes that steps of the session changed there."""
        self._rows: dict[Attachable, tuple[int, ...]] = {}
        """The rows where steps of the session changed the users of a volume."""
        self._interned: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Equal values of ``_rows`` are one object."""
        self._before: list[AttachStep] = []
        """Steps before the nodes were counted."""
        self.journal: list[int] = []
        """Rows where counts may have changed, in order and once for each volume, after the nodes are counted."""

    @property
    def limited(self) -> frozenset[str]:
        """The drivers that some node limits, and those that have to run on the node."""
        if self._limited is None:
            self._limited = limited_drivers(self._catalogue, self._statics)
        return self._limited

    def running(self, driver: str) -> Mask | None:
        """bool[nodes]: the nodes where a driver runs; None where pods do not need it to run there."""
        known = self._catalogue.drivers.get(driver)
        if known is None or not known.required:
            return None
        mask = self._running.get(driver)
        if mask is None:
            limits = self._catalogue.limits
            mask = np.array([driver in limits.get(name, ()) for name in self._statics.names], dtype=np.bool_)
            self._running[driver] = mask
        return mask

    def count(self, driver: str) -> AttachedCount:
        """The attached volumes of a driver that is limited."""
        self._shown()
        return self._counts[driver]

    def is_placed(self, name: Attachable) -> bool:
        """Whether a volume is attached to a node, or was before steps of the session."""
        return name in self._rows or bool(self._shown().rows.of(name))

    def places(self, name: Attachable) -> Collection[int]:
        """The nodes to which a volume is attached, or was before steps of the session."""
        return (*self._shown().rows.of(name), *self._rows.get(name, ()))

    def users_at(self, name: Attachable, row: int) -> Users:
        """The users of a volume on a node."""
        moved = self._users.get(row)
        if moved is not None and name in moved:
            return moved[name]
        return self._shown().nodes[row].names.get(name, NOBODY)

    def shift(self, step: AttachStep) -> None:
        """Carry out a step, or undo one."""
        if not step.names:
            return
        if self._counted is None:
            self._before.append(step)
        else:
            self._carry_out(step)

    def _carry_out(self, step: AttachStep) -> None:
        row, names, more, more_later = step
        moved = self._users.get(row)
        if moved is None:
            moved = self._users[row] = {}
        for name in names:
            self.journal.append(row)
            before = moved.get(name)
            if before is None:
                before = self.users_at(name, row)
                rows = (*self._rows.get(name, ()), row)
                self._rows[name] = self._interned.setdefault(rows, rows)
            now, later = before
            after = (now + more, later + more_later)
            moved[name] = ONE_USER if after == ONE_USER else after
            counts = self._counts[name.driver]
            if (after[0] > 0) is not (now > 0):
                counts.now[row] += 1 if after[0] > 0 else -1
            if (after[1] > 0) is not (later > 0):
                counts.later[row] += 1 if after[1] > 0 else -1

    def _shown(self) -> CountedVolumes:
        found = self._counted
        if found is None:
            found = self._counted = counted(self._catalogue, self._statics)
            self._counts = {
                driver: AttachedCount(count.limit, count.now.copy(), count.later.copy())
                for driver, count in found.counts.items()
            }
            for step in self._before:
                self._carry_out(step)
        return found
