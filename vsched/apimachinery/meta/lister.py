"""What admission reads of the cluster: the objects that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from vsched.apimachinery.meta.kinds import KindRegistry, Obj

R = TypeVar("R")


class ObjectLister(Protocol):
    """The objects of all kinds. A resource is named ``pods`` or ``group/plural``."""

    registry: KindRegistry

    def find(self, resource: str, namespace: str, name: str) -> Obj | None:
        """The object of this name."""

    def objects(self, resource: str, namespace: str = "") -> list[Obj]:
        """All objects of a resource, or those of a namespace."""

    def derived(self, resource: str, work_out: Callable[[list[Obj]], R]) -> R:
        """What a function makes of all objects of a resource; it may be kept until one of them changes."""
