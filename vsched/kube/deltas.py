"""What a reflector tells and whom: the sink's side of a list and a watch, and the reflector's own figures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from vsched.errors import BadObject
from vsched.kube.framing import Identity
from vsched.kube.paths import ApiResource

T = TypeVar("T")


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
    """Who is told of objects; called on the event loop, must not wait, and must not raise."""

    def replace(self, items: list[T], resource_version: str) -> None:
        """These are all objects there are, as of that version."""
        ...

    def apply(self, delta: Delta, item: T) -> None:
        """One object changed; after a reconnect the same change may be told again."""
        ...

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """This object exists (or ceased to: ``error.delta``) but is left out; told after the list it was in."""
        ...


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
    """Objects in the last list."""
    broken: int = 0
    lists: int = 0
    """Lists that were completed."""
    restarts: int = 0
    """Watches that were opened after the first."""
    last_event_monotonic: float | None = None
    """When something last came: a page, an event or a bookmark."""

    @property
    def relists(self) -> int:
        """Lists that were completed after the first."""
        return max(0, self.lists - 1)
