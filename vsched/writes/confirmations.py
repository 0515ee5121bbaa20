"""Checks bindings that the API server accepted and that the watch does not show.

A watch may be late, and a server that was restored from a backup has lost what it accepted. So after a while the pod
is read: if it has its node, or is gone, the wait goes on; if it has none, it is scheduled again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from vsched.clock import Clock
from vsched.errors import Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError
from vsched.mirror.assumptions import Assumptions
from vsched.model.plan import Bind
from vsched.together import together
from vsched.writes.bindings import node_of

MOST_LOOKS = 1_000
"""So many bindings are looked at in one turn of the event loop; the watch has shown nearly all of them by then."""


class ConfirmationSettings(msgspec.Struct, frozen=True):
    """How long bindings are believed without the watch."""

    unconfirmed_seconds: float = 30.0
    """How long after its acceptance a binding is checked, and between two checks."""
    at_once: int = 16
    """How many pods are read at the same time."""


class _Waiting(NamedTuple):
    due: float
    bind: Bind


class Confirmations:
    """Accepted bindings that the watch does not show yet, and their checks."""

    def __init__(
        self,
        client: ApiClient,
        assumptions: Assumptions,
        clock: Clock,
        lost: Callable[[Bind], None],
        settings: ConfirmationSettings,
    ) -> None:
        self._client = client
        self._assumptions = assumptions
        self._clock = clock
        self._lost = lost
        """Called with each binding that was accepted and lost."""
        self._settings = settings
        self._waiting: deque[_Waiting] = deque()
        """In the order in which they are due."""
        self._wake = asyncio.Event()

    def accepted(self, bind: Bind) -> None:
        """The API server accepted the binding."""
        if self._assumptions.awaits(bind.uid):  # else the watch was faster than the answer
            self._assumptions.accepted(bind.uid)
            self._put(bind)

    def _put(self, bind: Bind) -> None:
        self._waiting.append(_Waiting(self._clock.monotonic() + self._settings.unconfirmed_seconds, bind))
        self._wake.set()

    async def run(self) -> None:
        """Check bindings when they are due, until cancelled."""
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            await asyncio.sleep(max(0.0, self._waiting[0].due - self._clock.monotonic()))
            await self._look(self._due())

    def _due(self) -> list[Bind]:
        """Some of the bindings that are due and that the watch has not shown."""
        found: list[Bind] = []
        now = self._clock.monotonic()
        for _ in range(min(len(self._waiting), MOST_LOOKS)):
            if self._waiting[0].due > now or len(found) == self._settings.at_once:
                break
            bind = self._waiting.popleft().bind
            if self._assumptions.awaits(bind.uid):
                found.append(bind)
        return found

    async def _look(self, binds: list[Bind]) -> None:
        lost = await together(*(self._is_lost(bind) for bind in binds))
        for bind, is_lost in zip(binds, lost, strict=True):
            if not is_lost:
                self._put(bind)
            elif self._assumptions.forget(bind.uid):
                self._lost(bind)

    async def _is_lost(self, bind: Bind) -> bool:
        """Whether the pod is there without a node; False where the API server does not answer."""
        try:
            return await node_of(self._client, bind) == ""
        except (ApiError, Unavailable):
            return False
