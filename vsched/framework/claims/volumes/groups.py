"""Volumes and segments of storage by the nodes that reach them, and the best of them for each node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from vsched.kernels.volumes import NOTHING, NodeReach, Rows, Terms, least, reach, starts
from vsched.model.claims.volumes import StorageCapacity, Volume
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.shape import NodeTerm, Selector

NONE = -1
"""Stands for "no volume" and "no segment" where a position is expected."""
FIRSTS_MAX = 64
"""The most ``Firsts`` that a session caches for one class; at 5,000 nodes each takes 45 KB."""
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Entries = Sequence[Volume | StorageCapacity]
GROUPS_MIN = 64


class Grouped(NamedTuple):
    """Volumes or segments of storage of one class (entries), and the nodes that reach them.

    Entries that the same nodes reach form a group. They are numbered in the order in which they are preferred.
    """

    source: Entries
    numbers: Mapping[Terms, int]
    """The number of the group of each affinity, in the order of the numbers."""
    where: NodeReach
    group: Rows
    """intp[entries]: the group of each entry."""
    members: Rows
    """The entries group by group, ascending in each group."""
    member_starts: Rows
    """Where each group begins in ``members``, and the end."""

    def members_of(self, group: int) -> Rows:
        """The entries of a group, ascending."""
        return self.members[self.member_starts[group] : self.member_starts[group + 1]]

    def members_at(self, row: int) -> Rows:
        """The entries that a node reaches, ascending."""
        groups = self.where.groups_at(row)
        if len(groups) == 1:
            return self.members_of(int(groups[0]))
        return np.sort(np.concatenate([self.members_of(int(group)) for group in groups] or [self.members[:0]]))


def grouped(source: Entries, statics: NodeStatics, before: Grouped | None = None) -> Grouped:
    """The volumes or segments of a class by group.

    ``before`` was made of an earlier state of the class, with the same nodes: entries that did not change since keep
    their groups.
    """
    numbers = {} if before is None else before.numbers
    known = {} if before is None else dict(zip(map(id, before.source), before.group.tolist(), strict=True))
    # Groups that lost all their entries stay, until they are more than the others.
    if len(numbers) > GROUPS_MIN + 2 * len(source):
        numbers, known, before = {}, {}, None
    found, added = list[int](), dict[Terms, int]()
    for one in source:
        group = known.get(id(one))
        if group is None:
            terms = _terms(one.nodes) if isinstance(one, StorageCapacity) else one.affinity
            group = numbers.get(terms)
            if group is None:
                group = added.setdefault(terms, len(numbers) + len(added))
        found.append(group)
    if added or before is None:
        numbers = {**numbers, **added}
        where = reach(list(numbers), statics)
    else:
        where = before.where
    groups = np.array(found, dtype=np.intp)
    sizes = np.bincount(groups, minlength=len(numbers))
    return Grouped(source, numbers, where, groups, np.argsort(groups, kind="stable"), starts(sizes))


def _terms(selector: Selector | None) -> Terms:
    if selector is None:
        return ()
    return (NodeTerm(selector.requirements),) if selector.requirements else None


class SourceCache(Generic[T]):
    """Caches what was made of a source, as long as the source is the same object."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: tuple[object, T] | None = None

    def of(self, source: object, make: Callable[[T | None], T]) -> T:
        """What was made of the source. ``make`` gets what was made of the source before."""
        # Both are read and set at once, because sessions of other threads may share this.
        cached = self._made
        if cached is not None and cached[0] is source:
            return cached[1]
        made = make(None if cached is None else cached[1])
        self._made = (source, made)
        return made


class Firsts:
    """For each node the first of the entries that it reaches and that are usable; follows changes entry by entry."""

    __slots__ = ("_by_group", "_grouped", "first", "position", "usable")

    def __init__(self, by_group: Grouped, usable: Mask, position: int) -> None:
        self._grouped = by_group
        self.usable = usable
        """bool[entries]."""
        self.position = position
        """How many changes are taken into account."""
        self._by_group: Ints = np.full(by_group.where.size, NOTHING, dtype=np.int64)
        positions = np.flatnonzero(usable)[::-1]
        self._by_group[by_group.group[positions]] = positions  # the last assignment stays: that of the first position
        self.first: Ints = least(by_group.where, self._by_group)
        """int64[nodes]: ``NOTHING`` for nodes that reach no usable entry."""

    def change(self, entry: int, usable: bool) -> None:
        """An entry is usable from now on, or is not."""
        if bool(self.usable[entry]) is usable:
            return
        self.usable[entry] = usable
        group = int(self._grouped.group[entry])
        members = self._grouped.members_of(group)
        there = members[self.usable[members]]
        first = int(there[0]) if len(there) else int(NOTHING)
        if self._by_group[group] == first:
            return
        self._by_group[group] = first
        where = self._grouped.where
        if where.disjoint:
            self.first[where.rows_of(group)] = first
        else:
            self.first = least(where, self._by_group)


def add_bounded(known: dict[K, Firsts], key: K, firsts: Firsts) -> None:
    """Keep one more; the oldest is dropped where there are too many."""
    if len(known) >= FIRSTS_MAX:
        del known[next(iter(known))]
    known[key] = firsts


def integers(values: Iterable[int]) -> Ints:
    """int64[entries]."""
    return np.array(list(values), dtype=np.int64)
