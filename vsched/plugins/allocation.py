"""allocation: namespaces hold no more than the arbitrator lets them (seed 001).

A ceiling is what a namespace deserves and what of the rest nobody else claims; it is worked out before the cycle and
stands for its length. A pod that would take its namespace over it waits, a gang waits whole, and nothing is taken from
other namespaces for either: who may hold no more can only replace what is its own. What is on its way out does not
count. While ``vsched run --arbitrate`` divides the cluster this plugin is part of every policy, named or not; without
ceilings it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from vsched.framework.codes import Code
from vsched.framework.extension import NamespaceLimit, NoArgs, Opening, PlacementListener, Plugin
from vsched.framework.jobs import JobView
from vsched.framework.policy import PluginConf
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.counted import format_counted
from vsched.model.resources import Vector, add, subtract
from vsched.model.shape import Shape
from vsched.model.snapshot import Snapshot
from vsched.model.task import Task

OVER_CEILING = "NamespaceOverAllocation"

K = TypeVar("K")


class Kept:
    """What one namespace keeps in the course of a cycle."""

    __slots__ = ("limits", "requests")

    def __init__(self, snapshot: Snapshot, namespace: str) -> None:
        self.requests: Vector = dict(snapshot.held.get(namespace, {}))
        """By column."""
        self.limits = dict(snapshot.held_limits.get(namespace, {}))
        """By counted name."""

    def shift(self, shape: Shape, sign: int) -> None:
        """One pod more (``sign=1``), or less (``sign=-1``)."""
        change = add if sign > 0 else subtract
        change(self.requests, shape.request)
        for name, value in shape.limits:
            self.limits[name] = self.limits.get(name, 0) + sign * value


class Allocation(Plugin[NoArgs], NamespaceLimit, PlacementListener):
    """Holds namespaces to their ceilings."""

    name = "allocation"

    def open(self, opening: Opening) -> None:
        """Keep the ceilings; what a namespace holds is copied when it first matters."""
        self._snapshot = opening.snapshot
        self._names = opening.snapshot.axis.names
        self._ceilings = opening.snapshot.ceilings
        self._kept: dict[str, Kept] = {}

    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """What the namespace keeps and these pods stay within its ceiling, of everything they have requests or limits
        for."""
        ceiling = self._ceilings.get(namespace)
        if ceiling is None:
            return None
        kept = self._of(namespace)
        requests = _beyond(kept.requests, shape.request, count, ceiling.most)
        limits = _beyond(kept.limits, shape.limits, count, ceiling.limits)
        if not requests and not limits:
            return None
        told = [_told(self._names[column], held, ceiling.most[column]) for column, held in requests]
        told += [_told(name, held, ceiling.limits[name]) for name, held in limits]
        short = [
            _shortage(self._names[column], held, ceiling.most[column], kept.requests.get(column, 0))
            for column, held in requests
        ]
        short += [_shortage(name, held, ceiling.limits[name], kept.limits.get(name, 0)) for name, held in limits]
        message = f"namespace {namespace} would hold {', '.join(told)}"
        return Refusal(OVER_CEILING, message, True, Code.NAMESPACE_CEILING, namespace, tuple(short))

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The namespace holds more, or again."""
        if task.namespace in self._ceilings:
            self._of(task.namespace).shift(task.shape, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The namespace holds less."""
        if task.namespace in self._ceilings:
            self._of(task.namespace).shift(task.shape, -1)

    def _of(self, namespace: str) -> Kept:
        kept = self._kept.get(namespace)
        if kept is None:
            kept = self._kept[namespace] = Kept(self._snapshot, namespace)
        return kept


def _beyond(
    kept: Mapping[K, int], asked: Iterable[tuple[K, int]], count: int, most: Mapping[K, int]
) -> list[tuple[K, int]]:
    """What would be held too much of, and how much that would be."""
    return [
        (key, kept.get(key, 0) + amount * count)
        for key, amount in asked
        if key in most and kept.get(key, 0) + amount * count > most[key]
    ]


def _shortage(name: str, wanted: int, most: int, held: int) -> Shortage:
    return Shortage(name, held, wanted - held, most)


def _told(name: str, held: int, most: int) -> str:
    return f"{format_counted(name, held)} {name} of the {format_counted(name, most)} it may"


ALLOCATION = PluginConf(Allocation.name, NoArgs())
"""Its place in a policy that does not name it."""
