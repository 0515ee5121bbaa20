"""The order of a job's pods where no plugin has another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vsched.model.pods.task import Task


def number_of(name: str) -> int | None:
    """The index that controllers put at the end of a pod's name; None where there is none.

    The name must have three or more parts separated by dashes.
    """
    parts = name.rsplit("-", 2)
    if len(parts) < 3 or not parts[2].isdecimal():
        return None
    return int(parts[2])


def numbers_of(tasks: Sequence[Task]) -> list[int]:
    """The indices of all pods of a job; zeros where one of them has none."""
    numbers: list[int] = []
    for task in tasks:
        number = number_of(task.name)
        if number is None:
            return [0] * len(tasks)
        numbers.append(number)
    return numbers


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks by index, then by age, then by name."""
    found = list(tasks)
    if len(found) < 2:
        return found
    numbers = numbers_of(found)
    ranks = [(number, task.created, task.name, task.uid) for task, number in zip(found, numbers, strict=True)]
    return [found[at] for at in sorted(range(len(found)), key=ranks.__getitem__)]
