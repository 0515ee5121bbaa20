"""The whole picture as a running daemon tells it: asked for once, or followed as it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import msgspec

from vsched.cli.ask.daemon import Target, address_of, ask_daemon, daemon_client, expect_role, told
from vsched.errors import UNREADABLE, BadInput, Unavailable, VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError, NotFound, TooManyRequests, UnexpectedAnswer, unexpected
from vsched.web.overview.deltas import Delta, apply
from vsched.web.overview.document import Overview

SILENCE_SECONDS = 40.0
"""A stream that says nothing for so long is dead: it has a sign of life every 15 seconds."""
EVENT_BYTES = 64 << 20
"""The longest event that is taken: ten thousand jobs and five thousand nodes are a twentieth of that."""

T = TypeVar("T")

_OVERVIEW = msgspec.json.Decoder(Overview)
_DELTA = msgspec.json.Decoder(Delta)


def read_picture(target: Target) -> Overview:
    """The picture at this moment; raises what ``ask_daemon`` raises, and Unavailable where the daemon is no leader."""
    overview = ask_daemon(target, picture_of)
    expect_role(address_of(target), overview.role)
    return overview


async def picture_of(daemon: ApiClient) -> Overview:
    """The picture at this moment; raises what the client raises."""
    answer = await daemon.request("GET", "/overview")
    try:
        return _OVERVIEW.decode(answer.body)
    except UNREADABLE as error:
        problem = f"the picture cannot be read: {error}"
        raise unexpected("GET /overview", answer.code, answer.headers, answer.body, problem) from None


class Pace(NamedTuple):
    """How soon it is asked again."""

    poll_seconds: float = 1.0
    """Between two pictures where streams are refused."""
    pause_seconds: float = 0.5
    """Before a connection is made anew, at first."""
    longest_pause_seconds: float = 5.0
    """The same after several in vain."""


USUAL = Pace()


class View(msgspec.Struct, frozen=True):
    """What is known of a daemon at a moment."""

    overview: Overview | None
    """The last picture that came; None before the first."""
    problem: str = ""
    """Why nothing new comes; empty while it does."""


async def views(target: Target, pace: Pace = USUAL) -> AsyncGenerator[View, None]:
    """The picture whenever it changes, and why where nothing comes any more; goes on until it is no longer wanted.

    Raises one clear line where the first question already shows that there is nothing to wait for.
    """
    overview: Overview | None = None
    pause_seconds, streams = pace.pause_seconds, True
    while True:
        try:
            async with (
                daemon_client(target) as daemon,
                aclosing(_pictures(daemon, streams, pace.poll_seconds)) as pictures,
            ):
                async for overview in pictures:
                    pause_seconds = pace.pause_seconds
                    yield View(overview)
            problem = "the daemon ended the stream"
        except NoStreams:
            streams = False
            continue
        except VschedError as error:
            known = overview is not None
            meant = told(target, error, known=known) if isinstance(error, ApiError | Unavailable) else error
            if overview is None:
                raise meant from error
            problem = str(meant)
        yield View(overview, problem)
        await asyncio.sleep(pause_seconds)
        pause_seconds, streams = min(pace.longest_pause_seconds, 2 * pause_seconds), True


class NoStreams(Exception):  # not an error: there is another way
    """The daemon, or something in front of it, gives no streams: pictures are asked for one by one."""


async def _pictures(daemon: ApiClient, streams: bool, poll_seconds: float) -> AsyncGenerator[Overview, None]:
    if not streams:
        while True:
            yield await picture_of(daemon)
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
"""Answers of those who give no (more) streams; asking for pictures then says whether anything else is wrong."""


@dataclass(slots=True)
class Events:
    """Server-sent events from their bytes, and the picture that they add up to."""

    most_bytes: int = EVENT_BYTES
    _rest: bytes = b""
    _kind: str = ""
    _data: list[bytes] = field(default_factory=list)
    _overview: Overview | None = None

    def feed(self, chunk: bytes) -> Iterable[tuple[str, bytes]]:
        """The events that these bytes complete: kind and data. Raises BadInput for one that never ends."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) + sum(map(len, self._data)) > self.most_bytes:
            raise BadInput(f"an event is longer than {self.most_bytes} bytes (is it vsched?)")
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
        """The picture after an event; None where it says nothing about it. Raises BadInput where it does not follow."""
        if kind == "overview":
            self._overview = _decoded(data, _OVERVIEW)
        elif kind == "delta":
            change = _decoded(data, _DELTA)
            if self._overview is None or change.since != self._overview.number:
                raise BadInput(f"a change of picture {change.since} came out of turn")
            self._overview = apply(change, self._overview)
        else:
            return None
        return self._overview


def _decoded(data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(data)
    except UNREADABLE as error:
        raise BadInput(f"the picture cannot be read: {error} (is it vsched, and of this version?)") from None
