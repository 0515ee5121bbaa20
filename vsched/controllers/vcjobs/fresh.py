"""What writes have answered, for as long as the watch does not show it: so that nothing is written twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

V = TypeVar("V")


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
