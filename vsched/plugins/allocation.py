"""allocation: limits what namespaces hold to the arbitrator's ceilings, each and together.

A namespace's ceiling is what it deserves plus what no other namespace claims. It is computed before the cycle and does
not change during it. Unclaimed resources are lent only once: the first namespace to use them gets them, and less is
left for the others. The namespaces of a bucket share the bucket's limit.

A pod that would take its namespace over the ceiling waits; a gang waits as a whole. The scheduler evicts no pods of
other namespaces for it: a namespace at its ceiling can only replace its own pods. Leaving pods do not count. While
``vsched run --arbitrate`` divides the cluster, this plugin is part of each policy, even if the policy does not name it.
Without ceilings it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import (
    NamespaceLimit,
    NoArgs,
    PlacementListener,
    Plugin,
    Reserving,
    SessionContext,
)
from vsched.framework.policy import PluginConf
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.amounts.counted import NOTHING
from vsched.model.amounts.resources import Vector
from vsched.model.arbitration.pooled import Bounds, Excess, Pooled, PoolPart, overfull
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

OVER_CEILING = "NamespaceOverAllocation"


class Allocation(Plugin[NoArgs], NamespaceLimit, PlacementListener, Reserving):
    """Limits namespaces to their ceilings."""

    name = "allocation"

    def open(self, context: SessionContext) -> None:
        """Keep the ceilings; the amounts that namespaces hold are copied at the first use."""
        snapshot = context.snapshot
        self._names = snapshot.axis.names
        self._ceilings = snapshot.ceilings
        self._members: dict[str, list[str]] | None = None
        self._requests = _requests(snapshot, self._of_pools)
        self._limits = _limits(snapshot, self._of_pools)

    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """None if the namespace stays within its ceiling and its pools' limits with ``count`` more pods of this shape.

        All resources count that the pods have requests or limits for.
        """
        if namespace not in self._ceilings:
            return None
        requests = self._requests.excess(
            namespace, shape.request, count, lambda: self._limits.deserves(namespace, shape.limits, count)
        )
        limits = self._limits.excess(
            namespace, shape.limits, count, lambda: self._requests.deserves(namespace, shape.request, count)
        )
        if not requests and not limits:
            return None
        beyond: list[tuple[str, Excess[Any]]] = [(self._names[one.key], one) for one in requests]
        beyond += [(one.key, one) for one in limits]
        short = tuple(_shortage(name, one) for name, one in beyond)
        return Refusal(OVER_CEILING, overfull(namespace, beyond), True, Code.NAMESPACE_CEILING, namespace, short)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Add the task to its namespace."""
        self._shift(task, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Subtract the task from its namespace."""
        self._shift(task, -1)

    def reserve(self, queue: Queue, task: Task, sign: int) -> None:
        """Count the task as held by its namespace, or no longer (``sign`` < 0)."""
        self._shift(task, sign)

    def _shift(self, task: Task, sign: int) -> None:
        if task.namespace in self._ceilings:
            self._requests.shift(task.namespace, task.shape.request, sign)
            if task.shape.limits:
                self._limits.shift(task.namespace, task.shape.limits, sign)

    def _of_pools(self) -> Mapping[str, list[str]]:
        """Namespaces by pool."""
        if self._members is None:
            self._members = {}
            for namespace, ceiling in self._ceilings.items():
                for pool in ceiling.pools:
                    self._members.setdefault(pool, []).append(namespace)
        return self._members


def _requests(snapshot: Snapshot, members: Callable[[], Mapping[str, list[str]]]) -> Pooled[int]:
    ceilings, nothing = snapshot.ceilings, Vector()

    def part(namespace: str) -> PoolPart[int] | None:
        one = ceilings.get(namespace)
        return None if one is None else PoolPart(one.most, one.own, one.deserved, one.pools)

    bounds = {name: Bounds(pool.hard, pool.spare) for name, pool in snapshot.pools.items()}
    return Pooled(part, bounds, members, lambda namespace: snapshot.held.get(namespace, nothing))


def _limits(snapshot: Snapshot, members: Callable[[], Mapping[str, list[str]]]) -> Pooled[str]:
    ceilings = snapshot.ceilings

    def part(namespace: str) -> PoolPart[str] | None:
        one = ceilings.get(namespace)
        return None if one is None else PoolPart(one.limits, one.own_limits, one.deserved_limits, one.pools)

    bounds = {name: Bounds(pool.hard_limits, pool.spare_limits) for name, pool in snapshot.pools.items()}
    return Pooled(part, bounds, members, lambda namespace: snapshot.held_limits.get(namespace, NOTHING))


def _shortage(name: str, one: Excess[Any]) -> Shortage:
    return Shortage(name, one.kept, one.would - one.kept, one.most)


ALLOCATION = PluginConf(Allocation.name, NoArgs())
"""The plugin as it is added to a policy that does not name it."""
