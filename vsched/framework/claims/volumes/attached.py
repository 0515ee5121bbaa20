"""How many volumes are attached to each node, by CSI driver, and how many more a node can attach.

A volume counts once a node, however many pods use it there. It counts until the last of them has left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.claims.catalogue import VolumeCatalogue
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task


class Attachable(NamedTuple):
    """A volume as a node attaches it."""

    driver: str
    handle: str
    """The driver's name of the volume; empty where it is not known."""
    stands_for: str = ""
    """Where the handle is not known: the claim that the volume is made for, or the name of the volume."""


class DriverCount(NamedTuple):
    """Attached volumes of one driver, int64[nodes]."""

    limit: Ints
    """``UNLIMITED`` where there is no limit."""
    now: Ints
    later: Ints
    """Once the pods have left that are leaving."""


class Users:
    """How many pods on a node use a volume."""

    __slots__ = ("later", "now")

    def __init__(self) -> None:
        self.now = self.later = 0


_NOWHERE: Mapping[int, Users] = {}


class AttachedVolumes:
    """Follows the volumes on nodes in one session. Nodes are counted when the first limit is asked for."""

    def __init__(
        self,
        catalogue: VolumeCatalogue,
        statics: NodeStatics,
        names_of: Callable[[Task], Iterable[Attachable]],
    ) -> None:
        """``names_of`` says which volumes a pod on a node uses."""
        self._catalogue = catalogue
        self._statics = statics
        self._names_of = names_of
        self._limited: frozenset[str] | None = None
        self._running: dict[str, Mask] = {}
        self._counts: dict[str, DriverCount] = {}
        self._users: dict[Attachable, dict[int, Users]] = {}
        self.journal: list[int] = []
        """Rows where counts changed, in order, once the nodes are counted."""
        self.version = 0
        """Grows with each step that changes what is attached."""
        self._before: list[tuple[int, tuple[Attachable, ...], int, int]] | None = []
        """Steps before the nodes were counted; None once they are."""

    @property
    def limited(self) -> frozenset[str]:
        """The drivers that some node limits, and those that have to run on the node."""
        if self._limited is None:
            catalogue = self._catalogue
            counted = (name for node in catalogue.limits.values() for name, most in node.items() if most is not None)
            self._limited = frozenset((*counted, *(name for name, one in catalogue.drivers.items() if one.required)))
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

    def count(self, driver: str) -> DriverCount:
        """The attached volumes of a driver that is limited."""
        self._count_nodes()
        return self._counts[driver]

    def places(self, name: Attachable) -> Mapping[int, Users]:
        """By row: the users of a volume on nodes where it is attached."""
        self._count_nodes()
        return self._users.get(name, _NOWHERE)

    def shift(self, row: int, names: tuple[Attachable, ...], now: int, later: int) -> None:
        """One user more (1) or less (-1), or as many as before (0), of each volume on the node: now, and later."""
        self.version += bool(names)
        if self._before is not None:
            self._before.append((row, names, now, later))
            return
        self.journal.append(row)
        for name in names:
            counts = self._counts.get(name.driver)
            if counts is None:
                continue
            by_row = self._users.setdefault(name, {})
            users = by_row.get(row)
            if users is None:
                users = by_row[row] = Users()
            counts.now[row] += _change(users.now, now)
            counts.later[row] += _change(users.later, later)
            users.now += now
            users.later += later
            if not users.now and not users.later:
                del by_row[row]
                if not by_row:
                    del self._users[name]

    def _count_nodes(self) -> None:
        steps = self._before
        if steps is None:
            return
        self._before = None
        self._read_limits()
        row_of = self._statics.row
        for node, tasks in self._catalogue.by_node.items():
            row = row_of.get(node)
            if row is not None:
                for task in tasks.values():
                    self.shift(
                        row, tuple(dict.fromkeys(self._names_of(task))), 1, 0 if HOLDS[task.status].releasing else 1
                    )
        for node, attachments in self._catalogue.attachments.items():
            row = row_of.get(node)
            if row is not None:
                for one in attachments:
                    self._attach(row, one.driver, one.volume)
        for step in steps:
            self.shift(*step)

    def _attach(self, row: int, driver: str, volume: str) -> None:
        """Count a VolumeAttachment whose volume no pod on the node uses; others count with their pods."""
        found = self._catalogue.volumes.get(volume)
        name = Attachable(driver, "", volume) if found is None else Attachable(found.driver, found.handle)
        if row not in self._users.get(name, _NOWHERE):
            self.shift(row, (name,), 1, 1)

    def _read_limits(self) -> None:
        size = len(self._statics)
        for driver in self.limited:
            limit = np.full(size, UNLIMITED, dtype=np.int64)
            self._counts[driver] = DriverCount(limit, np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
        for node, limits in self._catalogue.limits.items():
            row = self._statics.row.get(node)
            if row is not None:
                for driver, most in limits.items():
                    if most is not None:
                        self._counts[driver].limit[row] = most


def _change(users: int, by: int) -> int:
    """How the count of attached volumes changes when the users of one of them do."""
    return (users + by > 0) - (users > 0)
