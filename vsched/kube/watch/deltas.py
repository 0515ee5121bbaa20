"""What a reflector tells and whom: the sink's side of a list and a watch, and the reflector's own figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar, runtime_checkable

from vsched.errors import BadObject
from vsched.kube.paths import ApiResource
from vsched.kube.watch.framing import Identity

T = TypeVar("T")
Told = TypeVar("Told", contravariant=True)


class Delta(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class BrokenObject(BadObject):
    """An object that could not be decoded; says which one as far as that can be read."""

    def __init__(self, resource: ApiResource, identity: Identity, delta: Delta | None, problem: str) -> None:
        named = "/".join(part for part in (identity.namespace, identity.name) if part) or "(no name)"
        super().__init__(f"{resource} {named}: {problem}")
        self.resource = resource
        self.identity = identity
        self.delta = delta
        """None where the object was in a list."""
        self.problem = problem


class Sink(Protocol[T]):
    """Who is told of objects, lists as a whole; called on the event loop, must not wait, and must not raise.

    For kinds that there are few of: a list is collected in memory first, and taken in at one go.
    """

    def replace(self, items: list[T], resource_version: str) -> None:
        """These are all objects there are, as of that version."""
        ...

    def apply(self, delta: Delta, item: T) -> None:
        """One object changed; after a reconnect the same change may be told again."""
        ...

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """This object exists (or ceased to: ``error.delta``) but is left out; told after the list it was in."""
        ...


@runtime_checkable
class PartsSink(Protocol[Told]):
    """Who is told of objects, lists piece by piece, so that the event loop turns meanwhile; as quick as a ``Sink``.

    While a list is told, so are changes since its first page: what ``apply`` tells of an object is newer than what the
    list has of it. A list that fails is told again from the start.
    """

    def restart(self) -> None:
        """A list begins; what was known stays known until ``finish``."""
        ...

    def include(self, item: Told) -> None:
        """An object of the list; to be ignored where ``apply`` has told of it since the list began."""
        ...

    def finish(self, resource_version: str) -> Iterator[None]:
        """That was the list: what neither it nor ``apply`` has told of since it began is gone; a step an object."""
        ...

    def apply(self, delta: Delta, item: Told) -> None:
        """As for a ``Sink``."""
        ...

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """As for a ``Sink``."""
        ...


class ListUnderWay:
    """Which keys were told of since a list began: what a watch tells meanwhile is newer than what the list has."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: dict[str, bool] | None = None
        """By key, whether a watch told of it; None where no list is under way."""

    def restart(self) -> None:
        """A list begins, or begins anew."""
        self._told = {}

    def watched(self, key: str) -> bool:
        """A watch tells of this key; True where that is the first that is told of it since a list began."""
        told = self._told
        if told is None:
            return False
        first = key not in told
        told[key] = True
        return first

    def listed(self, key: str) -> bool:
        """The list has this key; False where a watch has told of it since the list began."""
        assert self._told is not None, "an object of a list comes after its beginning"
        if self._told.get(key):
            return False
        self._told[key] = False
        return True

    def finish(self, known: Iterable[str]) -> Iterator[str]:
        """The list is complete: those of the known keys that are gone, one by one; what comes back meanwhile stays."""
        told = self._told
        assert told is not None, "a list that is complete has begun"
        for key in [key for key in known if key not in told]:
            if key not in told:
                yield key
        self._told = None


class Collected(Generic[T]):
    """Collects lists for a sink that wants them whole; changes that come meanwhile are told after them."""

    def __init__(self, sink: Sink[T]) -> None:
        self._sink = sink
        self._items: list[T] = []
        self._later: list[Callable[[], None]] | None = None
        """What came while a list is told; None where none is."""

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
    """The sink as one that is told of lists piece by piece."""
    return sink if isinstance(sink, PartsSink) else Collected(sink)


class State(StrEnum):
    """What a reflector is at."""

    STARTING = "starting"
    LISTING = "listing"
    WATCHING = "watching"
    MISSING = "missing"
    """The server does not know the kind, yet or any more; asked again and again."""
    REFUSED = "refused"
    """We may not read the kind, or the server does not know us; asked again and again."""
    UNAVAILABLE = "unavailable"
    """No answer, or none that can be used; asked again and again."""
    STOPPED = "stopped"


@dataclass(slots=True)
class Statistics:
    """A reflector's figures; read-only for everybody else."""

    resource: ApiResource
    state: State = State.STARTING
    problem: str = ""
    """The last complaint, one line; empty while all is well."""
    synced: bool = False
    """Whether a list was ever complete."""
    events: int = 0
    """Lines of watches, bookmarks included."""
    objects: int = 0
    """Objects in the last complete list."""
    listing: bool = False
    """Whether a list is under way."""
    listed: int = 0
    """Objects that came so far in the list under way, or in the last one."""
    expected: int = 0
    """Objects in the list under way as far as the server has said; at least ``listed``."""
    broken: int = 0
    lists: int = 0
    """Lists that were completed."""
    list_seconds: float = 0.0
    """How long the last of them took."""
    restarts: int = 0
    """Watches that were opened after the first."""
    last_event_monotonic: float | None = None
    """When something last came: a page, an event or a bookmark."""

    @property
    def relists(self) -> int:
        """Lists that were completed after the first."""
        return max(0, self.lists - 1)
