"""What a controller is: it knows which keys a change concerns, and what to do for a key.

Runs nothing itself; the engine does that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.sim.client import LocalClient
from vsched.sim.controllers.actions import Action
from vsched.sim.controllers.objects import split_key
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.queue import WorkQueue
from vsched.sim.store.kinds import Obj
from vsched.sim.store.store import key_of

EVERYTHING = "*"
"""A controller that watches this is told of every kind, those of custom resources included."""


class Controller(ABC):
    """Keeps one kind of object as it should be."""

    name: ClassVar[str]
    primary: ClassVar[str]
    """The resource its keys name."""
    watches: ClassVar[tuple[str, ...]]
    """The resources whose changes concern it."""
    component: ClassVar[str] = ""
    """Who it is in the Events that it tells; empty for one that tells none."""
    settle_seconds: ClassVar[float] = 0.0
    """How long changes are collected before it looks: for controllers whose look is a long one."""

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        self.client = client
        self.pod_index = pod_index
        self.queue = WorkQueue()
        self.retries: dict[str, int] = {}

    @abstractmethod
    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        """The keys to look at after a change."""

    @abstractmethod
    def reconcile(self, key: str) -> Sequence[Action]:
        """What to do for the object of this key, which may be gone."""

    def keys(self) -> Iterable[str]:
        """Everything there is to look at."""
        try:
            return [key_of(obj) for obj in self.client.list(self.primary)]
        except KeyError:
            return []

    def resync(self) -> None:
        """Looks at everything again."""
        self.queue.overflowed = False
        for key in self.keys():
            self.queue.add(key)

    def find(self, key: str) -> Obj | None:
        """The object of a key; None if it is gone, be it together with its kind."""
        try:
            return self.client.get(self.primary, *split_key(key))
        except KeyError:
            return None
