"""Names by group, kept small: most groups have one name or a few."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FEW = 16
"""Up to this many names are a tuple; an empty set alone takes as much memory as twenty names."""


class NameGroups(Generic[K]):
    """Distinct names by group, in the order in which they came."""

    def __init__(self) -> None:
        self._groups: dict[K, str | tuple[str, ...] | dict[str, None]] = {}

    def of(self, group: K) -> Collection[str]:
        """The names of a group."""
        known = self._groups.get(group, ())
        return (known,) if isinstance(known, str) else known

    def groups(self) -> Collection[K]:
        """The groups that have names."""
        return self._groups.keys()

    def add(self, group: K, name: str) -> None:
        """Add a name to a group, unless it is there."""
        known = self._groups.get(group)
        if known is None:
            self._groups[group] = name
        elif isinstance(known, dict):
            known[name] = None
        elif name not in (mine := self.of(group)):
            self._groups[group] = (*mine, name) if len(mine) < FEW else dict.fromkeys((*mine, name))

    def discard(self, group: K, name: str) -> None:
        """Take a name from a group, if it is there."""
        known = self._groups.get(group)
        if isinstance(known, dict):
            known.pop(name, None)
            if not known:
                del self._groups[group]
        elif known is not None:
            self._keep(group, tuple([one for one in self.of(group) if one != name]))

    def pop(self, group: K) -> Collection[str]:
        """Take a group away; returns its names."""
        mine = self.of(group)
        self._groups.pop(group, None)
        return mine

    def _keep(self, group: K, names: tuple[str, ...]) -> None:
        if names:
            self._groups[group] = names[0] if len(names) == 1 else names
        else:
            del self._groups[group]
