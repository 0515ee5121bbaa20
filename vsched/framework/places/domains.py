"""The domains of a tier: their rows, and sums over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Ints, NodeStatics
from vsched.model.topology.tiers import NO_DOMAIN, Tier


class Domain(NamedTuple):
    """One domain of a tier."""

    tier: Tier
    number: int
    """Its position in ``tier.domains``."""
    rows: Ints
    """int64[..]: the rows of its nodes that may be used, ascending."""
    room: int = 0
    """How many of the tasks asked about fit in it at most; counts each shape alone."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.tier.domains[self.number]

    @property
    def level(self) -> int:
        """The number of its tier."""
        return self.tier.level


class Grouping:
    """The rows of a tier's domains, one domain after the other, so that sums over domains take one pass."""

    __slots__ = ("_ends", "_order", "_starts", "sizes", "tier")

    def __init__(self, tier: Tier) -> None:
        self.tier = tier
        order = np.argsort(tier.ids, kind="stable")
        bounds = np.searchsorted(tier.ids[order], np.arange(len(tier.domains) + 1, dtype=np.int64))
        self._order = order
        self._starts, self._ends = bounds[:-1], bounds[1:]
        self.sizes: Ints = self._ends - self._starts
        """int64[domains]: how many nodes each has."""

    def sums(self, values: Ints) -> Ints:
        """int64[domains]: the sum of int64[nodes] over each domain."""
        running = np.zeros(len(self._order) + 1, dtype=np.int64)
        np.cumsum(values[self._order], out=running[1:])
        found: Ints = running[self._ends] - running[self._starts]
        return found

    def rows(self, domain: int) -> Ints:
        """int64[..]: the rows of a domain, ascending."""
        return self._order[self._starts[domain] : self._ends[domain]]


def grouping(statics: NodeStatics, tier: Tier) -> Grouping:
    """The grouping of a tier; made once as long as neither the tier nor the nodes' attributes change."""
    return statics.remember(("domains", tier), lambda: Grouping(tier))


def tier_of_label(statics: NodeStatics, key: str) -> Tier:
    """A tier with one domain for each value of a node label; nodes without the label are in none."""
    return statics.remember(("tier/label", statics.known(key)), lambda: _tier_of_label(statics, key))


def _tier_of_label(statics: NodeStatics, key: str) -> Tier:
    column = statics.label(key)
    values = sorted(column.values)
    number = {value: position for position, value in enumerate(values)}
    new = np.array([*(number[value] for value in column.values), NO_DOMAIN], dtype=np.int32)
    return Tier(1, key, new[column.ids], tuple(values))
