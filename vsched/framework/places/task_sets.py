"""Tasks to place together, grouped by what they ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from vsched.model.amounts.resources import NOTHING, Amounts, plus, times
from vsched.model.pods.task import Task


class TaskKind(NamedTuple):
    """Tasks that ask for the same."""

    kind: Hashable
    first: Task
    tasks: int


class TaskSet(NamedTuple):
    """Tasks to place together, and how many of them are wanted at least."""

    kinds: Sequence[TaskKind]
    tasks: int
    wanted: int
    request: Amounts
    """The sum over all tasks."""
    least: Amounts
    """The smallest sum of ``wanted`` of the requests, resource by resource; nothing where all ask for the same."""


def task_set_of(tasks: Sequence[Task], wanted: int, kind_of: Callable[[Task], Hashable]) -> TaskSet:
    """The task_set of tasks; there is at least one."""
    kinds = [kind_of(task) for task in tasks]
    first = dict(zip(reversed(kinds), reversed(tasks), strict=True))
    found = [TaskKind(kind, first[kind], count) for kind, count in Counter(kinds).items()]
    request = NOTHING
    for one in found:
        request = plus(request, times(one.first.shape.request, one.tasks))
    least = NOTHING if len(found) == 1 else tuple((column, _smallest(found, column, wanted)) for column, _ in request)
    return TaskSet(found, len(tasks), wanted, request, least)


def _smallest(kinds: Sequence[TaskKind], column: int, wanted: int) -> int:
    total = 0
    for amount, count in sorted((dict(one.first.shape.request).get(column, 0), one.tasks) for one in kinds):
        taken = min(count, wanted)
        total += amount * taken
        wanted -= taken
    return total
