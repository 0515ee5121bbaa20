"""What attempts to list and watch a kind come to: its state, the wait after an error, and who waits for a list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from vsched.clock import Clock
from vsched.errors import VschedError
from vsched.kube.backoff import BackOff
from vsched.kube.errors import ApiError, Forbidden, Gone, NotFound, Unauthorized
from vsched.kube.paths import ApiResource
from vsched.kube.watch.bounds import ReflectorSettings
from vsched.kube.watch.deltas import Statistics, WatchState
from vsched.kube.watch.discovery import Discovery
from vsched.randomness import uniform

STATES: tuple[tuple[type[VschedError], WatchState], ...] = (
    (NotFound, WatchState.MISSING),
    (Unauthorized, WatchState.REFUSED),
    (Forbidden, WatchState.REFUSED),
    (VschedError, WatchState.UNAVAILABLE),
)
"""The state for each kind of error; the first that matches."""


class WatchAttempts:
    """The attempts of one reflector."""

    def __init__(
        self,
        versions: Sequence[ApiResource],
        settings: ReflectorSettings,
        clock: Clock,
        on_state: Callable[[Statistics], None] | None,
        discovery: Discovery | None,
    ) -> None:
        """``versions`` are those of the kind, the newest first. A kind that the server does not serve is tried again
        once ``discovery`` names it.
        """
        self.statistics = Statistics(versions[0])
        self.synced = asyncio.Event()
        """Set by the first complete list."""
        self.settled = asyncio.Event()
        """Set once the first attempt has a result: a complete list, a missing kind, one that we may not read, or with
        ``settles_on_errors`` any other failure."""
        self.asked = asyncio.Event()
        """Set while somebody waits for a list that has not begun."""
        self._versions = versions
        self._settings = settings
        self._clock = clock
        self._on_state = on_state
        self._discovery = discovery
        self._garbled_back_off = BackOff(settings.garbled)
        self._garbled_at = 0.0
        self._begun = self._complete = 0
        """The lists that have begun, and the latest of them that is complete."""
        self._completed = asyncio.Event()
        """Set, and replaced, whenever a list is complete."""

    async def catch_up(self) -> None:
        """Wait until a list that begins from now on is complete, or cannot be had."""
        wanted = self._begun + 1
        self.asked.set()
        while self._complete < wanted:
            await self._completed.wait()

    def begin(self) -> None:
        """A list begins."""
        if not self.statistics.problem:
            # An error stays in the statistics until it is overcome: a new attempt alone is not a change of state.
            self.enter(WatchState.LISTING)
        self.asked.clear()
        self._begun += 1

    def listed(self) -> None:
        """The list that was begun last is complete."""
        self.synced.set()
        self.settled.set()
        self._done()

    def _done(self) -> None:
        """The list that was begun last is complete, or cannot be had."""
        self._complete = self._begun
        self._completed.set()
        self._completed = asyncio.Event()

    def enter(self, state: WatchState, problem: str = "") -> None:
        """The kind is in this state from now on."""
        statistics = self.statistics
        if state is statistics.state is WatchState.MISSING:
            return  # however the server says so
        changed = (statistics.state, statistics.problem) != (state, problem)
        statistics.state, statistics.problem = state, problem
        if changed and self._on_state is not None:
            self._on_state(statistics)

    async def wait_out(self, error: VschedError, back_off: BackOff) -> None:
        """Report the error in the state, and wait as long as the backoff says."""
        state = next(state for kind, state in STATES if isinstance(error, kind))
        self.enter(state, str(error))
        if state in (WatchState.MISSING, WatchState.REFUSED) or self._settings.settles_on_errors:
            self.settled.set()
        if state in (WatchState.MISSING, WatchState.REFUSED):
            self._done()
        if isinstance(error, Gone) and back_off.failures == 0:
            # An expired version, once, needs no wait: waiting would only make the sink fall further behind.
            back_off.failures = 1
            return
        asked_seconds = error.retry_after_seconds if isinstance(error, ApiError) else None
        if state is not WatchState.MISSING:
            await asyncio.sleep(back_off.next_seconds(asked_seconds))
            return
        missing_seconds = self._settings.missing_seconds
        if self._settings.seldom_served:
            await asyncio.sleep(missing_seconds * uniform(0.5, 1.0))
        else:
            await asyncio.sleep(back_off.next_seconds(asked_seconds, missing_seconds))
        if self._discovery is not None:
            await self._discovery.until_served(self._versions, missing_seconds)

    async def wait_out_garbled(self, error: VschedError) -> None:
        """As ``wait_out``, after an event that cannot be read: longer each time if the server keeps sending them."""
        now = self._clock.monotonic()
        if now - self._garbled_at > self._settings.calm_seconds:
            self._garbled_back_off.reset()
        self._garbled_at = now
        await self.wait_out(error, self._garbled_back_off)
