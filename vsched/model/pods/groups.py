"""Sets by key, of which copies are cheap: they share the sets, and each copies a set before it changes it.

A set with many members is in parts, and so are the keys. So no change copies all of it, and no more than a part grows
at a time. Parts are small: a collection of garbage looks through all that was copied since the last one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
M = TypeVar("M", bound=Hashable)

MANY = 2048
"""A set with more members is in parts."""
PARTS = 512
"""Of such a set."""
KEY_PARTS = 64
"""Of the keys."""


class Groups(Generic[K, M]):
    """Members by key: few of them in the order in which they came, many in no order. A key without members is not
    there.
    """

    __slots__ = ("_found", "_many", "_own", "_parted")

    def __init__(self, many: int = MANY) -> None:
        self._many = many
        self._found: list[dict[K, dict[M, None]]] = [{} for _ in range(KEY_PARTS)]
        self._parted: dict[K, _Parts[M]] = {}
        """Keys with many members, which are not in ``_found``."""
        self._own: set[K] | None = None
        """The keys whose sets no copy shares; None where there was no copy yet."""

    def __len__(self) -> int:
        return sum(map(len, self._found)) + len(self._parted)

    def __contains__(self, key: object) -> bool:
        return key in self._part(key) or key in self._parted

    def add(self, key: K, member: M) -> None:
        """Put a member under a key, unless it is there."""
        parted = self._parted_to_change(key) if self._parted else None
        if parted is not None:
            parted.add(member)
            return
        found = self._to_change(key)
        found[member] = None
        if len(found) > self._many:
            self._parted[key] = _Parts(found)
            del self._part(key)[key]

    def discard(self, key: K, member: M) -> None:
        """Take a member away from a key, if it is there."""
        parted = self._parted_to_change(key) if self._parted else None
        if parted is not None:
            parted.discard(member)
            if not parted.count:
                del self._parted[key]
            return
        part = self._part(key)
        found = part.get(key)
        if found is None or member not in found:
            return
        if len(found) == 1:
            del part[key]
        else:
            del self._to_change(key)[member]

    def of(self, key: K) -> Iterable[M]:
        """The members under a key."""
        parted = self._parted.get(key)
        return self._part(key).get(key, ()) if parted is None else parted

    def count(self, key: K) -> int:
        """How many members there are under a key."""
        parted = self._parted.get(key)
        return len(self._part(key).get(key, ())) if parted is None else parted.count

    def copy(self) -> Groups[K, M]:
        """A copy; it and this one may be changed."""
        other: Groups[K, M] = Groups(self._many)
        other._found, other._parted = [part.copy() for part in self._found], self._parted.copy()
        self._own, other._own = set(), set()
        return other

    def _part(self, key: object) -> dict[K, dict[M, None]]:
        return self._found[hash(key) % KEY_PARTS]

    def _to_change(self, key: K) -> dict[M, None]:
        part, own = self._part(key), self._own
        found = part.get(key)
        if found is None:
            found = part[key] = {}
        elif own is not None and key not in own:
            found = part[key] = found.copy()
        if own is not None:
            own.add(key)
        return found

    def _parted_to_change(self, key: K) -> _Parts[M] | None:
        parted, own = self._parted.get(key), self._own
        if parted is not None and own is not None and key not in own:
            parted = self._parted[key] = parted.copy()
            own.add(key)
        return parted


class _Parts(Generic[M]):
    """Many members."""

    __slots__ = ("_own", "_parts", "count")

    def __init__(self, members: Iterable[M] = ()) -> None:
        self._parts: list[dict[M, None]] = [{} for _ in range(PARTS)]
        self._own: set[int] | None = None
        """The parts that no copy shares; None where there was no copy yet."""
        self.count = 0
        for member in members:
            self.add(member)

    def __iter__(self) -> Iterator[M]:
        return chain.from_iterable(self._parts)

    def add(self, member: M) -> None:
        number = hash(member) % PARTS
        if member not in self._parts[number]:
            self._to_change(number)[member] = None
            self.count += 1

    def discard(self, member: M) -> None:
        number = hash(member) % PARTS
        if member in self._parts[number]:
            del self._to_change(number)[member]
            self.count -= 1

    def copy(self) -> _Parts[M]:
        """A copy; it may be changed, and the original as well."""
        other: _Parts[M] = _Parts.__new__(_Parts)
        other._parts, other.count = self._parts.copy(), self.count
        self._own, other._own = set(), set()
        return other

    def _to_change(self, number: int) -> dict[M, None]:
        own = self._own
        if own is not None and number not in own:
            self._parts[number] = self._parts[number].copy()
            own.add(number)
        return self._parts[number]
