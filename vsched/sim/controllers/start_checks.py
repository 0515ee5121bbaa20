"""What has to be there before a kubelet starts a pod: one check each for volumes and for devices.

Device plugins come last: they give a pod its devices as it starts, or have it refused for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from vsched.apimachinery.meta.kinds import Obj


@dataclass(frozen=True, slots=True)
class StartObstacle:
    """Why a pod does not start yet, as the Event of its kubelet; without a message nothing is told."""

    reason: str = ""
    message: str = ""


class StartCheck(Protocol):
    """A condition for the start of pods."""

    def obstacle(self, pod: Obj, node: Obj) -> StartObstacle | None:
        """Why the pod cannot start on its node; None if it can."""
        ...

    def started(self, pod: Obj) -> None:
        """Takes note of a pod that starts now."""
        ...

    def affected(self, resource: str, obj: Obj, *, gone: bool) -> Iterable[str]:
        """The pods that may be able to start after a change."""
        ...


@dataclass(frozen=True, slots=True)
class Admitted:
    """What device plugins make of a pod that is about to start."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    """To be written on the pod."""
    failure: str = ""
    """Why they have no devices for it, so that its kubelet refuses it; empty where it may start."""
    lock: str = ""
    """The annotation of the node that is taken away, so that the next pod may be bound."""


class PodAdmission(Protocol):
    """The part that device plugins have in the start of pods."""

    def admit(self, pod: Obj, node: str) -> Admitted | None:
        """What they make of a pod; None where it has nothing to do with them."""
        ...
