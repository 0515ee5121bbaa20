"""The overview of a running daemon: read once, or followed as it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import msgspec

from vsched.client import words
from vsched.client.errors import explained_error
from vsched.client.target import DaemonTarget, api_client
from vsched.errors import UNREADABLE, BadInput, Unavailable, VschedError, why_unreadable
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError, NotFound, TooManyRequests, UnexpectedAnswer, unexpected
from vsched.web.overview.deltas import OverviewDelta, apply
from vsched.web.overview.document import Overview

SILENCE_SECONDS = 40.0
"""A stream that is silent for so long is dead: the daemon sends something every 15 seconds."""
EVENT_BYTES = 64 << 20
"""The longest event accepted: 20 times as long as one of ten thousand jobs and five thousand nodes."""

T = TypeVar("T")

_OVERVIEW = msgspec.json.Decoder(Overview)
_DELTA = msgspec.json.Decoder(OverviewDelta)


async def overview_of(daemon: ApiClient) -> Overview:
    """The overview now; raises what the client raises."""
    answer = await daemon.request("GET", "/overview")
    try:
        return _OVERVIEW.decode(answer.body)
    except UNREADABLE as error:
        problem = words.unreadable(why_unreadable(error))
        raise unexpected("GET /overview", answer.code, answer.headers, answer.body, problem) from None


class Pace(NamedTuple):
    """The intervals of a follower, in seconds."""

    poll_seconds: float = 1.0
    """Between two overviews where the daemon refuses streams."""
    pause_seconds: float = 0.5
    """Before the first attempt to connect again."""
    longest_pause_seconds: float = 5.0
    """The longest pause, after several failed attempts."""


USUAL = Pace()


class View(msgspec.Struct, frozen=True):
    """What is known of a daemon at a moment."""

    overview: Overview | None
    """The last overview received; None before the first."""
    problem: str = ""
    """Why no new one arrives; empty while they do."""


async def views(target: DaemonTarget, pace: Pace = USUAL) -> AsyncGenerator[View, None]:
    """The overview whenever it changes, and the problem where none arrives any more; it never ends by itself.

    Raises one clear line where even the first overview cannot be had.
    """
    overview: Overview | None = None
    pause_seconds, streams = pace.pause_seconds, True
    while True:
        try:
            async with (
                api_client(target) as daemon,
                aclosing(_overviews(daemon, streams, pace.poll_seconds)) as overviews,
            ):
                async for overview in overviews:
                    pause_seconds = pace.pause_seconds
                    yield View(overview)
            problem = words.STREAM_ENDED
        except NoStreams:
            streams = False
            continue
        except VschedError as error:
            known = overview is not None
            meant = explained_error(target, error, known=known) if isinstance(error, ApiError | Unavailable) else error
            if overview is None:
                raise meant from error
            problem = str(meant)
        yield View(overview, problem)
        await asyncio.sleep(pause_seconds)
        pause_seconds, streams = min(pace.longest_pause_seconds, 2 * pause_seconds), True


class NoStreams(Exception):  # no error: overviews can be polled instead
    """The daemon, or a proxy before it, refuses streams."""


async def _overviews(daemon: ApiClient, streams: bool, poll_seconds: float) -> AsyncGenerator[Overview, None]:
    if not streams:
        while True:
            yield await overview_of(daemon)
            await asyncio.sleep(poll_seconds)
    try:
        async with daemon.stream("/events", silence_seconds=SILENCE_SECONDS) as chunks:
            events = Events()
            async for chunk in chunks:
                for kind, data in events.feed(chunk):
                    if (overview := events.take(kind, data)) is not None:
                        yield overview
    except (NotFound, UnexpectedAnswer, TooManyRequests) as error:
        raise NoStreams from error
    except ApiError as error:
        if error.code in REFUSED_STREAMS:
            raise NoStreams from error
        raise


REFUSED_STREAMS = frozenset({406, 501, 503})
"""Codes by which a server refuses a stream; polling then shows whether anything else is wrong."""


@dataclass(slots=True)
class Events:
    """A parser of server-sent events, and the overview that they add up to."""

    most_bytes: int = EVENT_BYTES
    _rest: bytes = b""
    _kind: str = ""
    _data: list[bytes] = field(default_factory=list)
    _overview: Overview | None = None

    def feed(self, chunk: bytes) -> Iterable[tuple[str, bytes]]:
        """The events that these bytes complete, as kind and data; raises BadInput for one that is too long."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) + sum(map(len, self._data)) > self.most_bytes:
            raise BadInput(words.event_too_long(self.most_bytes))
        for line in lines:
            name, _, value = line.rstrip(b"\r").partition(b":")
            value = value.removeprefix(b" ")
            if name == b"event":
                self._kind = value.decode("utf-8", "replace")
            elif name == b"data":
                self._data.append(value)
            elif not name and not value and not line.startswith(b":") and self._data:
                yield self._kind, b"\n".join(self._data)
                self._kind, self._data = "", []

    def take(self, kind: str, data: bytes) -> Overview | None:
        """The overview after an event; None where it is unchanged. Raises BadInput for a change out of order."""
        if kind == "overview":
            self._overview = _decoded(data, _OVERVIEW)
        elif kind == "delta":
            change = _decoded(data, _DELTA)
            if self._overview is None or change.since != self._overview.number:
                raise BadInput(words.out_of_order(change.since))
            self._overview = apply(change, self._overview)
        else:
            return None
        return self._overview


def _decoded(data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(data)
    except UNREADABLE as error:
        raise BadInput(words.unreadable_by_this_version(error)) from None
