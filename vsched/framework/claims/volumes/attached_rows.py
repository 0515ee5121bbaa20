"""Which nodes each volume is attached to, carried from session to session."""

from __future__ import annotations

from math import isqrt

from vsched.framework.claims.volumes.names import Attachable

CHANGES_MIN = 64
"""So many changes may be apart from the shared map in any case."""


class AttachedRows:
    """The rows of the nodes to which each volume is attached. To copy it costs far less than there are volumes.

    Copies share a map of all volumes, which never changes. Each has its own changes, and from time to time one of them
    makes a new map.
    """

    __slots__ = ("_changed", "_shared")

    def __init__(self) -> None:
        self._shared: dict[Attachable, tuple[int, ...]] = {}
        self._changed: dict[Attachable, tuple[int, ...]] = {}
        """Without rows where a volume is not attached any more."""

    def of(self, name: Attachable) -> tuple[int, ...]:
        """The rows of one volume."""
        found = self._changed.get(name)
        return self._shared.get(name, ()) if found is None else found

    def add(self, name: Attachable, row: int) -> None:
        """A volume is attached to one more node."""
        self._changed[name] = (*self.of(name), row)

    def remove(self, name: Attachable, row: int) -> None:
        """A volume is attached to a node no longer."""
        self._changed[name] = tuple(one for one in self.of(name) if one != row)

    def copy(self) -> AttachedRows:
        """A copy that can be changed."""
        made = AttachedRows()
        if len(self._changed) <= CHANGES_MIN + 4 * isqrt(len(self._shared)):
            made._shared, made._changed = self._shared, self._changed.copy()
            return made
        shared = made._shared = self._shared.copy()
        for name, rows in self._changed.items():
            if rows:
                shared[name] = rows
            else:
                shared.pop(name, None)
        return made
