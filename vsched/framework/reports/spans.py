"""What is said of the nodes that are wanted for the jobs of a crowd: the same of many jobs in a row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from vsched.framework.combine.orders import OrderKey
from vsched.framework.crowds import Crowd
from vsched.framework.reports.plain import Sizes


class Spans:
    """Of jobs in a row, by their sort keys: positions change as others come and go. The first span has no beginning."""

    def __init__(self) -> None:
        self._firsts: list[OrderKey] = []
        """The sort key of the first job of each span."""
        self._sizes: list[Sizes] = []

    def add(self, first: OrderKey, sizes: Sizes) -> None:
        """The same is said from this job on, which goes after all that were added."""
        if not self._sizes or self._sizes[-1] != sizes:
            self._firsts.append(first)
            self._sizes.append(sizes)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def at(self, rank: OrderKey) -> Sizes:
        """What is said of the job with a sort key."""
        return self._sizes[self._of(rank)]

    def differing(self, crowd: Crowd, start: int, end: int, sizes: Sizes) -> Iterator[str]:
        """The keys of the jobs of a crowd, between two positions, of which something else is said."""
        while start < end:
            span = self._of(crowd.ranks[start])
            last = span + 1 == len(self._firsts)
            until = end if last else bisect_left(crowd.ranks, self._firsts[span + 1], start, end)
            if self._sizes[span] != sizes:
                yield from crowd.keys[start:until]
            start = until

    def _of(self, rank: OrderKey) -> int:
        return max(0, bisect_right(self._firsts, rank) - 1)
