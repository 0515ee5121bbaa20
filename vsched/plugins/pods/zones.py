"""What is free in the NUMA zones of nodes during a session.

``zone_tables`` says what was free before. What the session places is taken from it, and given back where it is undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.numa import Fit
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.nodes.zones import NodeZones, ZoneCatalogue, ZoneShares
from vsched.model.pods.shape import ZoneRequest
from vsched.model.pods.task import Task
from vsched.plugins.pods.zone_tables import zone_tables

FITS_MAX = 256
"""How many requests are remembered with the nodes that they fit."""


class HeldZones(NamedTuple):
    """What a pod holds of the zones of a node, by its place in the table: ``int64[resource, zone]``."""

    place: int
    amounts: Ints


class ZonesFit(NamedTuple):
    """How a request fits all nodes, and how many changes of zones are taken into account."""

    fit: Fit
    position: int


class ZonesLeft(NamedTuple):
    """What a pod gave back, and what was free in the zones of the node then."""

    held: HeldZones
    free: bytes


class ZoneBooks:
    """The zones of all nodes that report any, and what pods hold of them."""

    def __init__(self, catalogue: ZoneCatalogue, nodes: NodeTable, now: float) -> None:
        self._tables = zone_tables(catalogue, nodes, now)
        self._row_of = nodes.statics.row
        self.rows = self._tables.rows
        """int64[place]: the row of each node."""
        self.later = self._tables.zones.copy()
        """Once those have left that this session evicts."""
        self.now = self.later
        """The same object as ``later`` as long as nobody is evicted."""
        self._held: dict[str, HeldZones | None] = {}
        """By uid: what pods hold of which this session took or gave back something; None where they hold nothing."""
        self._left: dict[str, ZonesLeft] = {}
        """By uid: pods that gave back what they held. If that is undone, they hold the same again."""
        self._changed: list[int] = []
        """Places where something was taken or given back, in order."""
        self._fits: dict[tuple[ZoneRequest, int | None, bool], ZonesFit] = {}
        """How requests fit all nodes, also by one resource alone."""

    @property
    def reports(self) -> Sequence[NodeZones]:
        """By place."""
        return [found.report for found in self._tables.counted]

    @property
    def columns(self) -> Mapping[int, int]:
        """By column of a resource that some node reports by zone: its row in the tables."""
        return self._tables.columns

    @property
    def in_motion(self) -> bool:
        """Whether ``later`` differs from ``now``."""
        return self.later is not self.now

    def take(self, task: Task, row: int) -> None:
        """A task has come to a node, or its eviction was undone."""
        place = self._tables.place_of.get(row)
        if place is None or task.shape.zones is None:
            return
        left = self._left.pop(task.uid, None)
        if left is not None and left.held.place == place and left.free == self._free(place):
            held = left.held
        elif not task.node:
            asked = self._tables.asked(task.shape.zones)
            zones = self.now if self.in_motion and self.now.fit(asked, np.array([place])).passes[0] else self.later
            held = HeldZones(place, zones.available(zones.taken(asked, place), place))
        else:
            return
        self._held[task.uid] = held
        self._shift(task, held, -1)

    def give_back(self, task: Task, row: int) -> None:
        """A task is evicted from its node, or does not come to it after all."""
        held = self._holding(task.uid, row)
        if held is None:
            return  # nobody knows what it holds: it counts until a report says that it is free
        self._held[task.uid] = None
        self._shift(task, held, 1)
        self._left[task.uid] = ZonesLeft(held, self._free(held.place))

    def _shift(self, task: Task, held: HeldZones, by: int) -> None:
        """A task gives zones back (``by=1``), or takes them. One that is evicted still holds them now."""
        self._changed.append(held.place)
        if task.node and not self.in_motion:
            self.now = self.later.copy()
        for zones in (self.later,) if task.node or not self.in_motion else (self.later, self.now):
            zones.free[:, :, held.place] += by * held.amounts

    def _free(self, place: int) -> bytes:
        return self.later.free[:, :, place].tobytes()

    def shares(self, task: Task) -> ZoneShares:
        """What a task holds of each zone that this session, or an earlier one, gave it."""
        held = self._holding(task.uid, self._row_of.get(task.node))
        if held is None:
            return ()
        names = {row: self._tables.resources[column] for column, row in self.columns.items()}
        return tuple(
            (zone.number, tuple(sorted((names[row], int(held.amounts[row, at])) for row in _above_zero(held, at))))
            for at, zone in enumerate(self._tables.counted[held.place].report.zones)
            if held.amounts[:, at].any()
        )

    def fit(self, request: ZoneRequest, only: int | None = None, *, later: bool = False) -> Fit:
        """How a pod fits each node that reports zones: now, or ``later``, once those have left that are evicted.

        ``only`` counts one resource alone, by its row in the tables. Only nodes that have changed are looked at again.
        The answer is valid until something is placed.
        """
        later = later or not self.in_motion
        zones, key, position = self.later if later else self.now, (request, only, later), len(self._changed)
        known = self._fits.get(key)
        if known is None:
            if len(self._fits) >= FITS_MAX:
                del self._fits[next(iter(self._fits))]
            known = ZonesFit(zones.fit(self._tables.asked(request), None, only), position)
        elif known.position < position:
            rows = np.array(list(dict.fromkeys(self._changed[known.position :])))
            known.fit.passes[rows], known.fit.chosen[rows] = zones.fit(self._tables.asked(request), rows, only)
            known = ZonesFit(known.fit, position)
        self._fits[key] = known
        return known.fit

    def _holding(self, uid: str, row: int | None) -> HeldZones | None:
        """What a pod holds of its node; None where it holds nothing, or nobody knows what."""
        if uid in self._held:
            return self._held[uid]
        place = None if row is None else self._tables.place_of.get(row)
        amounts = None if place is None else self._tables.counted[place].held.get(uid)
        return None if place is None or amounts is None else HeldZones(place, amounts)


def _above_zero(held: HeldZones, zone: int) -> list[int]:
    return [int(row) for row in np.flatnonzero(held.amounts[:, zone])]
