"""The base of controllers: a controller knows which keys a change affects, and what to do for a key.

The engine runs them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import split_key
from vsched.apimachinery.workloads.actions import Action
from vsched.sim.client import LocalClient
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.queue import WorkQueue
from vsched.sim.store.store import key_of

EVERYTHING = "*"
"""A controller that watches this gets the changes of every kind, custom resources as well."""


class Controller(ABC):
    """Reconciles the objects of one kind."""

    name: ClassVar[str]
    primary: ClassVar[str]
    """The resource that its keys name."""
    watches: ClassVar[tuple[str, ...]]
    """The resources whose changes it gets."""
    only_pods_with_claims: ClassVar[bool] = False
    """Pods without volumes and resource claims do not matter to it."""
    only_owned_pods: ClassVar[bool] = False
    """Pods without owners and finalizers do not matter to it."""
    component: ClassVar[str] = ""
    """The component of its Events; empty if it writes none."""
    settle_seconds: ClassVar[float] = 0.0
    """How long changes are collected before it reconciles, for controllers that take long."""

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        self.client = client
        self.pod_index = pod_index
        self.queue = WorkQueue()
        self.retries: dict[str, int] = {}

    @abstractmethod
    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        """The keys to reconcile after a change."""

    @abstractmethod
    def reconcile(self, key: str) -> Sequence[Action]:
        """What to do for the object of this key, which may be gone."""

    def keys(self) -> Iterable[str]:
        """The keys of all objects that it reconciles."""
        try:
            return [key_of(obj) for obj in self.client.list(self.primary)]
        except KeyError:
            return []

    def resync(self) -> None:
        """Reconciles everything again."""
        self.queue.overflowed = False
        for key in self.keys():
            self.queue.add(key)

    def find(self, key: str) -> Obj | None:
        """The object of a key; None if the object or its kind is gone."""
        try:
            return self.client.get(self.primary, *split_key(key))
        except KeyError:
            return None
