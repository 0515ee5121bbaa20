"""Sorts a hundred thousand things in steps: the interpreter sorts in one go, and nothing else runs meanwhile."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterable
from itertools import chain
from typing import Any, Protocol, TypeVar


class Sortable(Protocol):
    """What can be compared with others of its kind."""

    def __lt__(self, other: Any, /) -> bool: ...


T = TypeVar("T", bound=Sortable)

RUN = 2_048
"""So many are sorted in a step, and a few times as many at most are merged in one."""
_MARKS = 32
"""So many of a run are looked at to tell where the parts to merge begin."""


def sorting(items: Iterable[T], run: int = RUN) -> Generator[None, None, list[T]]:
    """The same as ``sorted``, with as many comparisons; without a step where it is one ``run``."""
    found = list(items)
    if len(found) <= run:
        found.sort()
        return found
    runs: list[list[T]] = []
    for first in range(0, len(found), run):
        runs.append(sorted(found[first : first + run]))
        yield
    marks = sorted(item for some in runs for item in some[:: max(1, run // _MARKS)])
    found, begins = [], [0] * len(runs)
    for mark in (*marks[_MARKS::_MARKS], None):
        ends = [
            len(some) if mark is None else bisect_left(some, mark, begin)
            for some, begin in zip(runs, begins, strict=True)
        ]
        parts = zip(runs, begins, ends, strict=True)
        found += sorted(chain.from_iterable(some[begin:end] for some, begin, end in parts))
        begins = ends
        yield
    return found


def in_order(items: Iterable[T], run: int = RUN) -> list[T]:
    """The same as ``sorted``, for threads: others run between two steps."""
    steps = sorting(items, run)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: list[T] = end.value
            return found
