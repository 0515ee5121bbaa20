"""Keeps the record of what changed from catalogue to catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from vsched.model.claims.catalogue import ClaimChanges

STEPS_MAX = 8
"""Readers may miss so many catalogues."""
CHANGED_MAX = 10_000
"""With more changed names than this, a record takes more memory than it saves time."""


class ChangeLog:
    """What changes in one mirror, by name."""

    def __init__(self) -> None:
        self._changed: set[str] = set()
        self._too_many = False
        """Whether more has changed than a record may have; then no name is recorded."""
        self._published = ClaimChanges(object(), 0)

    def add(self, names: Iterable[str]) -> None:
        """Something changed about these."""
        changed = self._changed
        for name in names:
            if self._too_many:
                return
            changed.add(name)
            if len(changed) > CHANGED_MAX:
                changed.clear()
                self._too_many = True

    def publish(self) -> ClaimChanges:
        """The record of the next catalogue."""
        before = self._published
        steps: tuple[frozenset[str], ...] = ()
        if not self._too_many:
            changed = frozenset(self._changed)
            steps = (*before.steps, changed)[-STEPS_MAX:]
            if sum(map(len, steps)) > CHANGED_MAX:
                steps = (changed,)
        self._changed.clear()
        self._too_many = False
        self._published = ClaimChanges(before.mirror, before.generation + 1, steps)
        return self._published
