"""How pods fit the NUMA zones of nodes, as the kubelet's topology manager decides it; for all nodes at once.

A set of zones is a bit mask. For each container the kubelet looks for the narrowest set that has enough of every
resource; of equally narrow ones it takes the lowest mask. By the policy ``single-numa-node`` that has to be one zone.
By ``restricted`` it has to be as narrow as the zones' allocatable amounts allow, for each resource alike. By
``best-effort`` any set will do. Resources that a node does not report by zone do not count there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Ints, Mask

NONE, BEST_EFFORT, RESTRICTED, SINGLE = range(4)
"""Policies, as numbers for arrays."""
Request = Mapping[int, int]
"""Amounts by row of ``Zones.free``."""


class ZonesAsked(NamedTuple):
    """What one pod asks of zones. The amounts are above zero."""

    containers: Sequence[Request]
    """They hold it together, and get it one after the other."""
    steps: Sequence[Request] = ()
    """They hold it one after the other, before all of ``containers``."""
    whole: Request = {}
    """What a pod asks for that is aligned as a whole."""


class Fit(NamedTuple):
    """How a pod fits each of some nodes."""

    passes: Mask
    """bool[nodes]"""
    chosen: Ints
    """int64[nodes]: the zones that it would use, as a mask."""


class Zones:
    """Free and allocatable amounts of the zones of nodes: ``int64[resource, zone, node]``, 0 for missing zones."""

    __slots__ = ("_reach", "allocatable", "free", "per_pod", "policy", "reports")

    def __init__(self, free: Ints, allocatable: Ints, policy: Ints, per_pod: Mask, reports: Mask) -> None:
        self.free = free
        self.allocatable = allocatable
        self.policy = policy
        """int64[node]"""
        self.per_pod = per_pod
        """bool[node]: whether pods are aligned as a whole."""
        self.reports = reports
        """bool[resource, node]: whether the node reports the resource by zone."""
        self._reach = np.cumsum(-np.sort(-allocatable, axis=1), axis=1)
        """int64[resource, number, node]: what so many of its largest zones have together."""

    def copy(self) -> Zones:
        """A copy of what is free; the rest, which never changes, is shared."""
        found = copy(self)
        found.free = self.free.copy()
        return found

    def take(self, amounts: Ints, row: int) -> Ints:
        """Take what is available of these amounts: ``int64[resource, zone]``."""
        taken = self.available(amounts, row)
        self.free[:, :, row] -= taken
        return taken

    def available(self, amounts: Ints, row: int) -> Ints:
        """int64[resource, zone]: these amounts as far as the zones of a node have them free."""
        found: Ints = np.minimum(amounts, np.maximum(self.free[:, :, row], 0))
        return found

    def fit(self, asked: ZonesAsked, rows: Ints | None = None, only: int | None = None) -> Fit:
        """How a pod fits these nodes, by default all; ``only`` counts one resource alone."""
        rows = np.arange(self.free.shape[2]) if rows is None else rows
        found = Fit(np.ones(len(rows), np.bool_), np.zeros(len(rows), np.int64))
        per_pod = self.per_pod[rows]
        for whole in (False, True):
            where = np.flatnonzero(per_pod == whole)
            if len(where):
                part = self._fit(asked, rows[where], per_pod=whole, only=only)
                found.passes[where], found.chosen[where] = part.passes, part.chosen
        return found

    def taken(self, asked: ZonesAsked, row: int) -> Ints:
        """int64[resource, zone]: what a pod would get of one node."""
        rows = np.array([row])
        free = self.free[:, :, rows]
        for container in (asked.whole,) if self.per_pod[row] else asked.containers:
            self._take(container, free, self._choose(container, free, rows)[1], rows)
        found: Ints = (self.free[:, :, rows] - free)[:, :, 0]
        return found

    def _fit(self, asked: ZonesAsked, rows: Ints, *, per_pod: bool, only: int | None) -> Fit:
        free = self.free[:, :, rows]
        passes, chosen = np.ones(len(rows), np.bool_), np.zeros(len(rows), np.int64)
        steps, containers = ((), (asked.whole,)) if per_pod else (asked.steps, asked.containers)
        for step in steps:
            passes &= self._choose(_alone(step, only), free, rows)[0]
        for position, container in enumerate(containers, start=1):
            request = _alone(container, only)
            admitted, zones = self._choose(request, free, rows)
            passes &= admitted
            chosen |= zones
            if position < len(containers):
                self._take(request, free, zones, rows)
        return Fit(passes, chosen)

    def _choose(self, request: Request, free: Ints, rows: Ints) -> tuple[Mask, Ints]:
        """Whether each node admits a container, and the zones that it gets there."""
        zones, policy = free.shape[1], self.policy[rows]
        counts = {resource: self.reports[resource, rows] for resource in request}
        asks = np.logical_or.reduce(list(counts.values())) if counts else np.zeros(len(rows), np.bool_)
        chosen = np.zeros(len(rows), np.int64)
        if not zones or not asks.any():
            return ~asks | (policy == BEST_EFFORT) | (policy == NONE), chosen
        least, most = self._sizes(request, counts, rows)
        undecided = asks.copy()
        for size in range(1, zones + 1):
            may = undecided & ((policy == BEST_EFFORT) | ((policy == RESTRICTED) & (least == size) & (most == size)))
            if size == 1:
                may |= undecided & (policy == SINGLE)
                chosen = np.where(may, self._one_zone(request, counts, free), 0)
            elif may.any():
                self._some_zones(request, counts, free, np.flatnonzero(may), size, chosen)
            undecided &= chosen == 0
            if not undecided.any():
                break
        return ~undecided | (policy == BEST_EFFORT) | (policy == NONE), chosen

    @staticmethod
    def _one_zone(request: Request, counts: Mapping[int, Mask], free: Ints) -> Ints:
        """int64[nodes]: the lowest zone that holds the request, as a mask; 0 where none does."""
        enough = np.ones(free.shape[1:], np.bool_)
        for resource, amount in request.items():
            enough &= (free[resource] >= amount) | ~counts[resource]
        return np.where(enough.any(axis=0), np.int64(1) << enough.argmax(axis=0), 0)

    @staticmethod
    def _some_zones(
        request: Request, counts: Mapping[int, Mask], free: Ints, where: Ints, size: int, chosen: Ints
    ) -> None:
        """Choose the lowest set of ``size`` zones that holds the request, for the nodes ``where``."""
        for members in _sets(free.shape[1], size):
            enough = np.ones(len(where), np.bool_)
            for resource, amount in request.items():
                together = free[resource, members[0], where]
                for member in members[1:]:
                    together = together + free[resource, member, where]
                enough &= (together >= amount) | ~counts[resource][where]
            chosen[where[enough]] = sum(1 << member for member in members)
            where = where[~enough]
            if not len(where):
                return

    def _sizes(self, request: Request, counts: Mapping[int, Mask], rows: Ints) -> tuple[Ints, Ints]:
        """int64[rows]: the fewest zones that could ever hold the request, of the resource that needs least and most."""
        least = np.full(len(rows), self.free.shape[1] + 1, np.int64)
        most = np.zeros(len(rows), np.int64)
        for resource, amount in request.items():
            size = 1 + (self._reach[resource][:, rows] < amount).sum(axis=0)
            np.minimum(least, np.where(counts[resource], size, least), out=least)
            np.maximum(most, np.where(counts[resource], size, most), out=most)
        return least, most

    def _take(self, request: Request, free: Ints, chosen: Ints, rows: Ints) -> None:
        """Take a container's request from the zones that it gets, lowest first; from any where no set has enough."""
        zones = np.where((chosen == 0) & (self.policy[rows] == BEST_EFFORT), -1, chosen)
        among = (zones >> np.arange(free.shape[1])[:, None] & 1).astype(np.bool_)
        for resource, amount in request.items():
            has = np.where(among & self.reports[resource, rows], np.maximum(free[resource], 0), 0)
            before = np.cumsum(has, axis=0) - has
            free[resource] -= np.minimum(has, np.maximum(amount - before, 0))


def count_zones(chosen: Ints) -> Ints:
    """int64[nodes]: the number of zones in each mask."""
    count = np.zeros(len(chosen), np.int64)
    for zone in range(int(chosen.max(initial=0)).bit_length()):
        count += chosen >> zone & 1
    return count


def _alone(request: Request, only: int | None) -> Request:
    return request if only is None else {only: request[only]} if only in request else {}


@cache
def _sets(zones: int, size: int) -> tuple[tuple[int, ...], ...]:
    """The sets of ``size`` of so many zones, in the order of their masks."""
    return tuple(sorted(combinations(range(zones), size), key=lambda members: sum(1 << one for one in members)))
