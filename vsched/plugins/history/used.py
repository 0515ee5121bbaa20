"""What queues, namespaces and users have used and hold, as parts of the cluster, and what they are entitled to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

import numpy as np

from vsched.kernels.fairness import weights_with_memory
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.history.records import CLUSTER, Decay, UsageHistory
from vsched.model.nodes.table import Floats


class Entitled(NamedTuple):
    """One holder among others of the same level."""

    used: float
    """What it used, as a part of the cluster over the same time."""
    stated: float
    """What its weight stands for, as a part of the cluster."""
    entitled: float
    """The same with what it used taken into account."""

    @property
    def ratio(self) -> float:
        """How many times its stated part it used."""
        return self.used / self.stated if self.stated > 0 else (inf if self.used > 0 else 0.0)


NOBODY = Entitled(0.0, 0.0, 0.0)


class UsedParts:
    """Decayed use by queue, namespace in a queue, and user in both; as parts of what the cluster had.

    The part is the largest over the resources that count, times their weights, as in dominant resource fairness.
    """

    def __init__(self, history: UsageHistory, decay: Decay, resource_weights: Mapping[str, float]) -> None:
        self._counts = np.array([_weight(name, resource_weights) for name in history.resources])
        self._sums: dict[tuple[str, ...], Floats] = {}
        self._parts: dict[tuple[str, ...], float] = {}
        if history.is_empty:
            return
        used = history.used(decay)
        self._capacity = used[0]
        for holder, sums in zip(history.holders, used, strict=True):
            if holder == CLUSTER:
                continue
            keys: list[tuple[str, ...]] = [(holder.queue,)]
            if holder.namespace:
                keys += [(holder.queue, holder.namespace), tuple(holder), (holder.queue, "", holder.user)]
            for key in keys:
                before = self._sums.get(key)
                self._sums[key] = sums if before is None else before + sums

    def of(self, *key: str) -> float:
        """What a queue, a namespace in a queue, or a user in these used; an empty namespace stands for all."""
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = self._part(self._sums.get(key))
        return found

    def together(self, queues: Iterable[str]) -> float:
        """What several queues used together."""
        sums = [found for name in queues if (found := self._sums.get((name,))) is not None]
        return self._part(np.sum(sums, axis=0) if sums else None)

    def _part(self, sums: Floats | None) -> float:
        if sums is None or not len(sums):
            return 0.0
        parts = np.divide(sums, self._capacity, out=np.zeros_like(sums), where=self._capacity > 0)
        return float((parts * self._counts).max())


class HeldParts:
    """What is held at present, as a part of the cluster, by the same rule."""

    def __init__(self, axis: ResourceAxis, total: Iterable[int], resource_weights: Mapping[str, float]) -> None:
        amounts = zip(axis.names, total, strict=False)
        self._factors = {
            column: weight / amount
            for column, (name, amount) in enumerate(amounts)
            if amount > 0 and (weight := _weight(name, resource_weights)) > 0
        }

    def of(self, held: Mapping[int, int]) -> float:
        """The part of these amounts; base units by column."""
        factors = self._factors
        return max((amount * factors[column] for column, amount in held.items() if column in factors), default=0.0)


def entitled(names: list[str], weights: list[float], used: list[float], whole: float, k: float) -> dict[str, Entitled]:
    """The holders of one level; ``whole`` is their part of the cluster."""
    given = np.array(weights, dtype=np.float64)
    stated = given / given.sum() * whole if given.sum() > 0 else given
    found = weights_with_memory(given, np.array(used, dtype=np.float64), whole, k) * whole
    rows = zip(used, stated.tolist(), found.tolist(), strict=True)
    return {name: Entitled(*row) for name, row in zip(names, rows, strict=True)}


def _weight(name: str, weights: Mapping[str, float]) -> float:
    """The weight of a resource: as stated; where none is stated, all that are counted weigh 1."""
    if weights:
        return weights.get(name, 0.0)
    return 1.0 if name in ("cpu", "memory") or "/" in name else 0.0
