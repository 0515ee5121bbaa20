"""Sums over the pods of one namespace: what they use and wait for. An update costs the same for any number of pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TypeVar

import numpy as np

from vsched.model.amounts.counted import counted_name, is_storage
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.amounts.resources import Amounts, ResourceAxis, Vector, add, subtract
from vsched.model.nodes.table import Ints
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task

K = TypeVar("K")
Sums = TypeVar("Sums", Vector, Mapping[str, int])
Limits = tuple[tuple[str, int], ...]
Burden = tuple[Amounts, Limits]
"""A pod's requests and limits."""


class CountedAs(IntEnum):
    """How a pod counts for its namespace."""

    NOTHING = 0
    """Finished, held back by a gate, gone before it had a node, or with a node that has not taken it."""
    HELD = 1
    LEAVING = 2
    WAITING = 3


_HOLDING = (CountedAs.HELD, CountedAs.LEAVING)


def part_of(task: Task | None) -> CountedAs:
    """How a pod counts."""
    if task is None:
        return CountedAs.NOTHING
    if task.status is Status.UNTAKEN:
        return CountedAs.NOTHING
    if task.node:
        holds = HOLDS[task.status]
        return (CountedAs.LEAVING if holds.releasing else CountedAs.HELD) if holds.uses else CountedAs.NOTHING
    return CountedAs.WAITING if task.status is Status.PENDING and not task.gated else CountedAs.NOTHING


class PodSums:
    """The unfinished pods of one namespace, and their sums."""

    __slots__ = ("held", "leaving", "limits", "limits_leaving", "pending", "tasks", "waiting")

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.pending: dict[str, Task] = {}
        """The waiting pods."""
        self.held: Vector = {}
        """Requests by column, of all pods with a node."""
        self.leaving: Vector = {}
        """The part of pods that are leaving."""
        self.limits: dict[str, int] = {}
        """Limits by counted name, of all pods with a node."""
        self.limits_leaving: dict[str, int] = {}
        self.waiting: dict[Burden, int] = {}
        """How many pods wait, by what they ask for."""

    def move(self, old: Task | None, new: Task | None) -> bool:
        """Replace a pod; True where the usage of the namespace has changed."""
        if new is not None and not _is_finished(new):
            self.tasks[new.uid] = new
        elif old is not None:
            self.tasks.pop(old.uid, None)
        before, after = part_of(old), part_of(new)
        if new is not None and after is CountedAs.WAITING:
            self.pending[new.uid] = new
        elif old is not None and before is CountedAs.WAITING:
            del self.pending[old.uid]
        if before is after and (old is None or new is None or old.shape is new.shape):
            return False
        if old is not None:
            self._book(before, old, -1)
        if new is not None:
            self._book(after, new, 1)
        return before in _HOLDING or after in _HOLDING

    def kept(self) -> Vector:
        """The usage without pods that are leaving, by column, without zeros."""
        return _staying(self.held, self.leaving)

    def kept_limits(self) -> dict[str, int]:
        """The limits of the same pods, by counted name, without zeros."""
        return _staying(self.limits, self.limits_leaving)

    def _book(self, part: CountedAs, task: Task, sign: int) -> None:
        request, limits = task.shape.request, task.shape.limits
        if part is CountedAs.WAITING:
            burden = request, limits
            self.waiting[burden] = self.waiting.get(burden, 0) + sign
            if not self.waiting[burden]:
                del self.waiting[burden]
            return
        if part is CountedAs.NOTHING:
            return
        shift = add if sign > 0 else subtract
        shift(self.held, request)
        _shift(self.limits, limits, sign)
        if part is CountedAs.LEAVING:
            shift(self.leaving, request)
            _shift(self.limits_leaving, limits, sign)


class CountedNames:
    """The counted name of each column of an axis, empty for columns that do not count."""

    def __init__(self, axis: ResourceAxis) -> None:
        self._axis = axis
        self._names: list[str] = []
        self._version = -1

    def named(self, vector: Vector | Amounts) -> dict[str, int]:
        """Amounts by column as amounts by counted name, without zeros."""
        names = self._current()
        pairs = vector.items() if isinstance(vector, dict) else vector
        return {names[column]: value for column, value in pairs if value and names[column]}

    def _current(self) -> list[str]:
        if self._version != self._axis.version:
            self._version = self._axis.version
            counted = (counted_name(name) for name in self._axis.names)
            self._names = ["" if is_storage(name) else name for name in counted]
        return self._names


class EmptyNodes:
    """Whether a request fits some empty node, by amounts alone; remembered until nodes change."""

    LIMIT = 4096
    """How many answers are remembered."""

    def __init__(self) -> None:
        self._allocatable: Ints = np.zeros((0, 0), dtype=np.int64)
        self._answers: dict[Amounts, bool] = {}

    def see(self, allocatable: Ints, requests: Iterable[Amounts]) -> set[Amounts]:
        """Set the allocatable amounts, ``int64[column, node]``; returns the requests whose answers may have changed."""
        before, self._answers, self._allocatable = self._answers, {}, allocatable
        return {request for request in requests if before.get(request) is not self.could_hold(request)}

    def could_hold(self, request: Amounts) -> bool:
        answer = self._answers.get(request)
        if answer is None:
            if len(self._answers) >= self.LIMIT:
                self._answers.clear()
            answer = self._answers[request] = self._ask(request)
        return answer

    def _ask(self, request: Amounts) -> bool:
        table = self._allocatable
        columns = [column for column, _ in request]
        if columns and columns[-1] >= len(table):
            return False  # a resource that no node has named
        wanted = np.array([min(value, UNLIMITED) for _, value in request], dtype=np.int64)
        return bool((table[columns] >= wanted[:, None]).all(axis=0).any())


def waiting_of(sums: PodSums, names: CountedNames, nodes: EmptyNodes) -> dict[str, int]:
    """What the waiting pods ask for, by counted name, without pods that fit no node."""
    total: Vector = {}
    limits: dict[str, int] = {}
    for (request, limited), count in sums.waiting.items():
        if nodes.could_hold(request):
            for column, value in request:
                total[column] = total.get(column, 0) + count * value
            for name, value in limited:
                limits[name] = limits.get(name, 0) + count * value
    return {**names.named(total), **limits}


def put_sums(table: dict[str, Sums], namespace: str, sums: Sums) -> None:
    """Set the sums of a namespace; empty sums have no entry."""
    if sums:
        table[namespace] = sums
    else:
        table.pop(namespace, None)


def _staying(held: Mapping[K, int], leaving: Mapping[K, int]) -> dict[K, int]:
    kept = {key: value - leaving.get(key, 0) for key, value in held.items()}
    return {key: value for key, value in kept.items() if value}


def _shift(into: dict[str, int], amounts: Limits, sign: int) -> None:
    for name, value in amounts:
        into[name] = into.get(name, 0) + sign * value


def _is_finished(task: Task) -> bool:
    return task.status in (Status.SUCCEEDED, Status.FAILED)
