"""The feed of overviews from their publisher to watchers: the latest overview and the last deltas.

It belongs to the event loop. Nothing queues up for a watcher: each asks for the deltas since its own overview, and
gets the whole overview where these are no longer known.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vsched.clock import Clock
from vsched.errors import Unavailable
from vsched.web.overview.deltas import OverviewDelta
from vsched.web.overview.document import Overview
from vsched.web.overview.events import EventBytes, event, piece
from vsched.web.words import answers as words

MOST_WATCHERS = 16
MOST_DELTAS = 16
"""How many deltas are remembered for watchers that are late or reconnect."""
FRESH_SECONDS = 1.0
"""The greatest age of an overview for a single request."""
PATIENCE_SECONDS = 12.0
"""How long to wait for an overview: it needs a session, and one may be under way."""
PLACES_SECONDS = 2.0
"""The same for positions alone, which are optional."""


class Step(NamedTuple):
    """The delta from one overview to the next."""

    since: int
    number: int
    event_bytes: EventBytes


class SharedEncoding:
    """An encoding of the whole overview, made once for all threads that ask."""

    def __init__(self, make: Callable[[Overview], EventBytes]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._last: tuple[tuple[int, float], EventBytes] | None = None

    def of(self, found: Overview) -> EventBytes:
        """The encoding; it takes a few milliseconds for the first caller."""
        with self._lock:
            moment = found.number, found.at
            if self._last is None or self._last[0] != moment:
                self._last = moment, self._make(found)
            return self._last[1]


class OverviewFeed:
    """The latest overview, its watchers, and whether anybody wants one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boot = f"{int(clock.now() * 1000):x}"
        """Part of event ids: numbers restart with each daemon."""
        self.latest: Overview | None = None
        self._confirmed = 0.0
        """Monotonic time when the latest overview was made or found to be still valid."""
        self._steps: deque[Step] = deque(maxlen=MOST_DELTAS)
        self.whole = SharedEncoding(lambda found: event("overview", self.identity(found.number), found))
        """The overview as an event."""
        self.document = SharedEncoding(lambda found: piece(msgspec.json.encode(found)))
        """The overview as JSON."""
        self._turn: asyncio.Future[None] | None = None
        self._wanted = asyncio.Event()
        self._asking = 0
        self.watchers = 0
        self.closed = False

    # -- for the publisher

    @property
    def is_wanted(self) -> bool:
        """Whether anybody wants an overview."""
        return self._wanted.is_set()

    async def wanted(self) -> None:
        """Wait until somebody wants an overview."""
        await self._wanted.wait()

    def publish(self, found: Overview, change: OverviewDelta | None, event_bytes: EventBytes | None) -> None:
        """Set the latest overview; ``change`` is its delta as a record and as an event, None where there is none."""
        if change is None or event_bytes is None:
            self._steps.clear()
        else:
            self._steps.append(Step(change.since, change.number, event_bytes))
        self.latest = found
        self.confirm()

    def confirm(self, at: float | None = None) -> None:
        """The latest overview is still valid, as of ``at``."""
        if at is not None and self.latest is not None:
            self.latest = replace(self.latest, at=at)
        self._confirmed = self._clock.monotonic()
        turn, self._turn = self._turn, None
        if turn is not None and not turn.done():
            turn.set_result(None)

    def close(self) -> None:
        """There are no more overviews: end all streams."""
        self.closed = True
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(None)

    # -- for watchers

    @property
    def turn(self) -> asyncio.Future[None]:
        """Done at the next overview, changed or not, and at the close; then a new future takes its place."""
        if self._turn is None:
            self._turn = asyncio.get_running_loop().create_future()
        return self._turn

    async def fresh(self, patience_seconds: float = PATIENCE_SECONDS) -> Overview:
        """An overview that is at most a second old; raises Unavailable where there is none in time."""
        with self._want():
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_seconds):
                    while not self.is_fresh and not self.closed:
                        await asyncio.wait((self.turn,))
            if self.latest is None or not self.is_fresh:
                raise Unavailable(words.NO_DATA)
            return self.latest

    @property
    def full(self) -> bool:
        """Whether there are as many watchers as allowed."""
        return self.watchers >= MOST_WATCHERS

    async def positions(self) -> dict[str, int]:
        """The position of each waiting job in its queue; empty where it is not known soon."""
        with suppress(Unavailable):
            rows = (await self.fresh(PLACES_SECONDS)).jobs.values()
            return {row.key: row.position for row in rows if row.position is not None}
        return {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count a watcher while the block runs; overviews are made meanwhile."""
        self.watchers += 1
        try:
            with self._want():
                yield
        finally:
            self.watchers -= 1

    def since(self, known: int | None) -> list[EventBytes] | None:
        """The events from a known overview to the latest; empty if it is the latest, None if the whole is needed."""
        if self.latest is None or known == self.latest.number:
            return []
        path: list[EventBytes] = []
        for step in self._steps:
            if path or step.since == known:
                path.append(step.event_bytes)
        return path or None

    def identity(self, number: int) -> str:
        """The event id of an overview, unique among all daemons."""
        return f"{self._boot}-{number}"

    def number_of(self, identity: str) -> int | None:
        """The number in an event id of this daemon; None for any other text."""
        boot, _, number = identity.partition("-")
        return int(number) if boot == self._boot and number.isdecimal() and len(number) < 16 else None

    @property
    def is_fresh(self) -> bool:
        """Whether the latest overview is at most a second old."""
        return self.latest is not None and self._clock.monotonic() - self._confirmed <= FRESH_SECONDS

    @contextmanager
    def _want(self) -> Iterator[None]:
        self._asking += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                self._wanted.clear()
