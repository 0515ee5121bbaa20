"""What namespaces keep, each and together, while pods come and go: how much more each may keep of what they share.

A pool is what several namespaces share: the cluster, or a bucket. What is lent in a pool is what its namespaces keep
beyond what is their own; so it is lent once, whoever comes first. Who stays within what it deserves, in everything, is
not refused for what others were lent, only for a limit that is kept together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from vsched.model.amounts.counted import format_counted

K = TypeVar("K", bound=Hashable)


class Part(NamedTuple, Generic[K]):
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
    """What would be kept too much of."""

    key: K
    pool: str
    """Whose limit it is: that of a pool that holds all it may, else (empty) the namespace's."""
    kept: int
    would: int
    most: int
    lent: bool = False
    """Only lent room is lacking, which nobody needs within what it deserves."""


class _Sums(NamedTuple, Generic[K]):
    kept: dict[K, int]
    lent: dict[K, int]


class Pooled(Generic[K]):
    """The books. What a namespace keeps is asked for when it first matters, and counted from then on."""

    def __init__(
        self,
        part: Callable[[str], Part[K] | None],
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
        """What the namespace would keep too much of with so many pods more.

        ``also`` says whether it stays within what it deserves of what other books are about.
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
        """Whether all that it keeps stays within what it deserves with so many pods more.

        In everything: who is lent memory for a pod is lent the pod, its cpu too.
        """
        part = self._part(namespace)
        if part is None:
            return True
        kept, deserved = self._kept_now(namespace), part.deserved
        more = {key: value * count for key, value in amounts}
        return all(kept.get(key, 0) + more.get(key, 0) <= deserved.get(key, 0) for key in {*kept, *more})

    def shift(self, namespace: str, amounts: Iterable[tuple[K, int]], sign: int) -> None:
        """A pod more (``sign=1``), or less (``sign=-1``)."""
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
                if key in each.kept:
                    each.kept[key] += after - before
                if key in each.lent:
                    each.lent[key] += lent

    def see(self, namespace: str, kept: Mapping[K, int]) -> None:
        """A namespace keeps this now, whatever was counted."""
        before = self._kept.get(namespace)
        if before is not None:
            self.shift(namespace, [(key, kept.get(key, 0) - before.get(key, 0)) for key in {*before, *kept}], 1)

    def _over(self, part: Part[K], key: K, kept: int, value: int) -> Excess[K] | None:
        """The limit that so much more would go beyond: the namespace's, else that of a pool, else what is lent."""
        most = part.most.get(key)
        if most is not None and kept + value > most:
            return Excess(key, "", kept, kept + value, most)
        room = value
        for pool in part.pools:
            hard, spare = self._bounds[pool]
            if key in hard:
                together = self._sums_of(pool).kept[key]
                if together + value > hard[key]:
                    return Excess(key, pool, together, together + value, hard[key])
            if key in spare:
                # What is kept beyond one's own counts as lent already.
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
    """Who would hold how much of what, by counted name: the namespace, else the first pool that is full."""
    pool = min(one.pool for _, one in beyond)
    who = f"bucket {pool}" if pool else f"namespace {namespace}"
    told = (
        f"{format_counted(name, one.would)} {name} of the {format_counted(name, one.most)} it may"
        for name, one in beyond
        if one.pool == pool
    )
    return f"{who} would hold {', '.join(told)}"
