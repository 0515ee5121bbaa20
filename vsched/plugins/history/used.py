"""What queues, namespaces and users have used and hold, as parts of the cluster, and what they are entitled to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from math import inf
from typing import NamedTuple

import numpy as np

from vsched.kernels.fairness import weights_with_memory
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.history.records import Decay, Holder, UsageHistory
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


class HolderSums(NamedTuple):
    """The sums of all holders of one kind."""

    rows: Mapping[Hashable, int]
    sums: Floats
    """float64[rows, resources]"""


QUEUES, NAMESPACES, USERS, USERS_OF_QUEUES = range(4)
NOBODY = Entitled(0.0, 0.0, 0.0)


class UsedParts:
    """Decayed use by queue, namespace in a queue, and user in both; as parts of what the cluster had.

    The part is the largest over the resources that count, times their weights, as in dominant resource fairness. The
    sums of a level are made at the first question about it.
    """

    def __init__(self, history: UsageHistory, decay: Decay, resource_weights: Mapping[str, float]) -> None:
        weights = np.array([_weight(name, resource_weights) for name in history.resources])
        self._used = np.zeros((0, len(weights))) if history.is_empty else history.used(decay)
        self._holders = () if history.is_empty else history.holders
        capacity = self._used[0] if len(self._used) else np.zeros(len(weights))
        self._factors = np.divide(weights, capacity, out=np.zeros(len(weights)), where=capacity > 0)
        self._levels: dict[int, HolderSums] = {}

    def queue(self, *names: str) -> float:
        """What some queues used together."""
        level = self._level(QUEUES)
        rows = [row for name in names if (row := level.rows.get(name)) is not None]
        return float((level.sums[rows].sum(axis=0) * self._factors).max(initial=0.0))

    def namespace(self, queue: str, namespace: str) -> float:
        """What a namespace used in a queue."""
        return self._of(NAMESPACES, (queue, namespace))

    def user(self, queue: str, namespace: str, user: str) -> float:
        """What a user used in a namespace of a queue, or in all of them where it is empty."""
        return self._of(USERS, (queue, namespace, user)) if namespace else self._of(USERS_OF_QUEUES, (queue, user))

    def _of(self, kind: int, key: Hashable) -> float:
        level = self._level(kind)
        row = level.rows.get(key)
        return 0.0 if row is None else float((level.sums[row] * self._factors).max(initial=0.0))

    def _level(self, kind: int) -> HolderSums:
        found = self._levels.get(kind)
        if found is None:
            rows: dict[Hashable, int] = {}
            # The cluster itself, and rows that are not in use, have no queue: nobody asks for that.
            places = [rows.setdefault(_key(holder, kind), len(rows)) for holder in self._holders]
            sums = np.zeros((len(rows), len(self._factors)))
            np.add.at(sums, places, self._used)
            found = self._levels[kind] = HolderSums(rows, sums)
        return found


def _key(holder: Holder, kind: int) -> Hashable:
    if kind == QUEUES:
        return holder.queue
    if kind == NAMESPACES:
        return holder.queue, holder.namespace
    return (holder.queue, holder.user) if kind == USERS_OF_QUEUES else tuple(holder)


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
