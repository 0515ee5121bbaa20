"""Pictures on their way from the one who makes them to those who watch: the latest, and what changed lately.

Belongs to the event loop. Nothing queues up for anybody: readers ask for what is new since the picture they have, and
whoever was away for longer than is remembered gets the whole of it.
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
from vsched.web.overview.deltas import Delta
from vsched.web.overview.document import Overview
from vsched.web.overview.events import Piece, event, piece

MOST_WATCHERS = 16
MOST_DELTAS = 16
"""That are remembered, for readers that are late or come back."""
FRESH_SECONDS = 1.0
"""So old a picture may be for those who ask for one."""
PATIENCE_SECONDS = 12.0
"""How long is waited for a picture: it takes a session, and one may be under way."""
PLACES_SECONDS = 2.0
"""The same for positions alone, which those who ask can do without."""


class Step(NamedTuple):
    """What leads from one picture to the next."""

    since: int
    number: int
    event_bytes: Piece


class Making:
    """What is made of a whole picture: once for all who ask, in whichever threads they do."""

    def __init__(self, make: Callable[[Overview], Piece]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._last: tuple[tuple[int, float], Piece] | None = None

    def of(self, found: Overview) -> Piece:
        """Takes a few milliseconds for the first who asks, and nothing for the others."""
        with self._lock:
            moment = found.number, found.at
            if self._last is None or self._last[0] != moment:
                self._last = moment, self._make(found)
            return self._last[1]


class Feed:
    """What is shown now, to whom, and whether anybody wants to see it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._boot = f"{int(clock.now() * 1000):x}"
        """Numbers begin anew with each daemon, and those who come back may have been with another."""
        self.latest: Overview | None = None
        self._confirmed = 0.0
        """When the latest was made, or found to be so still, on the steady clock."""
        self._steps: deque[Step] = deque(maxlen=MOST_DELTAS)
        self.whole = Making(lambda found: event("overview", self.identity(found.number), found))
        """A picture as an event."""
        self.document = Making(lambda found: piece(msgspec.json.encode(found)))
        """A picture as JSON."""
        self._turn: asyncio.Future[None] | None = None
        self._wanted = asyncio.Event()
        self._asking = 0
        self.watchers = 0
        self.closed = False

    # -- for the one who makes pictures

    @property
    def is_wanted(self) -> bool:
        """Whether anybody wants to see a picture."""
        return self._wanted.is_set()

    async def wanted(self) -> None:
        """Return once anybody wants to see a picture."""
        await self._wanted.wait()

    def publish(self, found: Overview, change: Delta | None, event_bytes: Piece | None) -> None:
        """A later picture, and how it differs from the latest one as a record and as an event; None: wholly."""
        if change is None or event_bytes is None:
            self._steps.clear()
        else:
            self._steps.append(Step(change.since, change.number, event_bytes))
        self.latest = found
        self.confirm()

    def confirm(self, at: float | None = None) -> None:
        """The latest picture still shows how things are, and did so at this moment: ages are reckoned from it."""
        if at is not None and self.latest is not None:
            self.latest = replace(self.latest, at=at)
        self._confirmed = self._clock.monotonic()
        turn, self._turn = self._turn, None
        if turn is not None and not turn.done():
            turn.set_result(None)

    def close(self) -> None:
        """There will be no more pictures: everybody is to go."""
        self.closed = True
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(None)

    # -- for those who look

    @property
    def turn(self) -> asyncio.Future[None]:
        """Done at the next picture, changed or not, and once there are to be no more; then there is another one."""
        if self._turn is None:
            self._turn = asyncio.get_running_loop().create_future()
        return self._turn

    async def fresh(self, patience_seconds: float = PATIENCE_SECONDS) -> Overview:
        """A picture of how things are now, give or take a second; raises Unavailable where there is none in time."""
        with self._want():
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_seconds):
                    while not self.is_fresh and not self.closed:
                        await asyncio.wait((self.turn,))
            if self.latest is None or not self.is_fresh:
                raise Unavailable("there is no picture of the cluster yet")
            return self.latest

    @property
    def full(self) -> bool:
        """Whether as many watch as may."""
        return self.watchers >= MOST_WATCHERS

    async def positions(self) -> dict[str, int]:
        """The place of each waiting job in the order of its queue; empty where that cannot be said soon."""
        with suppress(Unavailable):
            rows = (await self.fresh(PLACES_SECONDS)).jobs.values()
            return {row.key: row.position for row in rows if row.position is not None}
        return {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Pictures are made while anybody is in here."""
        self.watchers += 1
        try:
            with self._want():
                yield
        finally:
            self.watchers -= 1

    def since(self, known: int | None) -> list[Piece] | None:
        """What leads from a picture to the latest: nothing where that is it, None where the whole is to be told."""
        if self.latest is None or known == self.latest.number:
            return []
        path: list[Piece] = []
        for step in self._steps:
            if path or step.since == known:
                path.append(step.event_bytes)
        return path or None

    def identity(self, number: int) -> str:
        """The ``id`` of a picture among those of all daemons."""
        return f"{self._boot}-{number}"

    def number_of(self, identity: str) -> int | None:
        """The number of a picture that this daemon showed; None for any other word."""
        boot, _, number = identity.partition("-")
        return int(number) if boot == self._boot and number.isdecimal() and len(number) < 16 else None

    @property
    def is_fresh(self) -> bool:
        """Whether the latest picture shows how things are now, give or take a second."""
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
