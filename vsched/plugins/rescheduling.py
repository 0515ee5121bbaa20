"""rescheduling: moves pods from highly used nodes to nodes with little usage.

Once every ``interval`` (counted from the epoch, as with tdm), the strategy ``lowNodeUtilization`` reads what nodes
really used over ``metricsPeriod``. A node is low if all of cpu, memory and pods are below ``thresholds``. It is high if
any of them is above ``targetThresholds``. Without low nodes or without high nodes, no pod is chosen.

The strategy starts with the highest node and chooses pods there until the node is no longer high: the lowest priority
first; among equal priorities first pods without requests, then pods that may use more than they request, then all
others. All chosen pods together use no more than the low nodes have left up to ``targetThresholds``, so pods do not
move back and forth.

The usage of single pods is not measured. A pod's part in the requests of its node counts as its part in the node's
usage. These pods stay: pods that started after the newest sample, pods that may run on no low node, and pods that a
disruption budget protects. A pod placed on a low node after the sample counts as if it used all it requests.

A node whose figures are missing or stale is neither low nor high. The strategy names pods for the action ``shuffle``,
which evicts only pods that fit on another node; with the plugin ``usage`` in the policy, a node with little load.

Three defects of Volcano are not copied: it finds figures only for a period of ten minutes and reads all others
as zero; it finds pods by name, whatever their namespace; it goes on where a budget is exceeded and not exactly used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Annotated, Literal, NamedTuple, Self

import msgspec
import numpy as np
from msgspec import structs

from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.points.victims import VictimTasks
from vsched.framework.policy import Seconds
from vsched.kernels.selectors import affinity_mask
from vsched.kernels.taints import cordoned, tolerated_mask
from vsched.kernels.usage import figures, lacking
from vsched.model.amounts.resources import CPU, MEMORY, PODS
from vsched.model.nodes.table import Floats, Mask
from vsched.model.nodes.usage import DEFAULT_PERIOD, STALE_SECONDS, UsageTable, period_seconds
from vsched.model.pods.shape import Rules
from vsched.model.pods.task import Task
from vsched.plugins.words import arguments

Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
_COLUMNS = (CPU, MEMORY, PODS)


class Thresholds(msgspec.Struct, frozen=True):
    """Percentages of a node; 100 where nothing is said."""

    cpu: Percent = 100.0
    memory: Percent = 100.0
    pod: Percent = 100.0
    """Of the pods a node can take; by count, whatever they use."""
    pods: Percent | None = None
    """Another spelling of ``pod``."""

    @property
    def levels(self) -> Floats:
        """float64[3]: cpu, memory, pods."""
        return np.array([self.cpu, self.memory, self.folded().pod])

    def folded(self) -> Self:
        """The same in one spelling."""
        return self if self.pods is None else structs.replace(self, pod=self.pods, pods=None)


class Params(msgspec.Struct, frozen=True):
    """What makes a node low, and what makes it high."""

    thresholds: Thresholds = Thresholds()
    """A node is low below all of these."""
    target_thresholds: Thresholds = msgspec.field(default=Thresholds(), name="targetThresholds")
    """A node is high above any of these; with the defaults none ever is."""

    def folded(self) -> Self:
        """The same in one spelling."""
        thresholds, targets = self.thresholds.folded(), self.target_thresholds.folded()
        return structs.replace(self, thresholds=thresholds, target_thresholds=targets)


class VictimStrategy(msgspec.Struct, frozen=True):
    """One way of choosing who leaves."""

    name: Literal["lowNodeUtilization"]
    params: Params = Params()


class ReschedulingArgs(msgspec.Struct, frozen=True):
    """How often it is looked, at which figures, and who leaves then."""

    interval: Seconds = 300.0
    """Between two looks: long enough for the last one to show in the figures. Zero for every cycle."""
    metrics_period: str = msgspec.field(default=DEFAULT_PERIOD, name="metricsPeriod")
    """What usage is averaged over."""
    strategies: tuple[VictimStrategy, ...] = ()

    def normalised(self) -> Self:
        """The same; raises ValueError for a period that is none, and where a node could be low and high at once."""
        if not period_seconds(self.metrics_period):
            raise ValueError(arguments.no_metrics_period(self.metrics_period))
        strategies = []
        for at, strategy in enumerate(self.strategies):
            params = strategy.params
            low, high = params.thresholds.levels, params.target_thresholds.levels
            for name, least, most in zip(("cpu", "memory", "pod"), low, high, strict=True):
                if least > most:
                    raise ValueError(arguments.low_and_high(at, name, least, most))
            strategies.append(structs.replace(strategy, params=params.folded()))
        return structs.replace(self, strategies=tuple(strategies))

    def usage_periods(self) -> Iterable[str]:
        """The one period that is looked at."""
        return (self.metrics_period,) if self.strategies else ()


class Load(NamedTuple):
    """The usage of all nodes: one row each for cpu, memory and pods."""

    used: Floats
    """float64[3, nodes], percent; NaN where unknown."""
    expected: Floats
    """float64[3, nodes], percent: ``used`` plus the pods placed since the newest sample."""


class Rescheduling(Plugin[ReschedulingArgs], VictimTasks):
    """Names pods to move to other nodes."""

    name = "rescheduling"
    args_type = ReschedulingArgs

    def open(self, context: SessionContext) -> None:
        """Compute whether this cycle is due; usage is read only when ``victim_tasks`` is called."""
        self._snapshot, self._nodes = context.snapshot, context.nodes
        interval, now = self.args.interval, context.snapshot.now
        self._due = not interval or now // interval != context.snapshot.previous // interval

    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """The candidates that should leave high nodes, in the order of eviction."""
        usage = self._nodes.usage
        if not self._due or usage is None or not self.args.strategies:
            return ()
        load = self._load(usage)
        if load is None:
            return ()
        victims: dict[str, Task] = {}
        for strategy in self.args.strategies:
            for victim in self._low_node_utilization(strategy.params, load, usage, candidates):
                victims.setdefault(victim.uid, victim)
        return list(victims.values())

    def _load(self, usage: UsageTable) -> Load | None:
        """The usage of nodes; None where no node has figures for the period."""
        period, nodes = self.args.metrics_period, self._nodes
        cpu, memory = (
            figures(usage, period, resource, self._snapshot.now, STALE_SECONDS)[0] for resource in ("cpu", "memory")
        )
        if np.isnan(cpu + memory).all():
            return None
        whole = np.maximum(nodes.allocatable[_COLUMNS, :], 1)
        used = np.array([cpu, memory, 100.0 * nodes.requested[PODS] / whole[2]])
        return Load(used, used + 100.0 * self._since(usage) / whole)

    def _since(self, usage: UsageTable) -> Floats:
        """float64[3, nodes]: requests of pods that the figures do not contain yet; 0 for the number of pods."""
        placed = np.zeros((3, len(self._nodes)))
        placed[:2] = np.maximum(self._nodes.scoring - self._snapshot.nodes.scoring, 0)
        young, seconds = usage.young, period_seconds(self.args.metrics_period)
        if seconds and len(young.rows):
            asked = np.array([(shape.scoring_cpu, shape.scoring_memory) for shape in young.kinds], float)[young.shapes]
            part = lacking(young.started, usage.measured[young.rows], seconds)
            np.add.at(placed[:2].T, young.rows, asked * np.nan_to_num(part)[:, None])
        return placed

    def _low_node_utilization(
        self, params: Params, load: Load, usage: UsageTable, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        low, high = self._low_and_high(params, load)
        if not low.any() or not high.any():
            return ()
        targets, whole = params.target_thresholds.levels, self._nodes.allocatable[_COLUMNS, :]
        room = np.maximum(targets[:, None] - load.expected[:, low], 0.0) * whole[:, low] / 100.0
        budget = room.sum(axis=1)
        rows, welcomes = self._nodes.statics.row, self._welcomes(low)
        there: dict[int, list[Task]] = {row: [] for row in np.flatnonzero(high).tolist()}
        for task in candidates:
            row = rows.get(task.node, -1)
            if row in there and not task.started > usage.measured[row] and welcomes(task) and not self._guarded(task):
                there[row].append(task)
        victims: list[Task] = []
        for row in sorted(there, key=lambda row: (-load.used[:2, row].sum(), row)):
            victims += self._leaving(row, there[row], load.used[:, row], targets, budget)
        return victims

    def _low_and_high(self, params: Params, load: Load) -> tuple[Mask, Mask]:
        """Low and high nodes, bool[nodes] each; a node with unknown usage is neither."""
        targets = params.target_thresholds.levels[:, None]
        known = ~np.isnan(load.used).any(axis=0)
        below = (load.expected < params.thresholds.levels[:, None]).all(axis=0)
        return np.logical_and(~cordoned(self._nodes.statics), below), np.logical_and(
            known, (load.used > targets).any(axis=0)
        )

    def _welcomes(self, low: Mask) -> Callable[[Task], bool]:
        """A function that says whether taints, selectors and affinity allow a task any of the low nodes."""
        statics = self._nodes.statics

        @cache
        def any_of(rules: Rules) -> bool:
            masks = (affinity_mask(rules, statics), tolerated_mask(statics, rules.tolerations))
            return bool(np.logical_and.reduce([low, *(mask for mask in masks if mask is not None)]).any())

        return lambda task: any_of(task.shape.rules)

    def _guarded(self, task: Task) -> bool:
        """Whether a disruption budget forbids to evict the task. Naming it would use up room that other tasks need."""
        budgets = self._snapshot.budgets.get(task.namespace, ())
        closed = [budget for budget in budgets if budget.allowed <= 0]
        return bool(closed) and any(budget.selector.matches(dict(task.labels.pairs)) for budget in closed)

    def _leaving(self, row: int, tasks: list[Task], used: Floats, targets: Floats, budget: Floats) -> list[Task]:
        """The tasks that leave one high node, within ``budget``; subtracts their usage from ``budget``."""
        nodes = self._nodes
        whole = nodes.allocatable[_COLUMNS, row].astype(float)
        asked = np.maximum(np.array([*nodes.scoring[:, row], 1.0]), 1.0)
        amount = used * whole / 100.0
        share = np.array([amount[0] / asked[0], amount[1] / asked[1], 1.0])
        """The usage for each unit of a request."""
        goal = targets * whole / 100.0
        leaving: list[Task] = []
        for task in sorted(tasks, key=_rank):
            too_much = amount > goal
            if not too_much.any() or not (budget > 0.0).all():
                break
            part = share * np.array([task.shape.scoring_cpu, task.shape.scoring_memory, 1.0])
            if (part > budget).any() or not (part[too_much] > 0.0).any():
                continue
            amount -= part
            budget -= part
            leaving.append(task)
        return leaving


def _rank(task: Task) -> tuple[int, int]:
    """The sort key of eviction, smallest first: priority, then quality of service by requests and limits."""
    shape = task.shape
    return task.priority, 0 if shape.best_effort else 1 if any(shape.burst) else 2
