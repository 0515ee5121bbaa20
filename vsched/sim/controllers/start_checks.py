"""What has to be there before a kubelet starts a pod: one check each for volumes and for devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from vsched.sim.store.kinds import Obj


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
