"""Sets by key, of which copies are cheap: they share the sets, and each copies a set before it changes it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
M = TypeVar("M", bound=Hashable)


class Groups(Generic[K, M]):
    """Members by key in the order in which they came. A key without members is not there."""

    __slots__ = ("_found", "_own")

    def __init__(self) -> None:
        self._found: dict[K, dict[M, None]] = {}
        self._own: set[K] | None = None
        """The keys whose sets no copy shares; None where there was no copy yet."""

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, key: object) -> bool:
        return key in self._found

    def add(self, key: K, member: M) -> None:
        """Put a member under a key, unless it is there."""
        self._to_change(key)[member] = None

    def discard(self, key: K, member: M) -> None:
        """Take a member away from a key, if it is there."""
        found = self._found.get(key)
        if found is None or member not in found:
            return
        if len(found) == 1:
            del self._found[key]
        else:
            del self._to_change(key)[member]

    def of(self, key: K) -> Iterable[M]:
        """The members under a key."""
        return self._found.get(key, ())

    def count(self, key: K) -> int:
        """How many members there are under a key."""
        return len(self._found.get(key, ()))

    def copy(self) -> Groups[K, M]:
        """A copy; it and this one may be changed."""
        other: Groups[K, M] = Groups()
        other._found = self._found.copy()
        self._own, other._own = set(), set()
        return other

    def _to_change(self, key: K) -> dict[M, None]:
        found, own = self._found.get(key), self._own
        if found is None:
            found = self._found[key] = {}
        elif own is not None and key not in own:
            found = self._found[key] = found.copy()
        if own is not None:
            own.add(key)
        return found
