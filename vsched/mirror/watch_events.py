"""How news of objects reaches a mirror: an event at a time, or a list piece by piece, in any order, twice or late.

What an object means is the mirror's business; here it is decided whether it is news at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping

from vsched.mirror import wire
from vsched.mirror.state.resource_versions import Seen, as_number

DELETED = "DELETED"
UPSERTS = frozenset({"ADDED", "MODIFIED"})


class WatchHandler(ABC):
    """A mirror as those see it who bring news."""

    def __init__(self, kinds: Iterable[str], on_change: Callable[[], None]) -> None:
        self.on_change = on_change
        """Called after changes that can matter to scheduling; must be quick."""
        self._seen: Mapping[str, Seen] = {kind: Seen() for kind in kinds}
        """By kind that is kept; others are ignored."""

    def apply(self, kind: str, type: str, found: wire.Object) -> None:
        """One event of a watch stream; kinds the mirror does not keep and bookmarks are ignored."""
        seen = self._seen.get(kind)
        if seen is None:
            return
        key, version = wire.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        if type == DELETED:
            matters = seen.delete(key, version) and self._delete(kind, key)
        elif type in UPSERTS:
            matters = seen.admit(key, version) and self._put(kind, key, found)
        else:
            return
        if matters:
            self.on_change()

    def replace(self, kind: str, objects: Iterable[wire.Object]) -> None:
        """A full list of one kind: what it lacks is gone, what it has is believed whatever its version."""
        self.restart(kind)
        for found in objects:
            self.include(kind, found)
        for _ in self.finish(kind):
            pass

    def restart(self, kind: str) -> None:
        """A full list of one kind begins: every object by ``include``, then ``finish``; ``apply`` goes on meanwhile."""
        if kind in self._seen:
            self._seen[kind].restart()

    def include(self, kind: str, found: wire.Object) -> None:
        """An object of the list under way; ignored where ``apply`` has told of it since the list began."""
        seen = self._seen.get(kind)
        if seen is None:
            return
        key, version = wire.identity_of(kind, found.metadata), as_number(found.metadata.resource_version)
        if seen.list(key, version) and self._put(kind, key, found):
            self.on_change()

    def finish(self, kind: str) -> Iterator[None]:
        """The list is complete: what neither it nor ``apply`` has told of is gone, an object at each step."""
        for key in self._seen[kind].finish() if kind in self._seen else ():
            if self._delete(kind, key):
                self.on_change()
            yield

    @abstractmethod
    def _put(self, kind: str, key: str, found: wire.Object) -> bool:
        """Take in an object, or leave it out with a reason; True where that can matter to scheduling."""

    @abstractmethod
    def _delete(self, kind: str, key: str) -> bool:
        """Forget an object; True where that can matter to scheduling."""
