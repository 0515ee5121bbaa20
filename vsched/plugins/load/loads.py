"""The load of each node in one cycle: the measured load plus an estimate for pods that are not measured yet.

A pod placed before the cycle counts for the part that the averages do not contain yet: in full until it runs, then
less and less until it has run for a whole period. A pod that this cycle places counts in full, even if it still waits
for room. A node without fresh figures counts the requests of its pods as its load, or the mean of the nodes with fresh
figures if that is more: it is no idle node.
"""

from __future__ import annotations

import numpy as np

from vsched.kernels.usage import (
    DIMENSIONS,
    MeasuredUsage,
    Risk,
    View,
    Views,
    figures,
    lacking,
    loads,
    loads_row,
    measured_of,
    pressing,
)
from vsched.model.amounts.resources import MEMORY
from vsched.model.nodes.table import Floats, Ints, NodeTable
from vsched.model.nodes.usage import STALE_SECONDS, UsageTable, period_seconds
from vsched.model.pods.shape import Shape
from vsched.plugins.load.args import UsageArgs

Estimate = tuple[int, int, int, int]
"""Milli-cores and bytes; then milli-cores and bytes on a node at risk."""


class Estimates:
    """Estimates of what pods will use, by shape."""

    def __init__(self, args: UsageArgs) -> None:
        self._estimator = args.estimator
        self._best_effort = args.estimator.best_effort()
        self._known: dict[Shape, Estimate] = {}

    def of(self, shape: Shape) -> Estimate:
        """Request and burst times their ratios, at most the limits; on a node at risk also times the risk factor."""
        found = self._known.get(shape)
        if found is None:
            calm, tense = (self._estimated(shape, factor) for factor in (1.0, self._estimator.risk_factor))
            found = self._known[shape] = (*calm, *tense)
        return found

    def _estimated(self, shape: Shape, factor: float) -> tuple[int, int]:
        if shape.best_effort:
            cpu, memory = self._best_effort
            return round(cpu * factor), round(memory * factor)
        request, estimator = dict(shape.request), self._estimator
        amounts = []
        for dimension, burst in enumerate(shape.burst):
            asked = request.get(dimension, 0)
            used = (asked * estimator.request_ratio + burst * estimator.burst_ratio) * factor
            amounts.append(min(round(used), asked + burst))
        return amounts[0], amounts[1]


def measured_loads(table: UsageTable | None, args: UsageArgs, now: float, nodes: int) -> MeasuredUsage:
    """Measured averages plus their fluctuation, as fractions of 1; unknown without fresh figures."""
    if table is None:
        return measured_of(np.full((DIMENSIONS, nodes), np.nan))
    found = (figures(table, args.period, resource, now, STALE_SECONDS) for resource in ("cpu", "memory"))
    return measured_of(np.stack([pressing(average, spread, args.fluctuation) for average, spread in found]))


def steady_loads(measured: MeasuredUsage, nodes: NodeTable) -> Floats:
    """float64[2, nodes]: the loads without what is coming."""
    nothing: Ints = np.zeros((2 * DIMENSIONS, len(nodes)), dtype=np.int64)
    return loads(
        measured, nothing, nodes.allocatable[: MEMORY + 1], nodes.requested[: MEMORY + 1], Risk(1.0, 1.0, np.inf)
    )


class Loads:
    """Loads of nodes by row, kept up to date as tasks are placed."""

    def __init__(self, nodes: NodeTable, measured: MeasuredUsage, coming: Ints, risk: Risk) -> None:
        has, requested = nodes.allocatable[: MEMORY + 1], nodes.requested[: MEMORY + 1]
        self._risk = risk
        self._moved: set[int] = set()
        self._loads = loads(measured, coming, has, requested, risk)
        self._views = Views(measured.load.data, measured.unknown.data, coming.data, has.data, requested.data)
        self._at: View = self._loads.data

    def touch(self, row: int) -> None:
        """Note that the estimated load or the requests of a row changed."""
        self._moved.add(row)

    def current(self) -> Floats:
        """float64[2, nodes], cpu first; read-only."""
        while self._moved:
            self._settle(self._moved.pop())
        return self._loads

    def at(self, row: int) -> tuple[float, float]:
        """The load of one row: cpu, memory."""
        if row in self._moved:
            self._moved.discard(row)
            return self._settle(row)
        return self._at[0, row], self._at[1, row]

    def _settle(self, row: int) -> tuple[float, float]:
        load = loads_row(self._views, self._risk, row)
        self._at[0, row], self._at[1, row] = load
        return load


def young_loads(table: UsageTable, estimates: Estimates, period: str) -> Ints:
    """int64[4, nodes]: the estimated load of pods placed before this cycle, as far as it is not in the averages."""
    nodes, young = len(table.measured), table.young
    total: Ints = np.zeros((2 * DIMENSIONS, nodes), dtype=np.int64)
    if not len(young.rows):
        return total
    measured = table.measured[young.rows]
    part = np.nan_to_num(lacking(young.started, measured, period_seconds(period) or 1.0))
    estimated = np.array([estimates.of(shape) for shape in young.kinds], dtype=np.float64).T
    for dimension, by_kind in enumerate(estimated):
        # Rounded first: sums of integers do not depend on the order.
        amounts = np.rint(by_kind[young.shapes] * part)
        total[dimension] = np.bincount(young.rows, weights=amounts, minlength=nodes).astype(np.int64)
    return total
