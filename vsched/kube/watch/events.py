"""The events of a watch, line after line: what they say of objects goes to the sink, and the version is remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from vsched.clock import Clock
from vsched.errors import UNREADABLE, UNUSABLE, why_unreadable
from vsched.kube.errors import ApiError, error_from_status, unexpected
from vsched.kube.watch.bounds import LoopTurns
from vsched.kube.watch.deltas import Delta, PartsSink, Statistics, WatchedKind
from vsched.kube.watch.framing import WatchEvent, decode_event, version_of
from vsched.kube.watch.listing import complaint
from vsched.kube.watch.streaming import StreamedList
from vsched.kube.words import watching as words

T = TypeVar("T")

DELTAS: dict[str, Delta] = {delta.value: delta for delta in Delta}


class EventReader(Generic[T]):
    """Reads the watches of one kind into one sink, one after the other."""

    def __init__(
        self, kind: WatchedKind[T], sink: PartsSink[T], statistics: Statistics, clock: Clock, slice_seconds: float
    ) -> None:
        self.where = ""
        """What is asked for, for messages."""
        self._kind = kind
        self._sink = sink
        self._statistics = statistics
        self._clock = clock
        self._slice_seconds = slice_seconds
        self._version = ""
        self._latest: bytes | None = None
        """The last object of a watch; its version is decoded only when the watch has to be resumed."""
        self._streaming: StreamedList | None = None
        self._on_complete: Callable[[StreamedList], None] = lambda _: None

    @property
    def version(self) -> str:
        """The resourceVersion up to which the sink has everything; empty before the first list."""
        if self._latest is not None:
            self._version = version_of(self._latest) or self._version
            self._latest = None
        return self._version

    def begin_at(self, version: str) -> None:
        """The next watch begins at the version of a list."""
        self._version, self._latest = version, None

    def begin_streamed(self, streaming: StreamedList, on_complete: Callable[[StreamedList], None]) -> None:
        """The next watch begins with a list; ``on_complete`` is called when the sink has all of it."""
        self._streaming, self._on_complete = streaming, on_complete

    def end_streamed(self) -> None:
        """There is no list to come, or none any more."""
        self._streaming = None

    @property
    def streams(self) -> bool:
        """Whether a list comes with the watch at the moment."""
        return self._streaming is not None

    async def take(self, lines: list[bytes]) -> None:
        """Deliver the lines of one chunk to the sink, with turns of the event loop in between.

        Raises what the server says with an event, and UnexpectedAnswer for a line that is none.
        """
        turns = LoopTurns(self._slice_seconds)
        if lines:
            self._statistics.last_event_monotonic = self._clock.monotonic()
        for line in lines:
            self._take_line(line)
            if self._streaming is not None and self._streaming.ended:
                await self._complete(self._streaming)
            if turns.over:
                await turns.turn()

    async def _complete(self, streaming: StreamedList) -> None:
        """All objects of a streamed list have come."""
        turns, statistics, version = LoopTurns(self._slice_seconds), self._statistics, self.version
        for _ in self._sink.finish(version):
            if turns.over:
                await turns.turn()
        for raw, error in streaming.broken:
            self._sink.broken(raw, error)
        statistics.lists += 1
        statistics.objects = statistics.listed
        statistics.list_seconds = self._clock.monotonic() - streaming.began
        statistics.synced, statistics.listing = True, False
        self._streaming = None
        self._on_complete(streaming)

    def _take_line(self, line: bytes) -> None:
        found = self._kind.read_line(line)
        if found is None:
            self._take_unusual(line)
        else:
            if found.version:
                self._version, self._latest = found.version, None
            self._pass_on(found.delta, found.item)
        self._statistics.events += 1

    def _take_unusual(self, line: bytes) -> None:
        try:
            event = decode_event(line)
        except UNREADABLE as error:
            problem = words.no_event(why_unreadable(error))
            raise unexpected(self.where, 200, {}, line, problem) from error
        delta = DELTAS.get(event.type)
        if delta is None:
            self._take_notice(event)
        else:
            self._deliver(delta, bytes(event.object))

    def _deliver(self, delta: Delta, raw: bytes) -> None:
        try:
            item = self._kind.decode(raw)
        except UNUSABLE as error:
            listed = self._streaming is not None and delta is Delta.ADDED
            broken = complaint(self._statistics, raw, None if listed else delta, error)
            if broken.identity.resource_version:
                self._version, self._latest = broken.identity.resource_version, None
            if self._streaming is not None and listed:
                self._streaming.broken.append((raw, broken))
            else:
                self._sink.broken(raw, broken)
            return
        self._latest = raw
        self._pass_on(delta, item)

    def _pass_on(self, delta: Delta, item: T) -> None:
        if self._streaming is None or delta is not Delta.ADDED:
            self._sink.apply(delta, item)
            return
        self._sink.include(item)
        statistics = self._statistics
        statistics.listed += 1
        statistics.expected = statistics.listed

    def _take_notice(self, event: WatchEvent) -> None:
        raw = bytes(event.object)
        if event.type == "BOOKMARK":
            self._latest = raw
            if self._streaming is not None:
                self._streaming.bookmark(raw)
        elif event.type == "ERROR":
            raise self._error_in(raw)
        else:
            raise unexpected(self.where, 200, {}, raw, words.unknown_event(event.type))

    def _error_in(self, raw: bytes) -> ApiError:
        try:
            return error_from_status(self.where, raw, 0)
        except UNREADABLE:
            return unexpected(self.where, 200, {}, raw, words.NO_STATUS)
