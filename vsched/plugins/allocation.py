"""allocation: namespaces hold no more than the arbitrator lets them (seed 001).

A ceiling is what a namespace deserves and what of the rest nobody else claims; it is worked out before the cycle and
stands for its length. A pod that would take its namespace over it waits, a gang waits whole, and nothing is taken from
other namespaces for either: who may hold no more can only replace what is its own. What is on its way out does not
count. While ``vsched run --arbitrate`` divides the cluster this plugin is part of every policy, named or not; without
ceilings it says nothing.
"""

from __future__ import annotations

from vsched.framework.extension import NamespaceLimit, NoArgs, Opening, PlacementListener, Plugin, Refusal
from vsched.framework.jobs import JobView
from vsched.framework.policy import PluginConf
from vsched.model.arbitration import Ceiling
from vsched.model.resources import Amounts, Vector, add, format_amount, subtract
from vsched.model.task import Task

OVER_CEILING = "NamespaceOverAllocation"


class Allocation(Plugin[NoArgs], NamespaceLimit, PlacementListener):
    """Holds namespaces to their ceilings."""

    name = "allocation"

    def open(self, opening: Opening) -> None:
        """Keep the ceilings; what a namespace holds is copied when it first changes."""
        snapshot = opening.snapshot
        self._names = snapshot.axis.names
        self._ceilings = snapshot.ceilings
        self._before = snapshot.held
        self._kept: dict[str, Vector] = {}

    def namespace_limit(self, namespace: str, request: Amounts) -> Refusal | None:
        """What the namespace keeps and the request stay within its ceiling, of everything that is asked for."""
        ceiling = self._ceilings.get(namespace)
        if ceiling is None:
            return None
        kept = self._kept.get(namespace) or self._before.get(namespace, {})
        over = [
            self._told(column, kept.get(column, 0) + amount, ceiling)
            for column, amount in request
            if column in ceiling.most and kept.get(column, 0) + amount > ceiling.most[column]
        ]
        if not over:
            return None
        return Refusal(OVER_CEILING, f"namespace {namespace} would hold {', '.join(over)}", passing=True)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The namespace holds more, or again."""
        if task.namespace in self._ceilings:
            add(self._changing(task.namespace), task.shape.request)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The namespace holds less."""
        if task.namespace in self._ceilings:
            subtract(self._changing(task.namespace), task.shape.request)

    def _changing(self, namespace: str) -> Vector:
        kept = self._kept.get(namespace)
        if kept is None:
            kept = self._kept[namespace] = dict(self._before.get(namespace, {}))
        return kept

    def _told(self, column: int, held: int, ceiling: Ceiling) -> str:
        name = self._names[column]
        return f"{format_amount(name, held)} {name} of the {format_amount(name, ceiling.most[column])} it may"


ALLOCATION = PluginConf(Allocation.name, NoArgs())
"""Its place in a policy that does not name it."""
