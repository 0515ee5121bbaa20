"""usage: filters and scores nodes by their measured load, not by requests.

Filter: a node whose average cpu or memory usage is above its threshold takes no new pods. Without a threshold, all
nodes pass. ``enablePredicate: false`` turns the filter off and keeps the score.

Score: ``100 * usage.weight * (c * (1 - load of cpu) + m * (1 - load of memory))``. Three factors decide:

usage        the lower the load, the higher the score; pods that are placed and not measured yet count as estimated
fluctuation  the load is the average plus ``fluctuation.weight`` standard deviations, at most 100 %: of two nodes with
             equal averages, the one with the larger deviation is overloaded first at peak hours. A normally distributed
             load is above one standard deviation for a sixth of the time
dimension    ``c`` and ``m`` are the weights of cpu and memory times ``1 + lean * dimension.weight`` and ``1 - lean *
             dimension.weight``, scaled to add up to 1. ``lean = (s - t) / (s + t)``, where ``s`` and ``t`` are the
             pod's shares of the cluster's cpu and memory: cpu-heavy pods go where cpu is idle

Preemptable: each preemptor has its own candidate, the least loaded node that node attributes allow it. Pods on nodes
with more load than that node are possible victims. The plugin abstains where all nodes that the preemptor may use have
equal load, and where no load is known.

Unknown figures, or figures older than five minutes, never count as idle: the filter lets the node pass, and its load is
what its pods request, or the mean of the nodes of which it is known if that is more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import PlacementListener, Plugin, SessionContext
from vsched.framework.points.levers import ArgumentLever
from vsched.framework.points.nodes import Check, NodeFilter, NodeScore
from vsched.framework.points.victims import Preemptable, Purpose, Votes
from vsched.kernels.selectors import affinity_mask
from vsched.kernels.taints import UNSCHEDULABLE, cordoned, is_tolerated, tolerated_mask
from vsched.kernels.usage import DIMENSIONS, MeasuredUsage, Risk, figures, idleness, idleness_row
from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.nodes.usage import STALE_SECONDS
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.plugins.load.args import LoadLimit, UsageArgs
from vsched.plugins.load.loads import Estimates, Loads, measured_loads, steady_loads, young_loads
from vsched.plugins.pods.constraints import effective
from vsched.plugins.words import nodes as words
from vsched.plugins.words import victims

__all__ = ["Usage", "UsageArgs"]

MAX_SCORE = 100.0
PERCENT = 100
ALL_ROWS = slice(None)


class Hot(NamedTuple):
    """Loads of nodes for the choice of victims, for one shape of preemptors."""

    load: Floats
    """float64[nodes]: the loads of cpu and memory, added up by the weights of the shape."""
    own: float
    """The load of the preemptor's own candidate: the least loaded node it may use."""


class Usage(Plugin[UsageArgs], NodeFilter, NodeScore, Preemptable, PlacementListener):
    """Rules out nodes above a threshold, and scores nodes higher that have less load."""

    name = "usage"
    args_type = UsageArgs

    def open(self, context: SessionContext) -> None:
        """Keep the figures; loads are computed at the first score."""
        args = self.args
        self._snapshot, self._filters = context.snapshot, context.switches.predicate
        self._table = context.nodes.usage
        self._scale = MAX_SCORE * args.weight if args.cpu or args.memory else 0.0
        self._estimates = Estimates(args)
        self._coming: Ints = np.zeros((2 * DIMENSIONS, len(context.nodes)), dtype=np.int64)
        """int64[4, nodes]: estimated load of pods not measured yet; only pods of this cycle until the first score."""
        self._coming_at = self._coming.data
        self._weights: dict[Shape, tuple[float, float]] = {}
        self._hot: dict[Shape, Hot | None] = {}
        self._nodes: NodeTable | None = None
        self._measured: MeasuredUsage | None = None
        self._checks: tuple[Check, ...] | None = None

    # -- filter -------------------------------------------------------------------------------------------------

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """The checks by thresholds. They are the same for all shapes, and figures do not change during a cycle."""
        if self._checks is None:
            self._checks = effective((_reason(limit), Code.USAGE, self._below(limit)) for limit in self.args.limits())
        return self._checks

    def _below(self, limit: LoadLimit) -> Mask:
        """bool[nodes]: False where the average is known and above the threshold."""
        table = self._table
        if table is None:
            return np.ones(self._coming.shape[1], dtype=np.bool_)
        average, _ = figures(table, limit.period, limit.resource, self._snapshot.now, STALE_SECONDS)
        above: Mask = average > limit.percent
        return ~above

    # -- score --------------------------------------------------------------------------------------------------

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """0 to 100 times the weight; less than 0 is possible for overloaded nodes."""
        if not self._scale:
            return None
        self._look_at(nodes)
        load = self._loads.current()
        if rows != ALL_ROWS:
            load = load[:, rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)]
        return idleness(load, *self._weights_for(shape), self._scale)

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The same for one node."""
        if not self._scale:
            return 0.0
        if nodes is not self._nodes:
            self._look_at(nodes)
        cpu, memory = self._weights.get(shape) or self._weights_for(shape)
        return idleness_row(self._loads.at(row), cpu, memory, self._scale)

    def _look_at(self, nodes: NodeTable) -> None:
        if nodes is self._nodes:
            return
        args = self.args
        if self._nodes is None and self._table is not None:
            self._coming += young_loads(self._table, self._estimates, args.period)
        self._nodes = nodes
        risk = Risk(args.cpu, args.memory, args.estimator.risk_threshold * (args.cpu + args.memory))
        self._loads = Loads(nodes, self._known_loads(), self._coming, risk)

    def _known_loads(self) -> MeasuredUsage:
        if self._measured is None:
            self._measured = measured_loads(self._table, self.args, self._snapshot.now, self._coming.shape[1])
        return self._measured

    def _weights_for(self, shape: Shape) -> tuple[float, float]:
        """The weights of cpu and memory for a shape; they add up to 1."""
        found = self._weights.get(shape)
        if found is None:
            args, lean = self.args, self._lean(shape) * self.args.dimension
            cpu, memory = args.cpu * (1.0 + lean), args.memory * (1.0 - lean)
            if not cpu + memory:  # the pod requests no resource that counts
                cpu, memory = float(args.cpu), float(args.memory)
            found = self._weights[shape] = (cpu / (cpu + memory), memory / (cpu + memory))
        return found

    def _lean(self, shape: Shape) -> float:
        """From -1 (the pod requests only memory) to 1 (it requests only cpu)."""
        total, request = self._snapshot.total, dict(shape.request)
        cpu, memory = (request.get(column, 0) / max(1, total[column]) for column in (CPU, MEMORY))
        return (cpu - memory) / (cpu + memory) if cpu or memory else 0.0

    # -- load of pods that are not measured yet -----------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Add the estimated load of the task."""
        self._shift(task, row, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Subtract the estimated load of the task."""
        self._shift(task, row, -1)

    def _shift(self, task: Task, row: int, sign: int) -> None:
        """A victim is still part of its node's figures; the next reading will show that it has left."""
        if not task.node:
            coming = self._coming_at
            cpu, memory, tense_cpu, tense_memory = self._estimates.of(task.shape)
            coming[0, row] += sign * cpu
            coming[1, row] += sign * memory
            coming[2, row] += sign * tense_cpu
            coming[3, row] += sign * tense_memory
        if self._nodes is not None:
            self._loads.touch(row)

    def argument_levers(self) -> Iterator[ArgumentLever]:
        """One lever for each threshold: raise it, up to 100 %."""
        for name, percent in self.args.thresholds.items():
            if int(percent) < PERCENT:

                def closing_later(step: int, name: str = name, percent: float = percent) -> dict[str, object]:
                    return {"edit": "threshold", "name": name, "percent": min(100.0, int(percent) + step)}

                yield ArgumentLever(closing_later, PERCENT - int(percent), PERCENT)

    # -- victims ------------------------------------------------------------------------------------------------

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        """Tasks on nodes with more load than the evictor's own candidate; None where loads do not differ."""
        hot = self._hot_for(evictor.shape)
        if hot is None:
            return None
        load, own, row_of = hot.load, hot.own, self._snapshot.nodes.statics.row

        def agrees(victim: Task) -> bool:
            return bool(load[row_of[victim.node]] > own)

        # Only the shape decides, and evictors of one class have one shape. The node to regain is the evictor's old one.
        return Votes.each(agrees, victims.USAGE_NOT_HIGHER, depends_on=None)._replace(
            regains=lambda taker: agrees(evictor)
        )

    def _hot_for(self, shape: Shape) -> Hot | None:
        """The loads at the start of the cycle; None where loads are unknown or do not differ."""
        if shape not in self._hot:
            self._hot[shape] = self._hot_of(shape)
        return self._hot[shape]

    def _hot_of(self, shape: Shape) -> Hot | None:
        measured = self._known_loads()
        if not self._scale or measured.unknown.all():
            return None
        cpu, memory = self._weights_for(shape)
        steady = steady_loads(measured, self._snapshot.nodes)
        load = steady[0] * cpu + steady[1] * memory
        usable = load[self._allowed(shape)]
        return Hot(load, float(usable.min())) if usable.size and usable.max() > usable.min() else None

    def _allowed(self, shape: Shape) -> Mask:
        """bool[nodes]: the nodes that cordons, taints, selectors, affinity and thresholds allow the shape."""
        nodes, rules = self._snapshot.nodes, shape.rules
        allowed = np.ones(len(nodes), dtype=np.bool_)
        if not is_tolerated(UNSCHEDULABLE, rules.tolerations):
            allowed &= ~cordoned(nodes.statics)
        for mask in (affinity_mask(rules, nodes.statics), tolerated_mask(nodes.statics, rules.tolerations)):
            if mask is not None:
                allowed &= mask
        for check in self.static_checks(shape, nodes) if self._filters else ():
            allowed &= check.passes
        return allowed


def _reason(limit: LoadLimit) -> str:
    return words.usage_above(limit.resource, limit.percent, limit.period)
