"""Objects for whose resources there was no column left: too many resources are asked for that no node offers.

They are read again once there is room.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from vsched import api
from vsched.model.amounts.resources import ResourceAxis

AGAIN_SECONDS = 5.0
"""The least time between two searches for unused columns, as each walks over all pods."""
AT_ONCE = 512
"""So many objects are read again at a time."""

Refused = tuple[str, str, api.Object]
"""Kind, identity, and what was to be read."""


class AwaitingColumns:
    """The objects that found no column, in the order in which they came."""

    def __init__(self, axis: ResourceAxis) -> None:
        self._axis = axis
        self._refused: dict[tuple[str, str], api.Object] = {}
        self._version = axis.version
        self._looked = 0.0
        self._due = 0
        """How many of the first ones are still to be read again."""

    def __len__(self) -> int:
        return len(self._refused)

    def put(self, kind: str, key: str, found: api.Object) -> None:
        self._refused[kind, key] = found

    def drop(self, kind: str, key: str) -> None:
        """The object has what it needs, or is gone."""
        if self._refused:
            self._refused.pop((kind, key), None)

    def due(self, now: float) -> bool:
        """Whether it is time to search for unused columns."""
        if not self._refused or self._looked <= now < self._looked + AGAIN_SECONDS:
            return False
        self._looked = now
        return True

    def again(self, *, room: bool) -> Iterator[Refused]:
        """The objects to read again: if there is room, or if a column is new that may be theirs."""
        if room or self._version != self._axis.version:
            self._version = self._axis.version
            self._due = len(self._refused)
        first = list(islice(self._refused.items(), min(self._due, AT_ONCE)))
        self._due -= len(first)
        for (kind, key), found in first:
            # Those that find no column again go to the end, so that each has its turn.
            del self._refused[kind, key]
            yield kind, key, found
