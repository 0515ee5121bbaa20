"""Which objects of one kind were seen in which version, so that late and repeated events do no harm."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.kube.deltas import ListUnderWay


class Seen:
    """Resource versions by key; those of deleted objects are remembered for a while (bounded).

    While a list is told, what a watch tells since its beginning is newer than what the list has: it is believed
    whatever its version, and the list is not believed about that object any more.
    """

    REMEMBERED = 1024

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        self._under_way = ListUnderWay()

    def version(self, key: str) -> int:
        """The version an object was last seen in, 0 where it was not."""
        return self._versions.get(key, 0)

    def admit(self, key: str, version: int) -> bool:
        """Take note of an object; False where something as new was seen before. Version 0 is always believed."""
        if version and not self._under_way.watched(key):
            known = self._versions.get(key)
            if known is not None and known >= version:
                return False
            if known is None and self._deleted.get(key, 0) >= version:
                return False
        self._versions[key] = version
        self._deleted.pop(key, None)
        return True

    def delete(self, key: str, version: int) -> bool:
        """Take note of a deletion; False where something newer was seen before."""
        if version and not self._under_way.watched(key) and self._versions.get(key, 0) > version:
            return False
        if version:
            gone = max(version, self._deleted.pop(key, 0))
            if len(self._deleted) >= self.REMEMBERED:
                del self._deleted[next(iter(self._deleted))]
            self._deleted[key] = gone
        self._versions.pop(key, None)
        return True

    def restart(self) -> None:
        """A list begins: its versions may be older than those known, where a server was restored."""
        self._under_way.restart()
        self._deleted.clear()

    def list(self, key: str, version: int) -> bool:
        """Take note of an object of the list; False where it is as it was, or a watch has told of it since."""
        if not self._under_way.listed(key):
            return False
        before = self._versions.get(key)
        self._versions[key] = version
        return before is None or not version or before != version

    def finish(self) -> Iterator[str]:
        """The list is complete: the keys of what is gone, forgotten one by one; what comes back meanwhile stays."""
        for key in self._under_way.finish(self._versions):
            del self._versions[key]
            yield key


def as_number(resource_version: str) -> int:
    """A resource version as a number, 0 where it is none and so says nothing about order."""
    return int(resource_version) if resource_version.isdecimal() and len(resource_version) < 20 else 0
