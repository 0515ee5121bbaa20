"""The last seen resource version of each object of a kind, so that late and repeated events are ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from vsched.kube.watch.deltas import ListUnderWay

T = TypeVar("T")


class SeenObject(NamedTuple, Generic[T]):
    """An object as last seen, and in which version."""

    found: T
    resource_version: str


class SeenVersions:
    """Resource versions by key; those of deleted objects are remembered for a while (bounded).

    While a list is under way, watch events that came since its beginning are newer than the list: they are valid
    whatever their version, and the list is ignored for their objects.
    """

    REMEMBERED = 1024

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        self._under_way = ListUnderWay()
        self._shown = 0
        self._reads_all = self._reads_all_next = False
        """Whether every object of the list under way is new, and of the next one."""

    @property
    def is_listing(self) -> bool:
        """Whether a list is under way."""
        return self._under_way.lasts

    def version(self, key: str) -> int:
        """The version an object was last seen in, 0 where it was not."""
        return self._versions.get(key, 0)

    def show(self, version: int) -> None:
        """A watch has shown a change of this version, of whatever object: all changes before it were shown as well."""
        self._shown = max(self._shown, version)

    def is_current(self, key: str, version: int) -> bool:
        """Whether a watch has shown everything up to this version, and nothing newer of the object."""
        return not self.is_listing and 0 < version <= self._shown and self.version(key) == version

    def admit(self, key: str, version: int) -> bool:
        """Note an object; False where this or a newer version was seen before. Version 0 is always new."""
        first = self._under_way.watched(key)
        if version and not first:
            known = self._versions.get(key)
            if known is not None and known >= version:
                return False
            if known is None and self._deleted.get(key, 0) >= version:
                return False
        self._versions[key] = version
        self._deleted.pop(key, None)
        return True

    def delete(self, key: str, version: int) -> bool:
        """Note a deletion; False where a newer version was seen before."""
        first = self._under_way.watched(key)
        if version and not first and self._versions.get(key, 0) > version:
            return False
        if version:
            gone = max(version, self._deleted.pop(key, 0))
            if len(self._deleted) >= self.REMEMBERED:
                del self._deleted[next(iter(self._deleted))]
            self._deleted[key] = gone
        self._versions.pop(key, None)
        return True

    def read_all(self) -> None:
        """Every object of the next list is new, also one that has not changed."""
        self._reads_all_next = True

    def restart(self) -> None:
        """A list begins. Its versions may be older than known ones, where a server was restored."""
        self._under_way.restart(self._versions)
        self._reads_all, self._reads_all_next = self._reads_all or self._reads_all_next, False
        self._deleted.clear()
        self._shown = 0

    def list(self, key: str, version: int) -> bool:
        """Note an object of the list; False where it has not changed, or an event about it came since."""
        if not self._under_way.listed(key):
            return False
        before = self._versions.get(key)
        self._versions[key] = version
        return self._reads_all or before is None or not version or before != version

    def finish(self) -> Iterator[str]:
        """The list is complete: yields and forgets the keys of objects that are gone, one by one."""
        for key in self._under_way.finish():
            self._versions.pop(key, None)
            yield key
        self._reads_all = False


def as_number(resource_version: str) -> int:
    """A resource version as a number, 0 where it is not one and so gives no order."""
    return int(resource_version) if resource_version.isdecimal() and len(resource_version) < 20 else 0
