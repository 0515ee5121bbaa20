"""Sorts a hundred thousand things without keeping other threads from running: the interpreter sorts in one go."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, zip_longest
from typing import Any, Protocol, TypeVar


class Sortable(Protocol):
    """What can be compared with others of its kind."""

    def __lt__(self, other: Any, /) -> bool: ...


T = TypeVar("T", bound=Sortable)

RUN = 8192
"""So many are sorted in one go. Two sorted runs are merged by about as many comparisons as they are long."""


def in_order(items: Iterable[T], run_length: int = RUN) -> list[T]:
    """The same as ``sorted``."""
    rest = iter(items)
    runs: list[list[T]] = []
    none: list[T] = []
    while run := sorted(islice(rest, run_length)):
        runs.append(run)
    while len(runs) > 1:
        runs = [sorted(first + second) for first, second in zip_longest(runs[::2], runs[1::2], fillvalue=none)]
    return runs[0] if runs else []
