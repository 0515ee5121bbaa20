"""Which objects of one kind were seen in which version, so that late and repeated events do no harm."""

from __future__ import annotations


class Seen:
    """Resource versions by key; those of deleted objects are remembered for a while (bounded)."""

    REMEMBERED = 4096

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._deleted: dict[str, int] = {}

    def version(self, key: str) -> int:
        """The version an object was last seen in, 0 where it was not."""
        return self._versions.get(key, 0)

    def admit(self, key: str, version: int) -> bool:
        """Take note of an object; False where something as new was seen before. Version 0 is always believed."""
        known = self._versions.get(key)
        if version:
            if known is not None and known >= version:
                return False
            if known is None and self._deleted.get(key, 0) >= version:
                return False
        self._versions[key] = version
        self._deleted.pop(key, None)
        return True

    def delete(self, key: str, version: int) -> bool:
        """Take note of a deletion; False where something newer was seen before."""
        if version and self._versions.get(key, 0) > version:
            return False
        if version:
            gone = max(version, self._deleted.pop(key, 0))
            if len(self._deleted) >= self.REMEMBERED:
                del self._deleted[next(iter(self._deleted))]
            self._deleted[key] = gone
        self._versions.pop(key, None)
        return True

    def restart(self) -> dict[str, int]:
        """A fresh list follows: forget everything; returns what was known, by key."""
        known, self._versions = self._versions, {}
        self._deleted.clear()
        return known


def as_number(resource_version: str) -> int:
    """A resource version as a number, 0 where it is none and so says nothing about order."""
    return int(resource_version) if resource_version.isdecimal() and len(resource_version) < 20 else 0
