"""Volumes and segments of storage by the nodes that reach them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.volumes import NOTHING, Reach, Rows, Terms, reach
from vsched.model.claims.volumes import StorageCapacity, Volume
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.shape import NodeTerm, Selector

NONE = -1
"""Stands for "no volume" and "no segment" where a position is expected."""


class Grouped(NamedTuple):
    """Volumes or segments of storage of one class, and the nodes that reach them."""

    source: Sequence[Volume | StorageCapacity]
    """What it was made of; as long as this is the same object, it is current."""
    where: Reach
    group: Rows
    """intp[entries]: the group of each volume or segment."""


class Held:
    """Keeps one ``Grouped`` of a class from one session to the next, while the nodes' attributes do not change."""

    __slots__ = ("grouped",)

    def __init__(self) -> None:
        self.grouped: Grouped | None = None


def grouped(kind: str, name: str, source: Sequence[Volume | StorageCapacity], statics: NodeStatics) -> Grouped:
    """The volumes or segments of a class by group; worked out again only when they or the nodes change."""
    held = statics.remember((kind, name), Held)
    found = held.grouped
    if found is None or found.source is not source:
        numbers: dict[Hashable, int] = {}
        affinities: list[Terms] = []
        group = np.empty(len(source), dtype=np.intp)
        for position, one in enumerate(source):
            terms = _terms(one.nodes) if isinstance(one, StorageCapacity) else one.affinity
            number = numbers.setdefault(terms, len(numbers))
            if number == len(affinities):
                affinities.append(terms)
            group[position] = number
        found = held.grouped = Grouped(source, reach(affinities, statics), group)
    return found


def _terms(selector: Selector | None) -> Terms:
    if selector is None:
        return ()
    return (NodeTerm(selector.requirements),) if selector.requirements else None


def first_of(group: Rows, chosen: Mask, count: int) -> Ints:
    """int64[groups]: the first chosen position of each group, ``NOTHING`` where none is chosen."""
    found = np.full(count, NOTHING, dtype=np.int64)
    positions = np.flatnonzero(chosen)[::-1]
    found[group[positions]] = positions  # of several, the last assignment stays: that of the first position
    return found


def integers(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)
