"""Keeps the usage history across restarts: reads it when this daemon begins to lead, and writes it now and then.

Sessions wait for the reading a few seconds at most. Nothing else waits for the API server here: what fails is tried
again in the background, and told once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from vsched.clock import Clock
from vsched.collectors.source import SourceError
from vsched.daemon.history.stored import Found, HistoryObject, lessening_of
from vsched.daemon.lead.election import Reporter
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.tasks import LongLived
from vsched.daemon.words import files as files_words
from vsched.daemon.words import log as log_words
from vsched.daemon.words import tasks as words
from vsched.errors import Unavailable
from vsched.kube.backoff import BackOff, BackOffSettings
from vsched.kube.errors import ApiError, Forbidden
from vsched.kube.times import time_stamp
from vsched.mirror.accounts.history import HistoryBook
from vsched.model.frozen import frozen_history
from vsched.model.history.packing import PackedHistory, pack
from vsched.model.history.records import UsageHistory
from vsched.writes.events import WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.writer import NOT_PERMITTED

WAIT_SECONDS = 5.0
"""How long the first session waits for the history at most."""
LAST_SECONDS = 1.0
"""How long a daemon that stops may take to write it."""
FUTURE_SECONDS = 3600.0
"""A history that is further in the future was not written by a clock like ours."""
CONFLICT = 409
GONE = 404
MOST_CONFLICTS = 3
ATTEMPTS = Attempts(4, first_seconds=0.5, ceiling_seconds=10.0)
LAST_ATTEMPTS = Attempts(3, first_seconds=0.05, ceiling_seconds=0.5)
AGAIN = BackOffSettings(first_seconds=1.0, ceiling_seconds=300.0)

Key = tuple[object, ...]


class Past(Protocol):
    """Where else the history may be."""

    async def read(self) -> UsageHistory | None:
        """The history, None where it is not there; raises SourceError."""
        ...


class HistoryKeeper:
    """Reads and writes the history of one book."""

    def __init__(
        self,
        book: HistoryBook,
        stored: HistoryObject,
        events: EventRecorder,
        reporter: Reporter,
        clock: Clock,
        period_seconds: float,
        past: Past | None,
        writes: Callable[[], bool],
    ) -> None:
        """``past`` reads the history from elsewhere where the object has none; ``writes`` says whether this daemon is
        the one that writes it."""
        self._writes_it = writes
        self.settled = asyncio.Event()
        """Set once the history was read, or was waited for long enough."""
        self.book = book
        self._stored = stored
        self._events = events
        self._reporter = reporter
        self._clock = clock
        self._period_seconds = period_seconds
        self._past = past
        self._known = False
        """Whether it was read: without that nothing is written over it."""
        self._turn = asyncio.Lock()
        self._written: Key | None = None
        """What was counted when it was last written."""
        self._trouble = ""
        """What has failed since the last success, in a word."""
        self._lessened = False
        self._rival: str | None = None
        """Who else wrote it last, as far as that was told."""
        self._writes: Counter[str] = Counter()
        self._size = self._written_at = 0.0

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        return (LongLived("usage history", self.run, words.USAGE_HISTORY, acts=True),)

    async def run(self) -> None:
        """Read the history, then write it again and again, until cancelled."""
        waited = asyncio.get_running_loop().call_later(WAIT_SECONDS, self.settled.set)
        try:
            await self._restore()
        finally:
            waited.cancel()
            self.settled.set()
        back_off, pause = BackOff(AGAIN), self._period_seconds
        while True:
            await asyncio.sleep(pause)
            if await self.write():
                back_off.reset()
                pause = self._period_seconds
            else:
                pause = min(self._period_seconds, back_off.next_seconds())

    async def write(self, attempts: Attempts = ATTEMPTS) -> bool:
        """Write it if something has changed; whether nothing is left to write."""
        if not self._writes_it():
            return True
        async with self._turn:
            for _ in range(MOST_CONFLICTS):
                history = frozen_history(self.book.publish())
                key, packed = await asyncio.to_thread(_packed, history, self._written)
                if packed is None:
                    return True
                answer = await self._stored.write(packed, history, attempts)
                if answer.done:
                    self._succeeded(key, packed)
                    return True
                if answer.code == NOT_PERMITTED:
                    return False
                if answer.code != CONFLICT and not (answer.code == GONE and self._stored.is_there):
                    self._failed("written", str(answer.code), answer.message)
                    return False
                try:
                    self._conflict(await self._stored.read())
                except (ApiError, Unavailable) as error:
                    self._failed("read", _code_of(error), str(error))
                    return False
            self._failed("written", "conflicts", files_words.OTHERS_WRITE)
            return False

    async def drain(self, deadline_seconds: float) -> int:
        """Write the last state within so many seconds; returns how many writes are left."""
        if not self._known or self.book.publish().is_empty:
            return 0
        self.book.advance(self._clock.now())
        try:
            async with asyncio.timeout(max(deadline_seconds, LAST_SECONDS)):
                return 0 if await self.write(LAST_ATTEMPTS) else 1
        except TimeoutError:
            return 1

    def numbers(self) -> Numbers:
        """Figures for metrics."""
        written = (
            {} if not self._written_at else {"vsched_usage_history_last_write_timestamp_seconds": self._written_at}
        )
        plain = {
            "vsched_usage_history_bytes": self._size,
            "vsched_usage_history_since_timestamp_seconds": self.book.publish().since,
            **written,
        }
        return {
            "vsched_usage_history_writes_total": {name: float(self._writes[name]) for name in ("written", "failed")},
            **{name: {"": number} for name, number in plain.items()},
        }

    # -- reading

    async def _restore(self) -> None:
        back_off = BackOff(AGAIN)
        while True:
            try:
                found = await self._stored.read()
                break
            except (ApiError, Unavailable) as error:
                self._failed("read", _code_of(error), str(error))
                if isinstance(error, Forbidden):
                    self.settled.set()  # waiting is in vain
                asked = error.retry_after_seconds if isinstance(error, ApiError) else None
                await asyncio.sleep(back_off.next_seconds(asked))
        if not self._take(found) and self._past is not None:
            await self._look_back(self._past)
        self._known = True

    def _take(self, found: Found) -> bool:
        """Go on from what was read, or begin anew and say why; whether there was a history."""
        where, now = str(self._stored), self._clock.now()
        problem = found.problem
        if found.history is not None and found.history.at > now + FUTURE_SECONDS:
            problem = files_words.from_the_future(time_stamp(found.history.at))
        if problem:
            self._reporter.worry(log_words.HISTORY_STARTS_EMPTY, where=where, problem=problem)
            self._events.record(self._stored.reference, WARNING, "UsageHistoryLost", files_words.starts_empty(problem))
        elif found.history is None:
            self._reporter.note(log_words.HISTORY_STARTS_EMPTY, where=where, reason=log_words.NO_CONFIG_MAP)
        else:
            self._restore_from(found.history, str(self._stored))
            return True
        return False

    async def _look_back(self, past: Past) -> None:
        try:
            history = await past.read()
        except SourceError as error:
            self._reporter.worry(log_words.HISTORY_NOT_IN_PROMETHEUS, problem=str(error))
            return
        if history is None:
            self._reporter.note(log_words.PROMETHEUS_EMPTY)
        else:
            self._restore_from(history, "Prometheus")

    def _restore_from(self, history: UsageHistory, where: str) -> None:
        now = self._clock.now()
        self.book.restore(history, now)
        self._reporter.note(
            log_words.HISTORY_RESTORED,
            where=where,
            since=time_stamp(history.since),
            holders=len(history.holders) - 1,
            age_seconds=round(max(0.0, now - history.at), 1),
        )

    # -- writing

    def _conflict(self, found: Found) -> None:
        """The object is not as it was last read or written. Whose history goes on is that which goes back further."""
        if not found.there or found.writer == self._stored.identity:
            return
        theirs, now = found.history, self._clock.now()
        if theirs is not None and theirs.at <= now + FUTURE_SECONDS and theirs.since < self.book.publish().since:
            self._restore_from(theirs, str(self._stored))
        elif found.writer != self._rival:
            self._rival = found.writer
            event = log_words.HISTORY_OF_ANOTHER
            self._reporter.worry(event, where=str(self._stored), writer=found.writer or "unknown")

    def _succeeded(self, key: Key, packed: PackedHistory) -> None:
        self._written, self._size, self._written_at = key, float(len(packed.body)), self._clock.now()
        self._writes["written"] += 1
        if self._trouble:
            self._reporter.note(log_words.HISTORY_WRITTEN_AGAIN, where=str(self._stored))
        self._trouble = ""
        lessened = bool(packed.merged or packed.dropped)
        if lessened and not self._lessened:
            self._reporter.worry(log_words.HISTORY_TOO_LARGE, where=str(self._stored), left_out=lessening_of(packed))
        self._lessened = lessened

    def _failed(self, what: str, trouble: str, problem: str) -> None:
        """Tell what failed, once until something succeeds or it fails in another way."""
        self._writes["failed"] += 1
        if trouble != self._trouble:
            event = log_words.history_cannot_be(what)
            self._reporter.worry(event, where=str(self._stored), problem=problem)
        self._trouble = trouble


def _packed(history: UsageHistory, written: Key | None) -> tuple[Key, PackedHistory | None]:
    """What is counted by now, and the packed history; None where that is nothing, or what was written.

    While nobody uses anything, an hour that ends is a change: what the cluster had counts, too.
    """
    used = float(history.present[1:].sum() + history.hours[:, 1:].sum(dtype=float))
    key = (used, float(history.ends[-1]) if len(history.ends) else 0.0, tuple(history.decayed))
    return key, None if history.is_empty or key == written else pack(history)


def _code_of(error: ApiError | Unavailable) -> str:
    return str(error.code) if isinstance(error, ApiError) else "no answer"
