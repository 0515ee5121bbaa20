"""How pods fit the NUMA zones of nodes, as the kubelet's topology manager decides it; for all nodes at once.

A set of zones is a bit mask. For each container the kubelet looks for the narrowest set that has enough of every
resource; of equally narrow ones it takes the lowest mask. By the policy ``single-numa-node`` that has to be one zone.
By ``restricted`` it has to be as narrow as the zones' allocatable amounts allow, for each resource alike. By
``best-effort`` any set will do. Resources that a node does not report by zone do not count there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Ints, Mask

NONE, BEST_EFFORT, RESTRICTED, SINGLE = range(4)
"""Policies, as numbers for arrays."""
Request = Mapping[int, int]
"""Amounts by row of ``Zones.free``."""


class Asked(NamedTuple):
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
    taken: Ints
    """int64[resource, zone, nodes]: what it would hold of each."""


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

    def fit(self, asked: Asked, only: int | None = None) -> Fit:
        """How a pod fits all nodes; ``only`` counts one resource alone."""
        resources, zones, nodes = self.free.shape
        found = Fit(np.ones(nodes, np.bool_), np.zeros(nodes, np.int64), np.zeros((resources, zones, nodes), np.int64))
        for per_pod in (False, True):
            rows = np.flatnonzero(self.per_pod == per_pod)
            if len(rows):
                part = self._fit(asked, rows, per_pod=per_pod, only=only)
                found.passes[rows], found.chosen[rows], found.taken[:, :, rows] = part
        return found

    def fit_row(self, asked: Asked, row: int) -> Fit:
        """How a pod fits one node."""
        return self._fit(asked, np.array([row]), per_pod=bool(self.per_pod[row]), only=None)

    def _fit(self, asked: Asked, rows: Ints, *, per_pod: bool, only: int | None) -> Fit:
        free = self.free[:, :, rows].copy()
        passes, chosen = np.ones(len(rows), np.bool_), np.zeros(len(rows), np.int64)
        steps, containers = ((), (asked.whole,)) if per_pod else (asked.steps, asked.containers)
        for step in steps:
            passes &= self._choose(_alone(step, only), free, rows)[0]
        for container in containers:
            request = _alone(container, only)
            admitted, zones = self._choose(request, free, rows)
            passes &= admitted
            chosen |= zones
            self._take(request, free, zones, rows)
        return Fit(passes, chosen, self.free[:, :, rows] - free)

    def _choose(self, request: Request, free: Ints, rows: Ints) -> tuple[Mask, Ints]:
        """Whether each node admits a container, and the zones that it gets there."""
        zones, policy = free.shape[1], self.policy[rows]
        counts = {resource: self.reports[resource, rows] for resource in request}
        asks = np.logical_or.reduce(list(counts.values())) if counts else np.zeros(len(rows), np.bool_)
        least, most = self._sizes(request, counts, rows)
        undecided, chosen = asks.copy(), np.zeros(len(rows), np.int64)
        for size in range(1, zones + 1):
            may = undecided & ((policy == BEST_EFFORT) | ((policy == RESTRICTED) & (least == size) & (most == size)))
            if size == 1:
                may |= undecided & (policy == SINGLE)
            where = np.flatnonzero(may)
            for members in _sets(zones, size) if len(where) else ():
                enough = np.ones(len(where), np.bool_)
                for resource, amount in request.items():
                    together = free[resource, members[0], where]
                    for member in members[1:]:
                        together = together + free[resource, member, where]
                    enough &= (together >= amount) | ~counts[resource][where]
                chosen[where[enough]] = sum(1 << member for member in members)
                where = where[~enough]
                if not len(where):
                    break
            undecided &= chosen == 0
        return ~undecided | (policy == BEST_EFFORT) | (policy == NONE), chosen

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
        for resource, amount in request.items():
            rest = np.where(self.reports[resource, rows], amount, 0)
            for zone in range(free.shape[1]):
                share = np.where(zones >> zone & 1, np.minimum(np.maximum(free[resource, zone], 0), rest), 0)
                free[resource, zone] -= share
                rest = rest - share


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
