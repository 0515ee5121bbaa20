"""Keeps the record of what changed from catalogue to catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.model.claims.changes import ClaimChanges

STEPS_MAX = 8
"""Readers may miss so many catalogues."""
CHANGED_MAX = 10_000
"""With more changed names than this, a record takes more memory than it saves time."""


class ChangeLog:
    """What changes in one mirror, by name."""

    def __init__(self) -> None:
        self._changed: set[str] = set()
        self._published = ClaimChanges(object(), 0)

    def add(self, names: Iterable[str]) -> None:
        """Something changed about these."""
        self._changed.update(names)

    def publish(self) -> ClaimChanges:
        """The record of the next catalogue."""
        before, changed = self._published, frozenset(self._changed)
        self._changed.clear()
        steps = (*before.steps, changed)[-STEPS_MAX:]
        if sum(map(len, steps)) > CHANGED_MAX:
            steps = (changed,) if len(changed) <= CHANGED_MAX else ()
        self._published = ClaimChanges(before.mirror, before.generation + 1, steps)
        return self._published
