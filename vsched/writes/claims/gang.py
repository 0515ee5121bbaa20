"""What all phases of a transaction share: what the gang needs, whom they ask, and the first obstacle they meet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from vsched.clock import Clock
from vsched.mirror.mirror import Mirror
from vsched.model.pods.status import Status
from vsched.writes.claims import words
from vsched.writes.claims.classes import ClassReader
from vsched.writes.claims.holds import HeldObjects
from vsched.writes.claims.objects import ObjectRead, kind_of
from vsched.writes.claims.settling import Settling
from vsched.writes.claims.steps import DONE, Done, Failed, Send, Step
from vsched.writes.claims.wishes import GangWish

R = TypeVar("R", bound=ObjectRead)
Attempt = Callable[[], Awaitable[Step]]

KNOWN_SECONDS = 3.0
"""How long an object counts as known after it was read, written or watched, while the watch shows no change of it."""
JUST_SECONDS = 0.5
"""How long it counts as known although no watch has shown that version yet, where the gang waits for nothing. A read
would find the same, unless somebody has changed the object in this moment; and a read does not see the next one."""
_PLACED = (Status.BINDING, Status.BOUND, Status.RUNNING)


class Obstacle(NamedTuple):
    """Why a gang cannot be bound, and the object that is in the way where it is one."""

    why: str
    kind: str = ""
    key: str = ""


class _Known(NamedTuple):
    found: ObjectRead
    at: float
    """When it was read or written; steady clock."""


@dataclass(slots=True)
class GangBinding:
    """One gang that is to be bound."""

    wish: GangWish
    settling: Settling
    classes: ClassReader
    holds: HeldObjects
    mirror: Mirror
    clock: Clock
    obstacle: Obstacle | None = field(default=None, init=False)
    """The first that was met."""
    waited: bool = field(default=False, init=False)
    """Whether something had to come that others do."""
    shown_bound: dict[str, float] = field(default_factory=dict, init=False)
    """When the mirror heard of a change of a PersistentVolumeClaim by which it was bound; steady clock."""
    _known: dict[tuple[type[ObjectRead], str], _Known] = field(default_factory=dict, init=False)

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

    async def settle(
        self, read: type[R], key: str, decide: Callable[[R | None], Step], opening: Send | None = None
    ) -> Step:
        """As ``Settling.settle``; what is read and written is kept for ``look``."""

        def noting(found: R | None) -> Step:
            self._known.pop((read, key), None)
            if found is not None:
                self._known[read, key] = _Known(found, self.clock.monotonic())
            return decide(found)

        return await self.settling.settle(read, key, noting, opening)

    async def look(self, read: type[R], key: str, decide: Callable[[R | None], Step]) -> Step:
        """What the decision comes to. The object is not read again where that can only show what is known already.

        This is so where it was read or written a moment ago, and the mirror shows no newer version. A watch must have
        shown that version by then, unless the moment is a short one and the gang has waited for nothing.
        """
        known = self._known.get((read, key))
        if known is not None and isinstance(known.found, read) and self._is_known(kind_of(read)[0], key, known):
            step = decide(known.found)
            if isinstance(step, Done):
                return step
        return await self.settle(read, key, decide)

    def _is_known(self, kind: str, key: str, known: _Known) -> bool:
        age_seconds, version = self.clock.monotonic() - known.at, known.found.metadata.resource_version
        if not self.waited and age_seconds <= JUST_SECONDS and self.mirror.intake.shows(kind, key, version):
            return True
        return age_seconds <= KNOWN_SECONDS and self.mirror.intake.is_current(kind, key, version)

    def was_just_bound(self, key: str) -> bool:
        """Whether the mirror heard a moment ago that a PersistentVolumeClaim is bound."""
        at = self.shown_bound.get(key)
        return at is not None and self.clock.monotonic() - at <= KNOWN_SECONDS

    def look_at_pods(self) -> None:
        """Whether every pod is still to be bound where it was placed, and its node is there."""
        gone = next((bind.node for bind in self.wish.binds if not self.mirror.has_node(bind.node)), "")
        if gone:
            self.meet(words.node_is_gone(gone), "Node", gone)
        for bind in self.wish.binds:
            task = self.mirror.task(bind.uid)
            if task is None or task.status not in _PLACED or task.node != bind.node:
                key = f"{bind.namespace}/{bind.name}"
                self.meet(words.pod_was_deleted(key), "Pod", key)
                return
