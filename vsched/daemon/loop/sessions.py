"""Starts the loop of sessions once the mirror is complete and this daemon leads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable

from vsched.daemon.loop.heartbeat import BEAT_SECONDS
from vsched.daemon.loop.loop import Loop, prepare
from vsched.daemon.parts.base import Base
from vsched.daemon.parts.watches import Watches
from vsched.daemon.words import log as words
from vsched.web.pages.health import Health

TOLD = {
    "nodes": "nodes",
    "tasks": "pods",
    "jobs": "jobs",
    "active_jobs": "active_jobs",
    "claims": "claims",
    "volumes": "volumes",
    "hypernodes": "hypernodes",
    "quotas": "quotas",
    "broken": "left_out",
    "blemished": "with_ignored_fields",
}
"""What is logged of the sizes of the mirror, by the words for it there; the others are metrics."""


class Sessions:
    """Waits for the first lists and for the lead; then runs sessions."""

    def __init__(
        self,
        base: Base,
        watches: Watches,
        health: Health,
        loop: Loop,
        on_listed: Iterable[Callable[[], None]],
        history: asyncio.Event | None,
        geometries: asyncio.Event | None,
    ) -> None:
        """``on_listed`` are called once the mirror is complete, to which ``geometries`` belong; a leader's first
        session waits for ``history``.
        """
        self._base = base
        self._watches = watches
        self._health = health
        self._loop = loop
        self._on_listed = on_listed
        self._history = history
        self._geometries = geometries

    async def run(self) -> None:
        """Until the daemon is to stop."""
        base = self._base
        more = () if self._geometries is None else (self._geometries,)
        for listed in (*self._watches.awaited(), *more):
            if not await self._is_set(listed):
                return
        for told in self._on_listed:
            told()
        sizes = base.mirror.describe()
        base.telemetry.note(words.CACHE_SYNCED, **{told: sizes[name] for name, told in TOLD.items()})
        if not await self._is_set(base.election.leading, self._keep_warm):
            return
        if self._history is None or await self._is_set(self._history, self._keep_warm):
            base.mirror.assumptions.review()
            await self._loop.run()

    async def _keep_warm(self) -> None:
        """Take snapshots as sessions would: changes must not pile up, so that the first session starts at once."""
        await prepare(self._base.mirror.preparing)
        self._base.mirror.snapshot(self._base.clock.now())
        if self._base.options.arbitrate:
            self._base.mirror.arbitration()

    async def _is_set(self, event: asyncio.Event, meanwhile: Callable[[], Awaitable[None]] | None = None) -> bool:
        """Wait for an event, with signs of life meanwhile; False if the daemon is stopped first."""
        while not event.is_set():
            if self._base.stopping.is_set():
                return False
            self._health.turned()
            if meanwhile is not None:
                await meanwhile()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await event.wait()
        return True
