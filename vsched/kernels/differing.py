"""Which elements of two lists are not the same object: records that never change are compared in no time."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_


def differing(now: Iterable[object], then: Iterable[object]) -> list[int]:
    """The positions, ascending, up to the end of the shorter list."""
    same = bytes(map(is_, now, then))
    found: list[int] = []  # ``list[int]()`` takes ten times as long
    at = same.find(0)
    while at >= 0:
        found.append(at)
        at = same.find(0, at + 1)
    return found
