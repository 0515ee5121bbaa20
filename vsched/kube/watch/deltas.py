"""What a reflector watches and delivers: the interfaces of sinks (lists and changes of objects), and its statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from vsched.errors import BadObject
from vsched.kube.paths import ApiResource, Params
from vsched.kube.watch.framing import Identity

T = TypeVar("T")
Item = TypeVar("Item", contravariant=True)


class Delta(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class ReadLine(msgspec.Struct, Generic[T], frozen=True):
    """A line of a watch: what happened to which object."""

    delta: Delta
    item: T
    version: str
    """The resourceVersion of the object; empty if it has none."""


class BrokenObject(BadObject):
    """An object that could not be decoded; names it as far as its identity can be read."""

    def __init__(self, resource: ApiResource, identity: Identity, delta: Delta | None, problem: str) -> None:
        named = "/".join(part for part in (identity.namespace, identity.name) if part) or "(no name)"
        super().__init__(f"{resource} {named}: {problem}")
        self.resource = resource
        self.identity = identity
        self.delta = delta
        """None if the object was in a list."""
        self.problem = problem


class Sink(Protocol[T]):
    """Receives objects, each list as a whole. Called on the event loop: it must not wait and must not raise.

    For kinds with few objects: a list is collected in memory first and delivered in one call.
    """

    def replace(self, items: list[T], resource_version: str) -> None:
        """These are all objects of the kind, as of that version."""
        ...

    def apply(self, delta: Delta, item: T) -> None:
        """One object changed; after a reconnect the same change may be delivered again."""
        ...

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """This object exists (or was deleted: ``error.delta``) but cannot be decoded; called after its list."""
        ...


@runtime_checkable
class PartsSink(Protocol[Item]):
    """Receives objects, each list object by object, so that the event loop can do other work in between.

    Like a ``Sink``, it must not wait and must not raise. Changes since the first page of a list are delivered while the
    list is; what ``apply`` gets of an object is newer than what the list has of it. A list that fails starts over.
    """

    def restart(self) -> None:
        """A list begins; objects known so far stay known until ``finish``."""
        ...

    def include(self, item: Item) -> None:
        """An object of the list; the sink ignores it if ``apply`` got the object since the list began."""
        ...

    def finish(self, resource_version: str) -> Iterator[None]:
        """The list is complete: objects that neither the list nor ``apply`` had are gone. Each step takes little."""
        ...

    def apply(self, delta: Delta, item: Item) -> None:
        """As for a ``Sink``."""
        ...

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """As for a ``Sink``."""
        ...


class ListUnderWay:
    """The keys that a list has yet to show: a sink prefers changes of the watch to older items of the list."""

    __slots__ = ("_missing", "_watched")

    def __init__(self) -> None:
        self._missing: dict[str, None] | None = None
        """Known keys that neither the list nor the watch has shown since the list began; None without a list."""
        self._watched: set[str] = set()
        """Keys that the watch has delivered since the list began."""

    @property
    def lasts(self) -> bool:
        """Whether a list is under way."""
        return self._missing is not None

    def restart(self, known: Iterable[str]) -> None:
        """A list begins, or begins anew; ``known`` are the keys of all objects that are known."""
        self._missing, self._watched = dict.fromkeys(known), set()

    def watched(self, key: str) -> bool:
        """The watch delivers this key; True if it was known before the list under way, which has not shown it yet."""
        if self._missing is None:
            return False
        self._watched.add(key)
        if key not in self._missing:
            return False
        del self._missing[key]
        return True

    def listed(self, key: str) -> bool:
        """The list has this key; False if the watch has delivered it since the list began."""
        if key in self._watched:
            return False
        assert self._missing is not None, "an object of a list comes after its beginning"
        self._missing.pop(key, None)
        return True

    def finish(self) -> Iterator[str]:
        """The list is complete: yields the keys that are gone, except those that come back in the meantime."""
        missing = self._missing
        assert missing is not None, "a list that is complete has begun"
        for key in list(missing):
            if key in missing:
                yield key
        self._missing, self._watched = None, set()


class ListCollector(Generic[T]):
    """Collects lists for a sink that takes them whole; changes during a list are delivered after it."""

    def __init__(self, sink: Sink[T]) -> None:
        self._sink = sink
        self._items: list[T] = []
        self._later: list[Callable[[], None]] | None = None
        """Calls to make after the list that is under way; None while no list is."""

    def restart(self) -> None:
        self._items, self._later = [], []

    def include(self, item: T) -> None:
        self._items.append(item)

    def finish(self, resource_version: str) -> Iterator[None]:
        items, later = self._items, self._later or ()
        self._items, self._later = [], None
        self._sink.replace(items, resource_version)
        yield
        for tell in later:
            tell()

    def apply(self, delta: Delta, item: T) -> None:
        self._tell(lambda: self._sink.apply(delta, item))

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        self._tell(lambda: self._sink.broken(raw, error))

    def _tell(self, tell: Callable[[], None]) -> None:
        if self._later is None:
            tell()
        else:
            self._later.append(tell)


def in_parts(sink: Sink[T] | PartsSink[T]) -> PartsSink[T]:
    """The sink as one that takes lists object by object."""
    return sink if isinstance(sink, PartsSink) else ListCollector(sink)


class WatchState(StrEnum):
    """What a reflector is doing."""

    STARTING = "starting"
    LISTING = "listing"
    WATCHING = "watching"
    MISSING = "missing"
    """The server does not know the kind, yet or any more; retried."""
    REFUSED = "refused"
    """We may not read the kind, or the server does not accept our credentials; retried."""
    UNAVAILABLE = "unavailable"
    """No answer, or an unusable one; retried."""
    STOPPED = "stopped"


@dataclass(slots=True)
class Statistics:
    """A reflector's statistics; only the reflector changes them."""

    resource: ApiResource
    state: WatchState = WatchState.STARTING
    problem: str = ""
    """The last error as one line; empty while there is none."""
    synced: bool = False
    """Whether a list was ever completed."""
    events: int = 0
    """How many watch events came, bookmarks included."""
    objects: int = 0
    """Objects in the last complete list."""
    listing: bool = False
    """Whether a list is under way."""
    listed: int = 0
    """Objects received so far in the list under way, or in the last one."""
    expected: int = 0
    """Objects in the list under way, as far as the server has said; at least ``listed``."""
    broken: int = 0
    lists: int = 0
    """Lists that were completed."""
    list_seconds: float = 0.0
    """How long the last completed list took."""
    restarts: int = 0
    """Watches that were opened after the first."""
    last_event_monotonic: float | None = None
    """When the last page, event or bookmark came."""

    @property
    def relists(self) -> int:
        """Lists that were completed after the first."""
        return max(0, self.lists - 1)


@dataclass(frozen=True, slots=True)
class WatchedKind(Generic[T]):
    """What is watched, and how its objects are read."""

    resource: ApiResource
    decode: Callable[[bytes], T]
    older: Sequence[ApiResource] = ()
    """Versions of the kind to read where the newest one is not served."""
    namespace: str = ""
    selectors: Params = field(default_factory=dict)
    on_version: Callable[[ApiResource], None] = lambda resource: None
    """Called before each list, with the version that is tried."""
    read_line: Callable[[bytes], ReadLine[T] | None] = lambda line: None
    """Reads a line of a watch faster than ``decode``; None is for lines that it leaves to that."""
