"""Reading server-sent events, and keeping the picture that they draw."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec

from vsched.web.overview.deltas import OverviewDelta, apply
from vsched.web.overview.document import Overview

SECONDS = 20.0
"""How long is waited for an event that is to come."""


class Event(NamedTuple):
    """One event, or a comment, which has neither a name nor data."""

    name: str
    identity: str
    data: str


class Watcher:
    """One reader of ``/events``."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.picture: Overview | None = None
        self.identity = ""

    async def next(self, seconds: float = SECONDS) -> Event | None:
        """The next event or comment; None where the stream has ended."""
        async with asyncio.timeout(seconds):
            fields: dict[str, str] = {}
            while line := (await self.response.content.readline()).decode():
                if not line.strip():
                    if set(fields) != {"retry"}:
                        return Event(fields.get("event", ""), fields.get("id", ""), fields.get("data", ""))
                    fields = {}
                    continue
                name, _, value = line.rstrip("\n").partition(":")
                fields[name] = value.removeprefix(" ")
            return None

    async def see(self, seconds: float = SECONDS) -> Event | None:
        """The same, but no comments; the picture is brought up to date."""
        while (found := await self.next(seconds)) is not None:
            if not found.name:
                continue
            self.identity = found.identity
            if found.name == "overview":
                self.picture = msgspec.json.decode(found.data, type=Overview)
            else:
                change = msgspec.json.decode(found.data, type=OverviewDelta)
                assert self.picture is not None
                assert change.since == self.picture.number
                self.picture = apply(change, self.picture)
            return found
        return None

    async def end(self, seconds: float = SECONDS) -> None:
        """Wait for the stream to end in good order."""
        while await self.next(seconds) is not None:
            pass


@asynccontextmanager
async def watching(url: str, tls: ssl.SSLContext | None = None, **headers: str) -> AsyncIterator[Watcher]:
    """Somebody who reads a stream of events."""
    connector = aiohttp.TCPConnector(ssl=tls or True)
    named: dict[str, Any] = {name.replace("_", "-"): value for name, value in headers.items()}
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=1 << 22) as session,
        session.get(url, headers={"Accept": "text/event-stream", **named}) as response,
    ):
        yield Watcher(response)
