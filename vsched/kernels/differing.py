"""Which elements of two lists, or values of two mappings, are not the same object.

Records that never change are compared in no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import filterfalse
from operator import is_
from typing import TypeVar

Key = TypeVar("Key")


def differing(now: Iterable[object], then: Iterable[object]) -> list[int]:
    """The positions, ascending, up to the end of the shorter list."""
    same = bytes(map(is_, now, then))
    found: list[int] = []  # ``list[int]()`` takes ten times as long
    at = same.find(0)
    while at >= 0:
        found.append(at)
        at = same.find(0, at + 1)
    return found


def differing_keys(now: Mapping[Key, object], then: Mapping[Key, object]) -> list[Key]:
    """The keys whose values are not the same object, in the order of ``now``; last those that only ``then`` has.

    ``None`` is no value.
    """
    keys = [*now]
    found = [keys[at] for at in differing(now.values(), map(then.get, keys))]
    if not found and len(keys) == len(then):
        return found
    kept = len(keys) - sum(key not in then for key in found)
    return found if kept == len(then) else [*found, *filterfalse(now.__contains__, then)]
