"""Notes when the API server stops answering: nothing can be carried out then, so sessions wait until it is back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from vsched.clock import monotonic

UNANSWERED = frozenset({0, 502, 503, 504})
"""Codes of requests without an answer, or with one by somebody in front of the API server."""


class SilenceSettings(msgspec.Struct, frozen=True):
    """When the API server counts as silent."""

    in_a_row: int = 5
    """So many requests in a row have no answer."""
    seconds: float = 2.0
    """For so long there was neither an answer nor a change."""
    look_seconds: float = 0.5
    """How often it is looked whether watches show changes although requests have no answer."""


class Silence:
    """Whether the API server has stopped answering."""

    def __init__(
        self,
        shown_at: Callable[[], float] = lambda: 0.0,
        monotonic: Callable[[], float] = monotonic,
        settings: SilenceSettings | None = None,
    ) -> None:
        """``shown_at`` is when a watch showed something last, by the same clock."""
        self._shown_at = shown_at
        self._monotonic = monotonic
        self._settings = settings or SilenceSettings()
        self._in_a_row = 0
        self._answered_at = monotonic()
        self._woken = asyncio.Event()

    @property
    def lasts(self) -> bool:
        """Whether it is silent: no answer to many requests, and no change, for a while."""
        if self._in_a_row < self._settings.in_a_row:
            return False
        heard_at = max(self._answered_at, self._shown_at())
        return self._monotonic() - heard_at >= self._settings.seconds

    def answered(self, code: int) -> None:
        """A request was answered, or not."""
        if code in UNANSWERED:
            self._in_a_row += 1
            return
        self._answered_at = self._monotonic()
        if self._in_a_row:
            self._in_a_row = 0
            self.wake()

    def wake(self) -> None:
        """Have whoever waits look again."""
        self._woken.set()

    async def wait(self) -> None:
        """Wait until there may be something to hear; look again then."""
        self._woken.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.look_seconds):
                await self._woken.wait()
