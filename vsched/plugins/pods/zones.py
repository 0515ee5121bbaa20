"""What is free in the NUMA zones of nodes during a session (reference 4.21).

What a node's report says is free is the start. Pods on the node that the report does not count yet are taken from it:

- where the report lists its pods (Numatopology), all that it does not list;
- else those that do not run yet, and those that started after the report was written, for ``UNREPORTED_SECONDS`` after
  their start. A report that does not say when it was written counts all pods that run.

A pod is taken from the zones that were decided for it, or else from those that the kubelet would give it now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from vsched.kernels.numa import BEST_EFFORT, NONE, RESTRICTED, SINGLE, Asked, Fit, Zones
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Ints, Mask, NodeTable
from vsched.model.nodes.zones import Named, NodeZones, ZoneCatalogue, ZonedPod, ZonePolicy, ZoneShares
from vsched.model.pods.shape import ZoneRequest
from vsched.model.pods.task import Task

UNREPORTED_SECONDS = 300.0
"""Reports are at most this old: agents write one every minute or after every change."""
FITS_MAX = 256
"""How many requests are remembered with the nodes that they fit."""
NUMBERS = {
    ZonePolicy.NONE.value: NONE,
    ZonePolicy.BEST_EFFORT.value: BEST_EFFORT,
    ZonePolicy.RESTRICTED.value: RESTRICTED,
    ZonePolicy.SINGLE.value: SINGLE,
}


class Held(NamedTuple):
    """What a pod holds of the zones of a node, by its place in the table: ``int64[resource, zone]``."""

    place: int
    amounts: Ints


class KnownFit(NamedTuple):
    """How a request fits all nodes, and how many changes of zones are taken into account."""

    fit: Fit
    position: int


class Left(NamedTuple):
    """What a pod gave back, and what was free in the zones of the node then."""

    held: Held
    free: bytes


class ZoneBooks:
    """The zones of all nodes that report any, and what pods hold of them."""

    def __init__(self, catalogue: ZoneCatalogue, nodes: NodeTable, now: float) -> None:
        rows = nodes.statics.row
        known = [found for name, found in catalogue.nodes.items() if name in rows]
        self.reports: list[NodeZones] = known
        self.rows: Ints = np.array([rows[found.node] for found in known], np.int64)
        """int64[place]: the row of each node."""
        self.place = {int(row): place for place, row in enumerate(self.rows)}
        self._columns = {name: column for column, name in enumerate(nodes.axis.names)}
        self._resource: dict[int, int] = {}
        """By column: the row of the resource in the table."""
        self.zones = self._table(known)
        self._held: dict[str, Held] = {}
        """By uid: what pods hold that are placed in this session, or were before, as far as it is known."""
        self._left: dict[str, Left] = {}
        """By uid: pods that gave back what they held. If that is undone, they hold the same again."""
        self._changed: list[int] = []
        """Places where something was taken or given back, in order."""
        self._fits: dict[tuple[ZoneRequest, int | None], KnownFit] = {}
        """How requests fit all nodes, also by one resource alone."""
        for place, found in enumerate(known):
            self._count(place, found, catalogue.pods.get(found.node, ()), now)

    @property
    def columns(self) -> Mapping[int, int]:
        """By column of a resource that some node reports by zone: its row in the tables."""
        return self._resource

    def asked(self, request: ZoneRequest) -> Asked:
        """A pod's request, as far as it is for resources that are reported by zone."""
        return Asked(
            [self._by_row(amounts) for amounts in request.containers],
            [self._by_row(amounts) for amounts in request.steps],
            self._by_row(request.whole),
        )

    def take(self, task: Task, row: int) -> None:
        """A task has come to a node."""
        place = self.place.get(row)
        if place is None or task.shape.zones is None:
            return
        free, left = self.zones.free[:, :, place], self._left.pop(task.uid, None)
        if left is not None and left.held.place == place and left.free == free.tobytes():
            self._changed.append(place)
            self._held[task.uid] = left.held
            free -= left.held.amounts
        elif not task.node:
            self._hold(task.uid, place, self.zones.taken(self.asked(task.shape.zones), place))

    def give_back(self, task: Task) -> None:
        """A task leaves its node, or does not come to it after all."""
        held = self._held.pop(task.uid, None)
        if held is None:
            return  # nobody knows what it holds: it counts until a report says that it is free
        self._changed.append(held.place)
        free = self.zones.free[:, :, held.place]
        free += held.amounts
        self._left[task.uid] = Left(held, free.tobytes())

    def shares(self, task: Task) -> ZoneShares:
        """What a task holds of each zone that this session, or an earlier one, gave it."""
        held = self._held.get(task.uid)
        if held is None:
            return ()
        names = {row: name for name, column in self._columns.items() if (row := self._resource.get(column)) is not None}
        zones = self.reports[held.place].zones
        return tuple(
            (zone.number, tuple(sorted((names[row], int(held.amounts[row, at])) for row in _above_zero(held, at))))
            for at, zone in enumerate(zones)
            if held.amounts[:, at].any()
        )

    def fit(self, request: ZoneRequest, only: int | None = None) -> Fit:
        """How a pod fits each node that reports zones; ``only`` counts one resource alone, by its row in the tables.

        Only nodes that have changed are looked at again. The answer is valid until something is placed.
        """
        known, position = self._fits.get((request, only)), len(self._changed)
        if known is None:
            if len(self._fits) >= FITS_MAX:
                del self._fits[next(iter(self._fits))]
            known = KnownFit(self.zones.fit(self.asked(request), None, only), position)
        elif known.position < position:
            rows = np.array(list(dict.fromkeys(self._changed[known.position :])))
            known.fit.passes[rows], known.fit.chosen[rows] = self.zones.fit(self.asked(request), rows, only)
            known = KnownFit(known.fit, position)
        self._fits[request, only] = known
        return known.fit

    # -- the table ------------------------------------------------------------------------------------------------

    def _table(self, known: list[NodeZones]) -> Zones:
        names = {name for found in known for zone in found.zones for name, _ in zone.allocatable}
        columns = sorted(self._columns[name] for name in names if name in self._columns)
        self._resource = {column: row for row, column in enumerate(columns)}
        most = max((len(found.zones) for found in known), default=0)
        size = (len(columns), most, len(known))
        free, allocatable = np.zeros(size, np.int64), np.zeros(size, np.int64)
        reports = np.zeros((len(columns), len(known)), np.bool_)
        for place, found in enumerate(known):
            for at, zone in enumerate(found.zones):
                for table, amounts in ((free, zone.free), (allocatable, zone.allocatable)):
                    for name, amount in amounts:
                        row = self._row(name)
                        if row is not None:
                            table[row, at, place] = amount
                            reports[row, place] = True
        policy = [NUMBERS[found.policy] if found.static_cpus else NONE for found in known]
        return Zones(free, allocatable, np.array(policy, np.int64), per_pod_of(known), reports)

    def _row(self, name: str) -> int | None:
        column = self._columns.get(name)
        return None if column is None else self._resource.get(column)

    def _by_row(self, amounts: Amounts) -> dict[int, int]:
        return {self._resource[column]: amount for column, amount in amounts if column in self._resource}

    # -- pods that are there already --------------------------------------------------------------------------------

    def _count(self, place: int, report: NodeZones, pods: Iterable[ZonedPod], now: float) -> None:
        """Take what pods hold that the report does not count."""
        listed = None if report.pods is None else dict(report.pods)
        for pod in pods:
            if _is_counted(pod, report, listed, now):
                shares = listed[pod.uid] if listed is not None and pod.uid in listed else pod.shares
                if shares:
                    self._held[pod.uid] = Held(place, self._amounts(report, shares))
            elif pod.shares:
                self._hold(pod.uid, place, self._amounts(report, pod.shares))
            else:
                self._hold(pod.uid, place, self.zones.taken(self.asked(pod.request), place))

    def _hold(self, uid: str, place: int, amounts: Ints) -> None:
        """Take amounts from zones, as far as they are there."""
        self._changed.append(place)
        free = self.zones.free[:, :, place]
        amounts = np.minimum(amounts, np.maximum(free, 0))
        self._held[uid] = Held(place, amounts)
        free -= amounts

    def _amounts(self, report: NodeZones, shares: Iterable[tuple[int, Named]]) -> Ints:
        amounts = np.zeros(self.zones.free.shape[:2], np.int64)
        numbers = {zone.number: at for at, zone in enumerate(report.zones)}
        for number, some in shares:
            for name, amount in some:
                row = self._row(name)
                if row is not None and number in numbers:
                    amounts[row, numbers[number]] = amount
        return amounts


def per_pod_of(known: Iterable[NodeZones]) -> Mask:
    """bool[place]: whether pods are aligned as a whole."""
    return np.array([found.per_pod for found in known], np.bool_)


def _is_counted(pod: ZonedPod, report: NodeZones, listed: Mapping[str, ZoneShares] | None, now: float) -> bool:
    """Whether the report counts a pod."""
    if pod.on_paper or not pod.running:
        return listed is not None and pod.uid in listed
    if listed is not None and pod.uid in listed:
        return True
    if now - pod.started > UNREPORTED_SECONDS:
        return True
    return listed is None and (report.reported == 0.0 or report.reported > pod.started)


def _above_zero(held: Held, zone: int) -> list[int]:
    return [int(row) for row in np.flatnonzero(held.amounts[:, zone])]
