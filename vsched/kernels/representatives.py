"""Rows that represent all nodes: where many nodes are alike, looking at one of them is enough.

Nodes are alike where all their amounts are equal. Of those of one kind, the first ones by name represent the others, as
the first of equal scores wins anyway. A node that changes represents itself from then on, and a further one of its kind
takes its place. Nodes that are left out are represented by none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from vsched.model.nodes.table import Ints, Mask

SAMPLE = 64
"""So many nodes are looked at first: where most of these differ, the others are not looked at."""
AHEAD = 32
"""So many rows of a kind are added at a time, since arrays grow with these rows."""


class Representatives(Sequence[int]):
    """The rows, in the order in which they were added. Rows are only added."""

    __slots__ = (
        "_added",
        "_changed",
        "_kind",
        "_kinds",
        "_order",
        "_rows",
        "_unchanged",
        "ascending",
        "at",
        "rows",
        "size",
    )

    def __init__(self, kind: Ints) -> None:
        """``kind`` has the kind of each node, from 0 on without gaps, and -1 for nodes left out: int64[nodes]."""
        self._kind: list[int] = kind.tolist()
        self._kinds: list[list[int]] = [rows.tolist() for rows in _by_kind(kind)]
        """The rows of each kind, ascending."""
        self._added = [0] * len(self._kinds)
        """How many of these rows, from the first on, were added."""
        self._unchanged = [0] * len(self._kinds)
        """How many of these have not changed."""
        self._changed: set[int] = set()
        self._rows: Ints = np.empty(len(self._kind), dtype=np.int64)
        self.rows: Ints = self._rows[:0]
        """int64[..]: the rows; valid until rows are added."""
        self.size = 0
        """How many there are."""
        self._order: list[int] = []
        """The same rows."""
        self.at: dict[int, int] = {}
        """The position of each of the rows."""
        self.ascending = True
        """Whether the rows ascend."""
        self._add(sorted(rows[0] for rows in self._kinds))
        for number in range(len(self._kinds)):
            self._added[number] = self._unchanged[number] = 1

    def touch(self, row: int) -> None:
        """Note that the amounts of a node changed."""
        if row in self._changed or self._kind[row] < 0:
            return
        self._changed.add(row)
        if row not in self.at:
            self._add([row])
            return
        kind = self._kind[row]
        self._unchanged[kind] -= 1
        if not self._unchanged[kind]:
            self._go_on(kind)

    def _go_on(self, kind: int) -> None:
        """Add further rows of a kind, those that have not changed."""
        rows, added = self._kinds[kind], self._added[kind]
        fresh: list[int] = []
        while added < len(rows) and len(fresh) < AHEAD:
            if rows[added] not in self._changed:
                fresh.append(rows[added])
            added += 1
        self._added[kind], self._unchanged[kind] = added, len(fresh)
        self._add(fresh)

    def _add(self, rows: Sequence[int]) -> None:
        for position, row in enumerate(rows, self.size):
            self.ascending = self.ascending and (not position or row > self._order[-1])
            self._rows[position] = row
            self._order.append(row)
            self.at[row] = position
        self.size = len(self.at)
        self.rows = self._rows[: self.size]

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...

    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        return self._order[at]

    def __iter__(self) -> Iterator[int]:
        return iter(self._order)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Ints:
        return np.array(self.rows, dtype=dtype, copy=copy)


def representatives_of(amounts: Sequence[Ints], most: int, only: Mask | None = None) -> Representatives | None:
    """Rows for nodes with these amounts (int64[.., nodes]); None where there are more than ``most`` kinds of nodes.

    ``only``, bool[nodes], has the nodes that are not left out; None for all.
    """
    if only is not None:
        amounts = [one[:, only] for one in amounts]
    nodes = amounts[0].shape[1]
    if not nodes or (nodes > SAMPLE and _mostly_differ([one[:, :: nodes // SAMPLE] for one in amounts])):
        return None
    kind = _kinds(np.concatenate(amounts), most)
    if kind is None or only is None:
        return None if kind is None else Representatives(kind)
    of_all = np.full(len(only), -1, dtype=np.int64)
    of_all[only] = kind
    return Representatives(of_all)


def _mostly_differ(amounts: Sequence[Ints]) -> bool:
    """Whether of these nodes more than half are of a kind of their own."""
    sums = _sums(np.concatenate(amounts))
    return 2 * len(np.unique(sums)) > len(sums)


def _kinds(amounts: Ints, most: int) -> Ints | None:
    """The kind of each node, int64[nodes]; None where there are more than ``most``."""
    # Nodes of different kinds may have equal sums, if hardly ever. That is found out below.
    _, firsts, kind = np.unique(_sums(amounts), return_index=True, return_inverse=True)
    if len(firsts) > most:
        return None
    kind = kind.astype(np.int64)
    return kind if bool((amounts == amounts[:, firsts[kind]]).all()) else None


def _sums(amounts: Ints) -> Ints:
    """int64[nodes]: sums of the amounts, each times a large number of its own; what exceeds 64 bits is left out."""
    factors = np.arange(1, 2 * len(amounts), 2, dtype=np.int64) * 0x9E3779B97F4A7C1 + 1
    sums: Ints = (amounts * factors[:, None]).sum(axis=0)
    return sums


def _by_kind(kind: Ints) -> list[Ints]:
    """The rows of each kind, ascending."""
    rows = np.flatnonzero(kind >= 0)
    order = rows[np.argsort(kind[rows], kind="stable")]
    ends = np.cumsum(np.bincount(kind[rows]))[:-1]
    return np.split(order, ends)
