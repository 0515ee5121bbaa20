"""Counts what namespaces keep, alone and in shared pools, while pods come and go: may a namespace keep more?

A pool is what several namespaces share: the cluster, or a bucket. What its namespaces keep beyond their own part counts
as lent in the pool, so spare room is lent only once, to the namespace that comes first. A namespace that stays within
what it deserves of every resource is never refused because of what others were lent, only because of a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from vsched.errors import in_a_row
from vsched.model import words
from vsched.model.amounts.counted import format_counted

K = TypeVar("K", bound=Hashable)


class PoolPart(NamedTuple, Generic[K]):
    """What one namespace may keep, by resource."""

    most: Mapping[K, int]
    own: Mapping[K, int]
    deserved: Mapping[K, int]
    pools: tuple[str, ...]


class Bounds(NamedTuple, Generic[K]):
    """What the namespaces of a pool may keep together, and what may be lent to them."""

    hard: Mapping[K, int]
    spare: Mapping[K, int]


class Excess(NamedTuple, Generic[K]):
    """A resource of which a namespace would keep too much."""

    key: K
    pool: str
    """The pool whose limit would be exceeded; empty if it is the namespace's own."""
    kept: int
    would: int
    most: int
    lent: bool = False
    """Only lent room is lacking; a namespace that stays within what it deserves needs none."""


class _Sums(NamedTuple, Generic[K]):
    used: dict[K, int]
    lent: dict[K, int]


class Pooled(Generic[K]):
    """The counts. What a namespace keeps is requested when it first matters, and counted from then on."""

    def __init__(
        self,
        part: Callable[[str], PoolPart[K] | None],
        bounds: Mapping[str, Bounds[K]],
        members: Callable[[], Mapping[str, Iterable[str]]],
        kept: Callable[[str], Mapping[K, int]],
    ) -> None:
        self._part = part
        self._bounds = bounds
        self._members = members
        """Namespaces by pool."""
        self._asked = kept
        self._kept: dict[str, dict[K, int]] = {}
        self._sums: dict[str, _Sums[K]] = {}

    def excess(
        self,
        namespace: str,
        amounts: Sequence[tuple[K, int]],
        count: int = 1,
        also: Callable[[], bool] = lambda: True,
    ) -> list[Excess[K]]:
        """The resources of which the namespace would keep too much with ``count`` more pods of these amounts.

        ``also`` says whether it stays within what it deserves of resources that other instances count.
        """
        part = self._part(namespace)
        if part is None:
            return []
        kept = self._kept_now(namespace)
        found = (self._over(part, key, kept.get(key, 0), value * count) for key, value in amounts if value)
        beyond = [one for one in found if one is not None]
        if any(one.lent for one in beyond) and self.deserves(namespace, amounts, count) and also():
            return [one for one in beyond if not one.lent]
        return beyond

    def deserves(self, namespace: str, amounts: Iterable[tuple[K, int]], count: int = 1) -> bool:
        """Whether the namespace stays within what it deserves with ``count`` more pods of these amounts.

        This is about all resources: if a pod needs lent memory, the whole pod counts as lent, with its cpu.
        """
        part = self._part(namespace)
        if part is None:
            return True
        kept, deserved = self._kept_now(namespace), part.deserved
        more = {key: value * count for key, value in amounts}
        return all(kept.get(key, 0) + more.get(key, 0) <= deserved.get(key, 0) for key in {*kept, *more})

    def shift(self, namespace: str, amounts: Iterable[tuple[K, int]], sign: int) -> None:
        """Add the amounts of a pod (``sign=1``) or remove them (``sign=-1``)."""
        part = self._part(namespace)
        if part is None:
            return
        kept = self._kept_now(namespace)
        sums = [found for pool in part.pools if (found := self._sums.get(pool)) is not None]
        for key, value in amounts:
            before = kept.get(key, 0)
            after = kept[key] = before + sign * value
            own = part.own.get(key, 0)
            lent = max(0, after - own) - max(0, before - own)
            for each in sums:
                if key in each.used:
                    each.used[key] += after - before
                if key in each.lent:
                    each.lent[key] += lent

    def see(self, namespace: str, kept: Mapping[K, int]) -> None:
        """Correct the counts: the namespace keeps exactly this now."""
        before = self._kept.get(namespace)
        if before is not None:
            self.shift(namespace, [(key, kept.get(key, 0) - before.get(key, 0)) for key in {*before, *kept}], 1)

    def _over(self, part: PoolPart[K], key: K, kept: int, value: int) -> Excess[K] | None:
        """The first limit that ``value`` more would exceed: the namespace's, a pool's, or the room that is lent."""
        most = part.most.get(key)
        if most is not None and kept + value > most:
            return Excess(key, "", kept, kept + value, most)
        room = value
        for pool in part.pools:
            hard, spare = self._bounds[pool]
            if key in hard:
                together = self._sums_of(pool).used[key]
                if together + value > hard[key]:
                    return Excess(key, pool, together, together + value, hard[key])
            if key in spare:
                # What the namespace keeps beyond its own part counts as lent already.
                left = spare[key] - self._sums_of(pool).lent[key]
                room = min(room, max(part.own.get(key, 0) - kept, 0) + max(left, 0))
        if room >= value:
            return None
        deserved = part.deserved.get(key, 0)
        most = max(deserved, kept + room) if kept + value > deserved else kept + room
        return Excess(key, "", kept, kept + value, most, lent=True)

    def _kept_now(self, namespace: str) -> dict[K, int]:
        found = self._kept.get(namespace)
        if found is None:
            found = self._kept[namespace] = dict(self._asked(namespace))
        return found

    def _sums_of(self, pool: str) -> _Sums[K]:
        found = self._sums.get(pool)
        if found is None:
            found = self._sums[pool] = self._summed(pool)
        return found

    def _summed(self, pool: str) -> _Sums[K]:
        bounds = self._bounds[pool]
        kept, lent = dict.fromkeys(bounds.hard, 0), dict.fromkeys(bounds.spare, 0)
        for namespace in self._members().get(pool, ()):
            part = self._part(namespace)
            if part is None:
                continue
            holds = self._kept_now(namespace)
            for key in kept:
                kept[key] += holds.get(key, 0)
            for key in lent:
                lent[key] += max(0, holds.get(key, 0) - part.own.get(key, 0))
        return _Sums(kept, lent)


def overfull(namespace: str, beyond: Sequence[tuple[str, Excess[Any]]]) -> str:
    """``namespace t1 may hold 2 cpu and 1Gi memory; this would make 3 and 2Gi``, or of the first full pool."""
    pool = min(one.pool for _, one in beyond)
    who = f"bucket {pool}" if pool else f"namespace {namespace}"
    full = [(name, one) for name, one in beyond if one.pool == pool]
    most = in_a_row([f"{format_counted(name, one.most)} {name}" for name, one in full], "and")
    made = in_a_row([format_counted(name, one.would) for name, one in full], "and")
    return words.would_hold_too_much(who, most, made)
