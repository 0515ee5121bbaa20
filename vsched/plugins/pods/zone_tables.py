"""What is free in the NUMA zones of nodes before a session places anything.

What a node's report says is free is the start. Pods on the node that the report does not count yet are taken from it:

- where the report lists its pods (Numatopology), all that it does not list;
- else those that do not run yet, and those that started after the report was written, for ``UNREPORTED_SECONDS`` after
  their start. A report that does not say when it was written counts all pods that run.

A pod is taken from the zones that were decided for it, or else from those that the kubelet would give it now. All this
is kept from session to session: only nodes whose report, pods or time have changed are counted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from vsched.kernels.numa import BEST_EFFORT, NONE, RESTRICTED, SINGLE, Zones, ZonesAsked
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.nodes.zones import Named, NodeZones, ZoneCatalogue, ZonedPod, ZonePolicy, ZoneShares
from vsched.model.pods.shape import ZoneRequest

UNREPORTED_SECONDS = 300.0
"""Reports are at most this old: agents write one every minute or after every change."""
NUMBERS = {
    ZonePolicy.NONE.value: NONE,
    ZonePolicy.BEST_EFFORT.value: BEST_EFFORT,
    ZonePolicy.RESTRICTED.value: RESTRICTED,
    ZonePolicy.SINGLE.value: SINGLE,
}


class CountedNode(NamedTuple):
    """One node, and the pods there that are counted."""

    report: NodeZones
    pods: tuple[ZonedPod, ...]
    held: Mapping[str, Ints]
    """By uid: what pods hold, as far as it is known; ``int64[resource, zone]``."""
    young: float = inf
    """When the first pod started that the report does not count until it is old; infinity where there is none."""
    old: float = -inf
    """When the last pod started that the report counts because it is old; minus infinity where there is none."""

    def holds(self, report: NodeZones, pods: tuple[ZonedPod, ...], now: float) -> bool:
        """Whether counting the node again would come to the same."""
        same = self.report is report and (self.pods is pods or self.pods == pods)
        return same and not _is_old(self.young, now) and _is_old(self.old, now)


class ZoneTables(NamedTuple):
    """The zones of all nodes that report any. Never changes: sessions work on copies of ``zones``."""

    catalogue: ZoneCatalogue
    names: tuple[str, ...]
    """Of nodes, by row."""
    resources: tuple[str, ...]
    """By column."""
    columns: Mapping[int, int]
    """By column of a resource that some node reports by zone: its row in the tables."""
    rows: Ints
    """int64[place]: the row of each node."""
    place_of: Mapping[int, int]
    """By row."""
    counted: Sequence[CountedNode]
    """By place."""
    zones: Zones
    young: float
    """The earliest of all nodes."""
    old: float
    """The latest of all nodes."""

    def asked(self, request: ZoneRequest) -> ZonesAsked:
        """A pod's request, as far as it is for resources that are reported by zone."""
        return _asked(request, self.columns)


def zone_tables(catalogue: ZoneCatalogue, nodes: NodeTable, now: float) -> ZoneTables:
    """The tables; what of the last ones still holds is used again."""
    statics, resources = nodes.statics, tuple(nodes.axis.names)

    def renewed(last: ZoneTables | None) -> ZoneTables:
        before = last if last is not None and last.resources == resources else None
        same = before is not None and before.catalogue is catalogue and before.names == statics.names
        if before is not None and same and not _is_old(before.young, now) and _is_old(before.old, now):
            return before
        return _Making(catalogue, nodes, now).made(before)

    return statics.memo.renewed("numa", "zones", ZoneTables, renewed)


class _Making:
    """Makes the tables of one catalogue."""

    def __init__(self, catalogue: ZoneCatalogue, nodes: NodeTable, now: float) -> None:
        rows = nodes.statics.row
        self._catalogue, self._names, self._now = catalogue, nodes.statics.names, now
        self._resources = tuple(nodes.axis.names)
        self._reports = [found for name, found in catalogue.nodes.items() if name in rows]
        self._rows = np.array([rows[found.node] for found in self._reports], np.int64)
        reported = {name for found in self._reports for zone in found.zones for name, _ in zone.allocatable}
        columns = [column for column, name in enumerate(self._resources) if name in reported]
        self._columns = {column: row for row, column in enumerate(columns)}
        self._row_of = {self._resources[column]: row for column, row in self._columns.items()}
        most, count = max((len(found.zones) for found in self._reports), default=0), len(self._reports)
        self._free = np.zeros((len(columns), most, count), np.int64)
        self._allocatable = np.zeros_like(self._free)
        self._by_zone = np.zeros((len(columns), count), np.bool_)

    def made(self, before: ZoneTables | None) -> ZoneTables:
        """The tables, with what still holds of those before."""
        known = self._used_again(before) if before is not None else {}
        new = [place for place in range(len(self._reports)) if place not in known]
        for place in new:
            self._read(place)
        zones = Zones(
            self._free,
            self._allocatable,
            np.array([NUMBERS[found.policy] if found.static_cpus else NONE for found in self._reports], np.int64),
            np.array([found.per_pod for found in self._reports], np.bool_),
            self._by_zone,
        )
        known.update((place, self._count(place, zones)) for place in new)
        counted = [known[place] for place in range(len(self._reports))]
        return ZoneTables(
            self._catalogue,
            self._names,
            self._resources,
            self._columns,
            self._rows,
            {row: place for place, row in enumerate(self._rows.tolist())},
            counted,
            zones,
            min((one.young for one in counted), default=inf),
            max((one.old for one in counted), default=-inf),
        )

    def _used_again(self, before: ZoneTables) -> dict[int, CountedNode]:
        """By place, the nodes of which nothing has changed; their columns of the tables are copied."""
        if before.columns != self._columns or before.zones.free.shape[1] != self._free.shape[1]:
            return {}
        place_of = {found.report.node: place for place, found in enumerate(before.counted)}
        found: dict[int, CountedNode] = {}
        sources: list[int] = []
        for place, report in enumerate(self._reports):
            source = place_of.get(report.node)
            if source is not None and before.counted[source].holds(report, self._pods(report), self._now):
                found[place] = before.counted[source]
                sources.append(source)
        places = list(found)
        self._free[:, :, places] = before.zones.free[:, :, sources]
        self._allocatable[:, :, places] = before.zones.allocatable[:, :, sources]
        self._by_zone[:, places] = before.zones.reports[:, sources]
        return found

    def _pods(self, report: NodeZones) -> tuple[ZonedPod, ...]:
        return self._catalogue.pods.get(report.node, ())

    def _read(self, place: int) -> None:
        """What a node's report says."""
        for at, zone in enumerate(self._reports[place].zones):
            for table, amounts in ((self._free, zone.free), (self._allocatable, zone.allocatable)):
                for name, amount in amounts:
                    if (row := self._row_of.get(name)) is not None:
                        table[row, at, place] = amount
                        self._by_zone[row, place] = True

    def _count(self, place: int, zones: Zones) -> CountedNode:
        """Take what pods hold that the report does not count."""
        report, held = self._reports[place], dict[str, Ints]()
        listed = None if report.pods is None else dict(report.pods)
        young, old = inf, -inf
        for pod in self._pods(report):
            counted, by_age = _is_counted(pod, report, listed, self._now)
            if by_age:
                young, old = (young, max(old, pod.started)) if counted else (min(young, pod.started), old)
            shares = listed[pod.uid] if listed is not None and pod.uid in listed else pod.shares
            if shares:
                amounts = self._amounts(report, shares)
            elif counted:
                continue
            else:
                amounts = zones.taken(_asked(pod.request, self._columns), place)
            held[pod.uid] = amounts if counted else zones.take(amounts, place)
        return CountedNode(report, self._pods(report), held, young, old)

    def _amounts(self, report: NodeZones, shares: Iterable[tuple[int, Named]]) -> Ints:
        amounts = np.zeros(self._free.shape[:2], np.int64)
        numbers = {zone.number: at for at, zone in enumerate(report.zones)}
        for number, some in shares:
            for name, amount in some:
                row = self._row_of.get(name)
                if row is not None and number in numbers:
                    amounts[row, numbers[number]] = amount
        return amounts


def _asked(request: ZoneRequest, columns: Mapping[int, int]) -> ZonesAsked:
    def by_row(amounts: Amounts) -> dict[int, int]:
        return {columns[column]: amount for column, amount in amounts if column in columns}

    return ZonesAsked(
        [by_row(amounts) for amounts in request.containers],
        [by_row(amounts) for amounts in request.steps],
        by_row(request.whole),
    )


def _is_old(started: float, now: float) -> bool:
    """Whether every report counts a pod that started then."""
    return now - started > UNREPORTED_SECONDS


def _is_counted(
    pod: ZonedPod, report: NodeZones, listed: Mapping[str, ZoneShares] | None, now: float
) -> tuple[bool, bool]:
    """Whether the report counts a pod, and whether that depends on the pod's age."""
    if listed is not None and pod.uid in listed:
        return True, False
    if pod.on_paper or not pod.running:
        return False, False
    if listed is None and (report.reported == 0.0 or report.reported > pod.started):
        return True, False
    return _is_old(pod.started, now), True
