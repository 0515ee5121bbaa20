"""What all phases of a transaction share: what the gang needs, whom they ask, and the first obstacle they meet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from vsched.clock import Clock
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.writes.claims.holds import Holds
from vsched.writes.claims.objects import ObjectRead
from vsched.writes.claims.settling import Settling
from vsched.writes.claims.steps import DONE, Failed, Step
from vsched.writes.claims.wishes import GangWish

R = TypeVar("R", bound=ObjectRead)
Attempt = Callable[[], Awaitable[Step]]

_PLACED = (Status.BINDING, Status.BOUND, Status.RUNNING)


class GangMirror(Protocol):
    """What is asked of the mirror."""

    def task(self, uid: str) -> Task | None: ...

    def has_node(self, name: str) -> bool: ...


class Obstacle(NamedTuple):
    """Why a gang cannot be bound, and the object that is in the way where it is one."""

    why: str
    kind: str = ""
    key: str = ""


@dataclass(slots=True)
class Gang:
    """One gang that is to be bound."""

    wish: GangWish
    settling: Settling
    holds: Holds
    mirror: GangMirror
    clock: Clock
    obstacle: Obstacle | None = None
    """The first that was met."""

    def meet(self, why: str, kind: str = "", key: str = "") -> None:
        """There is an obstacle."""
        self.obstacle = self.obstacle or Obstacle(why, kind, key)

    async def attempt(self, kind: str, key: str, attempt: Attempt) -> Step:
        """One step for one object. It is left out if there is an obstacle by the time that it would begin."""
        if self.obstacle is not None:
            return DONE
        step = await attempt()
        if isinstance(step, Failed):
            self.meet(step.why, kind, key)
        return step

    def look_at_pods(self) -> None:
        """Whether every pod is still to be bound where it was placed, and its node is there."""
        gone = next((bind.node for bind in self.wish.binds if not self.mirror.has_node(bind.node)), "")
        if gone:
            self.meet(f"node {gone} is gone", "Node", gone)
        for bind in self.wish.binds:
            task = self.mirror.task(bind.uid)
            if task is None or task.status not in _PLACED or task.node != bind.node:
                key = f"{bind.namespace}/{bind.name}"
                self.meet(f"pod {key} was deleted", "Pod", key)
                return
