"""Finds a small subset that is enough, by bisection with a test function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

SOUGHT_MAX = 4
"""The subset has at most this many members."""


def smallest_part(parts: Sequence[str], enough: Callable[[Sequence[str]], bool | None]) -> Sequence[str]:
    """Some of ``parts`` that are enough, none of them superfluous; all parts if the subset would be too large.

    All parts together are enough. If ``enough`` returns None, the time is over, and the result is all parts. The parts
    found by then come first.
    """
    needed: list[str] = []
    rest = list(parts)
    for _ in range(SOUGHT_MAX):
        low, high = 0, len(rest)
        while high - low > 1:
            middle = (low + high) // 2
            answer = enough([*needed, *rest[:middle]])
            if answer is None:
                return _first(needed, parts)
            low, high = (low, middle) if answer else (middle, high)
        needed.append(rest[high - 1])
        rest = rest[: high - 1]
        if not rest or enough(needed):
            return needed
    return _first(needed, parts)


def _first(some: Sequence[str], parts: Sequence[str]) -> Sequence[str]:
    return [*some, *(part for part in parts if part not in some)]
