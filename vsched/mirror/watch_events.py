"""Takes in watch events and lists, and passes on what is new.

Events and pieces of lists may come in any order, twice or late. Subclasses decide what an object means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from vsched.mirror import wire
from vsched.mirror.state.resource_versions import SeenVersions, as_number

DELETED = "DELETED"
UPSERTS = frozenset({"ADDED", "MODIFIED"})


class WatchHandler(ABC):
    """The receiver of events and lists of all kinds."""

    def __init__(self, kinds: Iterable[str], on_change: Callable[[], None]) -> None:
        self.on_change = on_change
        """Called after changes that can matter to scheduling. It must return at once."""
        self._seen: dict[str, SeenVersions] = {kind: SeenVersions() for kind in kinds}
        """By kind that is mirrored; others are ignored."""

    def apply(self, kind: str, type: str, found: wire.Object) -> None:
        """One watch event; bookmarks and kinds that are not mirrored are ignored."""
        seen = self._seen.get(kind)
        if seen is None:
            return
        key, version = wire.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        seen.show(version)
        if type == DELETED:
            matters = seen.delete(key, version) and self._delete(kind, key)
        elif type in UPSERTS:
            matters = seen.admit(key, version) and self._put(kind, key, found)
        else:
            return
        if matters:
            self.on_change()

    def written(self, kind: str, found: wire.Object) -> None:
        """Take in an object from the API server's answer to a write, so that nobody has to wait for the watch.

        Ignored while a list is under way: the object may have changed again before the list was made.
        """
        seen = self._seen.get(kind)
        if seen is None or seen.is_listing:
            return
        key, version = wire.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        if seen.admit(key, version) and self._put(kind, key, found):
            self.on_change()

    def is_current(self, kind: str, key: str, resource_version: str) -> bool:
        """Whether a watch has shown everything up to this version of an object, and nothing newer of the object."""
        seen = self._seen.get(kind)
        return seen is not None and seen.is_current(key, as_number(resource_version))

    def shows(self, kind: str, key: str, resource_version: str) -> bool:
        """Whether the last that was seen of an object is this version."""
        seen = self._seen.get(kind)
        return seen is not None and 0 < seen.version(key) == as_number(resource_version)

    def replace(self, kind: str, objects: Iterable[wire.Object]) -> None:
        """A full list of one kind: objects it lacks are gone, and its objects are valid whatever their version."""
        self.restart(kind)
        for found in objects:
            self.include(kind, found)
        for _ in self.finish(kind):
            pass

    def restart(self, kind: str) -> None:
        """A full list of one kind begins: every object by ``include``, then ``finish``; ``apply`` goes on meanwhile."""
        if kind in self._seen:
            self._seen[kind].restart()

    def follow(self, kind: str) -> None:
        """A further kind is mirrored from now on."""
        self._seen.setdefault(kind, SeenVersions())

    def leave(self, kind: str) -> None:
        """A kind is not mirrored any more: its objects are gone, and events about it are ignored."""
        if kind in self._seen:
            self.replace(kind, ())
            del self._seen[kind]

    def read_again(self, kinds: Iterable[str]) -> None:
        """The next lists of these kinds are read whole, also objects that have not changed."""
        for kind in kinds:
            if kind in self._seen:
                self._seen[kind].read_all()

    def include(self, kind: str, found: wire.Object) -> None:
        """An object of the list under way; ignored if an event about it came since the list began."""
        seen = self._seen.get(kind)
        if seen is None:
            return
        key, version = wire.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        if seen.list(key, version) and self._put(kind, key, found):
            self.on_change()

    def finish(self, kind: str) -> Iterator[None]:
        """The list is complete: objects that neither it nor an event showed are deleted, at most one at each step."""
        for key in self._seen[kind].finish() if kind in self._seen else ():
            if self._delete(kind, key):
                self.on_change()
            yield

    @abstractmethod
    def _put(self, kind: str, key: str, found: wire.Object) -> bool:
        """Take in an object, or leave it out and note the problem; True where that can matter to scheduling."""

    @abstractmethod
    def _delete(self, kind: str, key: str) -> bool:
        """Forget an object; True where that can matter to scheduling."""
