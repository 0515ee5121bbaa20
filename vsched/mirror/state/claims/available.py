"""Static volumes that claims may get, in the order in which they are chosen."""

from __future__ import annotations

from bisect import bisect_left

from vsched.model.claims.volumes import Volume

FEW = 64
"""Up to this many changes, inserting into a sorted list is cheaper than sorting again."""


class AvailableVolumes:
    """The static volumes of one storage class that claims may get, smallest first, then by name."""

    def __init__(self) -> None:
        self._volumes: dict[str, Volume] = {}
        self._changed: dict[str, Volume | None] = {}
        """Volumes that changed since they were last sorted, as they were then; None for new ones."""
        self._order: list[tuple[int, str]] = []
        self._sorted: list[Volume] = []

    def __len__(self) -> int:
        return len(self._volumes)

    def put(self, name: str, volume: Volume | None) -> None:
        """Set a volume, None where no claim may get it."""
        self._changed.setdefault(name, self._volumes.get(name))
        if volume is None:
            self._volumes.pop(name, None)
        else:
            self._volumes[name] = volume

    def shown(self) -> tuple[Volume, ...]:
        """All of them."""
        if len(self._changed) > FEW:
            self._sorted = sorted(self._volumes.values(), key=_place)
            self._order = [_place(volume) for volume in self._sorted]
        else:
            for name, before in self._changed.items():
                self._move(before, self._volumes.get(name))
        self._changed.clear()
        return tuple(self._sorted)

    def _move(self, before: Volume | None, after: Volume | None) -> None:
        if before is not None:
            at = bisect_left(self._order, _place(before))
            del self._order[at], self._sorted[at]
        if after is not None:
            at = bisect_left(self._order, _place(after))
            self._order.insert(at, _place(after))
            self._sorted.insert(at, after)


def _place(volume: Volume) -> tuple[int, str]:
    return volume.capacity, volume.name
