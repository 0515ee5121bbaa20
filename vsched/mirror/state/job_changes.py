"""Which jobs have changed since the last snapshot, and which jobs wait: sorted keys, of one job or of all at once."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

_FEW = 64
"""Up to this many changes, inserting into a sorted list is cheaper than sorting again."""


class JobChanges:
    """The jobs that changed since the last ``take``, and whether they wait."""

    def __init__(self) -> None:
        self._changed: dict[str, None] = {}
        self._waiting: dict[str, None] = {}
        """Those of them that wait."""
        self._in_order = 0
        """So many of them, the first ones, came in order."""
        self._last = ""
        """The last one of these."""

    def put(self, key: str, *, waits: bool) -> None:
        """A job has changed, or is gone; the latest word on whether it waits holds."""
        if self._in_order == len(self._changed) and key > self._last:
            self._in_order += 1
            self._last = key
        self._changed[key] = None
        if waits:
            self._waiting[key] = None
        else:
            self._waiting.pop(key, None)

    def take(self, active: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
        """The sorted keys of what changed, and of all jobs that wait, where ``active`` are those that did before."""
        if not self._changed:
            return (), active
        taken = self._sorted(), self._active(active)
        self._changed, self._waiting, self._in_order, self._last = {}, {}, 0, ""
        return taken

    def _sorted(self) -> tuple[str, ...]:
        # To sort a hundred thousand keys that are in order takes a while as well: each is compared with the next.
        keys = list(self._changed)
        late = keys[self._in_order :]
        if len(late) > _FEW:
            keys.sort()
        else:
            del keys[self._in_order :]
            for key in late:
                insort(keys, key)
        return tuple(keys)

    def _active(self, before: Sequence[str]) -> Sequence[str]:
        changed, waiting = self._changed, self._waiting
        if len(changed) > _FEW:
            return tuple(sorted([*(key for key in before if key not in changed), *waiting]))
        active = list(before)
        for key in changed:
            position = bisect_left(active, key)
            listed = position < len(active) and active[position] == key
            if key in waiting and not listed:
                active.insert(position, key)
            elif listed and key not in waiting:
                del active[position]
        return tuple(active)
