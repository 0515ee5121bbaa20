"""usage: nodes by what they really use, not by what is asked of them (seed 003, reference 4.11).

Filter: a node whose average of cpu or memory is above the threshold given for it takes no new pods; without a
threshold none is closed. ``enablePredicate: false`` leaves scores alone.

Score: ``100 * usage.weight * (c * (1 - load of cpu) + m * (1 - load of memory))``, of three factors:

usage        the lower the load, the higher the score; load that is placed and not measured yet counts as estimated
fluctuation  a load counts as its average plus ``fluctuation.weight`` standard deviations, 100 % at most: of two nodes
             alike on average, the one with the wider curve is the first to be overloaded at peak hours. One standard
             deviation is what a load that varies evenly exceeds for a sixth of the time
dimension    ``c`` and ``m`` are the weights of cpu and memory times ``1 + lean * dimension.weight`` and ``1 - lean *
             dimension.weight``, scaled to add up to 1, where ``lean = (s - t) / (s + t)`` of the pod's shares ``s`` and
             ``t`` of the cluster's cpu and memory: who asks for much cpu goes where cpu is spare

Preemptable: a pod has an own candidate, the least loaded node that attributes allow it. It takes from pods on nodes
with more load than that one. Where the nodes it may use are loaded alike it has no opinion; nor where nothing is known.

Unknown, or older than five minutes, is never idle: the filter lets the node pass, and its requests are its load.
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
from vsched.kernels.usage import DIMENSIONS, Risk, figures, idleness, idleness_row
from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.nodes.usage import STALE_SECONDS
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.plugins.load.args import Limit, UsageArgs
from vsched.plugins.load.loads import Estimates, Loads, measured_loads, steady_loads, young_loads
from vsched.plugins.pods.effective import effective

__all__ = ["Usage", "UsageArgs"]

MAX_SCORE = 100.0
PERCENT = 100
ALL_ROWS = slice(None)
HOT = "their nodes are no hotter"
ABOVE = "node(s) had {resource} usage above {percent:g}% ({period} average)"


class Hot(NamedTuple):
    """Nodes as victims are chosen by them, for one shape."""

    load: Floats
    """float64[nodes]: cpu and memory by the weights of the shape."""
    own: float
    """The load of the node it would get."""


class Usage(Plugin[UsageArgs], NodeFilter, NodeScore, Preemptable, PlacementListener):
    """Keeps pods off loaded nodes, and prefers those with little load."""

    name = "usage"
    args_type = UsageArgs

    def open(self, context: SessionContext) -> None:
        """Note the figures; loads are worked out when the first score is asked for."""
        args = self.args
        self._snapshot, self._filters = context.snapshot, context.switches.predicate
        self._table = context.nodes.usage
        self._scale = MAX_SCORE * args.weight if args.cpu or args.memory else 0.0
        self._estimates = Estimates(args)
        self._coming: Ints = np.zeros((2 * DIMENSIONS, len(context.nodes)), dtype=np.int64)
        """As estimated for what is placed and not measured; of this cycle alone until the first score is asked for."""
        self._coming_at = self._coming.data
        self._weights: dict[Shape, tuple[float, float]] = {}
        self._hot: dict[Shape, Hot | None] = {}
        self._nodes: NodeTable | None = None
        self._measured: Floats | None = None
        self._checks: tuple[Check, ...] | None = None

    # -- filter -------------------------------------------------------------------------------------------------

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Nodes above a threshold, whatever is asked for: figures stay as they are for the length of a cycle."""
        if self._checks is None:
            self._checks = effective((_reason(limit), Code.USAGE, self._below(limit)) for limit in self.args.limits())
        return self._checks

    def _below(self, limit: Limit) -> Mask:
        """bool[nodes]: where the average is not known to be above the threshold."""
        table = self._table
        if table is None:
            return np.ones(self._coming.shape[1], dtype=np.bool_)
        average, _ = figures(table, limit.period, limit.resource, self._snapshot.now, STALE_SECONDS)
        above: Mask = average > limit.percent
        return ~above

    # -- score --------------------------------------------------------------------------------------------------

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """0 to 100 times the weight; less on nodes that would be more than full."""
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

    def _known_loads(self) -> Floats:
        if self._measured is None:
            self._measured = measured_loads(self._table, self.args, self._snapshot.now, self._coming.shape[1])
        return self._measured

    def _weights_for(self, shape: Shape) -> tuple[float, float]:
        """What cpu and memory weigh for a shape; they add up to 1."""
        found = self._weights.get(shape)
        if found is None:
            args, lean = self.args, self._lean(shape) * self.args.dimension
            cpu, memory = args.cpu * (1.0 + lean), args.memory * (1.0 - lean)
            if not cpu + memory:  # it asks for nothing of what counts
                cpu, memory = float(args.cpu), float(args.memory)
            found = self._weights[shape] = (cpu / (cpu + memory), memory / (cpu + memory))
        return found

    def _lean(self, shape: Shape) -> float:
        """From -1, where the pod asks for memory alone, to 1, where it asks for cpu alone."""
        total, request = self._snapshot.total, dict(shape.request)
        cpu, memory = (request.get(column, 0) / max(1, total[column]) for column in (CPU, MEMORY))
        return (cpu - memory) / (cpu + memory) if cpu or memory else 0.0

    # -- what is placed, and not measured -----------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """More load is coming."""
        self._shift(task, row, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Less load is coming."""
        self._shift(task, row, -1)

    def _shift(self, task: Task, row: int, sign: int) -> None:
        """A victim is still in the figures of its node: that it leaves is for the next reading to tell."""
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
        """Each threshold, up to 100 %."""
        for name, percent in self.args.thresholds.items():
            if int(percent) < PERCENT:

                def closing_later(step: int, name: str = name, percent: float = percent) -> dict[str, object]:
                    return {"edit": "threshold", "name": name, "percent": min(100.0, int(percent) + step)}

                yield ArgumentLever(closing_later, PERCENT - int(percent), PERCENT)

    # -- victims ------------------------------------------------------------------------------------------------

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        """All where the node has more load than the evictor's own candidate, else none; jobs rule nobody out."""
        hot = self._hot_for(evictor.shape)
        if hot is None:
            return None
        load, own, row_of = hot.load, hot.own, self._snapshot.nodes.statics.row

        def agrees(victim: Task) -> bool:
            return bool(load[row_of[victim.node]] > own)

        # The shape decides, and evictors of one class differ in that anyway. Its old node is the one to be regained.
        return Votes.each(agrees, HOT, depends_on=None)._replace(regains=lambda taker: agrees(evictor))

    def _hot_for(self, shape: Shape) -> Hot | None:
        """By measured loads as of the beginning of the cycle; None where there is nothing to tell nodes apart by."""
        if shape not in self._hot:
            self._hot[shape] = self._hot_of(shape)
        return self._hot[shape]

    def _hot_of(self, shape: Shape) -> Hot | None:
        measured = self._known_loads()
        if not self._scale or np.isnan(measured).all():
            return None
        cpu, memory = self._weights_for(shape)
        steady = steady_loads(measured, self._snapshot.nodes)
        load = steady[0] * cpu + steady[1] * memory
        usable = load[self._allowed(shape)]
        return Hot(load, float(usable.min())) if usable.size and usable.max() > usable.min() else None

    def _allowed(self, shape: Shape) -> Mask:
        """bool[nodes]: where cordons, taints, selectors, affinity and thresholds let it."""
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


def _reason(limit: Limit) -> str:
    return ABOVE.format(resource=limit.resource, percent=limit.percent, period=limit.period)
