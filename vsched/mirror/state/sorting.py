"""Sorts many keys in steps, so that the event loop is not held by a hundred thousand of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterable
from itertools import chain

RUN = 2_048
"""So many keys are sorted in a step, and a few times as many at most are merged in one."""
_MARKS = 32
"""So many keys of a run are looked at to tell where the parts to merge begin."""


def sorting(keys: Iterable[str], run: int = RUN) -> Generator[None, None, list[str]]:
    """The keys in order, as ``sorted`` has them, with as many comparisons; without a step where it is one ``run``."""
    found = list(keys)
    if len(found) <= run:
        found.sort()
        return found
    runs: list[list[str]] = []
    for first in range(0, len(found), run):
        runs.append(sorted(found[first : first + run]))
        yield
    marks = sorted(key for some in runs for key in some[:: max(1, run // _MARKS)])
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
