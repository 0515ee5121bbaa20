"""Which of many queues or namespaces have series of their own."""

from __future__ import annotations

from collections.abc import Mapping


class Listing:
    """Chooses names for series, and goes on with those as long as it can: each name that changes is a new series.

    Busy ones go first. One that has become idle loses its place only to one that is busy.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._listed: frozenset[str] = frozenset()

    def choose(self, held: Mapping[str, float]) -> tuple[list[str], list[str]]:
        """The names with series and the others, each sorted; ``held`` is how much each holds, 0 for idle ones.

        Scrapes in several threads may get different choices once, never a longer one.
        """
        if len(held) <= self._most:
            self._listed = frozenset(held)
            return sorted(held), []
        before = self._listed
        ranked = sorted(held, key=lambda name: (not held[name], name not in before, -held[name], name))
        self._listed = frozenset(ranked[: self._most])
        return sorted(ranked[: self._most]), sorted(ranked[self._most :])
