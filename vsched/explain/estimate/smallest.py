"""The smallest part of several things that is enough, found by asking."""

from __future__ import annotations

from collections.abc import Callable, Sequence

SOUGHT_MAX = 4
"""So many jobs of unknown duration at most are looked for that hold what is needed."""


def smallest_part(parts: Sequence[str], enough: Callable[[Sequence[str]], bool | None]) -> Sequence[str]:
    """A few of these that are enough, and of which none can be left out; all where they are too many to find.

    All of them together are enough. None as an answer means that there is no time for more questions.
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
