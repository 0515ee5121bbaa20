"""How long to wait before trying again: doubling, with jitter, never beyond a ceiling."""

from __future__ import annotations

import random

import msgspec

from vsched.randomness import uniform


class BackOffSettings(msgspec.Struct, frozen=True):
    """Settings of a back-off."""

    first_seconds: float = 0.2
    ceiling_seconds: float = 30.0
    asked_ceiling_seconds: float = 60.0
    """The longest wait that a server may ask for."""


def doubled(first_seconds: float, ceiling_seconds: float, failures: int) -> float:
    """The wait after so many failures in a row, one or more: twice as long after each, up to the ceiling."""
    return min(ceiling_seconds, first_seconds * 2.0 ** min(failures - 1, 32))


class BackOff:
    """Counts failures in a row and says how long to wait after each."""

    __slots__ = ("_settings", "_uniform", "failures")

    def __init__(self, settings: BackOffSettings, source: random.Random | None = None) -> None:
        self._settings = settings
        # A private random generator costs ten microseconds: too much for an object made for every request.
        self._uniform = uniform if source is None else source.uniform
        self.failures = 0

    def reset(self) -> None:
        """Start again from the shortest wait."""
        self.failures = 0

    def next_seconds(self, asked_seconds: float | None = None, ceiling_seconds: float | None = None) -> float:
        """Seconds to wait after one more failure; at least what the server asked for, within bounds."""
        bound = self._settings.ceiling_seconds if ceiling_seconds is None else ceiling_seconds
        self.failures += 1
        grown = doubled(self._settings.first_seconds, bound, self.failures)
        # Half of the wait is random, so that the clients of a restarted server do not all come back at once.
        wait_seconds = grown * self._uniform(0.5, 1.0)
        return max(wait_seconds, min(asked_seconds or 0.0, self._settings.asked_ceiling_seconds))


class BackOffs:
    """A back-off for each key that has failed."""

    def __init__(self, settings: BackOffSettings) -> None:
        self._settings = settings
        self._failed: dict[str, BackOff] = {}

    def next_seconds(self, key: str, asked_seconds: float | None = None) -> float:
        """Seconds to wait after one more failure of a key."""
        return self._failed.setdefault(key, BackOff(self._settings)).next_seconds(asked_seconds)

    def forget(self, key: str) -> None:
        """A key has succeeded, or is gone."""
        self._failed.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return key in self._failed

    def __len__(self) -> int:
        return len(self._failed)
