"""What writes have answered, for as long as the watch does not show it: so that nothing is written twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from vsched import api
from vsched.errors import BadObject

V = TypeVar("V")

UNSEEN_SECONDS = 5.0
"""How long the answer to a write is believed without the watch showing the same."""


def answered(kind: str, data: bytes, cut: Callable[[api.Object], V | None]) -> V | None:
    """What ``cut`` takes of the object in an answer; None for one that cannot be read: the watch will say so, too."""
    try:
        return cut(api.decode(kind, data))
    except BadObject:
        return None


class Fresh(Generic[V]):
    """Values by key, each until the watch delivers the key, or until so many seconds are over."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds = seconds
        self._clock = clock
        self._kept: dict[str, tuple[V, float]] = {}

    def put(self, key: str, value: V) -> None:
        """A write has answered with this."""
        self._kept[key] = (value, self._clock() + self.seconds)

    def drop(self, key: str) -> None:
        """The watch has shown the key."""
        self._kept.pop(key, None)

    def get(self, key: str) -> V | None:
        """The value of a key; None where there is none, or where it is too old to be believed."""
        found = self._kept.get(key)
        if found is None:
            return None
        if found[1] <= self._clock():
            del self._kept[key]
            return None
        return found[0]

    def items(self) -> Iterator[tuple[str, V]]:
        """All values that are still believed."""
        for key in list(self._kept):
            value = self.get(key)
            if value is not None:
                yield key, value

    def __bool__(self) -> bool:
        return bool(self._kept)


class FreshGroups(Generic[V]):
    """Values by the uid of their owner, and by name."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._groups: dict[str, Fresh[V]] = {}

    def put(self, owner: str, name: str, value: V) -> None:
        """A write has answered with this."""
        self._groups.setdefault(owner, Fresh(self._seconds, self._clock)).put(name, value)

    def drop(self, owner: str, name: str) -> None:
        """The watch has shown it."""
        if owner in self._groups:
            self._groups[owner].drop(name)

    def forget(self, owner: str) -> None:
        """An owner is gone."""
        self._groups.pop(owner, None)

    def joined(self, owner: str, seen: Mapping[str, V]) -> dict[str, V]:
        """What the watch shows of an owner, and what it does not show yet."""
        found, fresh = dict(seen), self._groups.get(owner)
        if fresh is None:
            return found
        for name, value in fresh.items():
            found.setdefault(name, value)
        if not fresh:
            del self._groups[owner]
        return found

    def __contains__(self, owner: str) -> bool:
        return owner in self._groups
