"""Watches that break, expire, fall silent, repeat themselves, leave states out, or are late."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import orjson

from vsched.apimachinery.meta.api_errors import expired
from vsched.sim.api.fault_injection import Dropped
from vsched.sim.api.fault_plan import Fault, FaultKind
from vsched.sim.requests.answers import Send, Stream

_HALF_EVENT = b'{"type":"MODIFIED","object":{"kind":'
_INJECTED = "a fault that was asked for"


def spoiled(fault: Fault, stream: Stream) -> Stream:
    """A watch with a fault."""
    how = {
        FaultKind.WATCH_CUT: _cut,
        FaultKind.WATCH_EXPIRED: _expire,
        FaultKind.WATCH_SILENT: _fall_silent,
        FaultKind.WATCH_REPEATS: _repeat,
        FaultKind.WATCH_SKIPS: _skip,
        FaultKind.WATCH_LATE: _be_late,
    }.get(fault.kind)
    return Stream(partial(how, stream, fault.delay_seconds)) if how is not None else stream


async def _cut(stream: Stream, seconds: float, send: Send) -> None:
    if not await _ended(stream, seconds, send):
        await send(_HALF_EVENT)
        raise Dropped(flush=True)


async def _expire(stream: Stream, seconds: float, send: Send) -> None:
    if not await _ended(stream, seconds, send):
        refusal = expired(f"too old resource version: {_INJECTED}")
        await send(orjson.dumps({"type": "ERROR", "object": refusal.body}) + b"\n")


async def _ended(stream: Stream, seconds: float, send: Send) -> bool:
    """Runs a watch for so long; whether it ended before that."""
    try:
        async with asyncio.timeout(seconds):
            await stream.run(send)
    except TimeoutError:
        return False
    return True


async def _fall_silent(stream: Stream, seconds: float, send: Send) -> None:
    """The watch goes on but sends nothing more, until its time is up or the client gives up."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds

    async def send_at_first(data: bytes) -> None:
        if loop.time() < ends:
            await send(data)

    await stream.run(send_at_first)


async def _repeat(stream: Stream, _: float, send: Send) -> None:
    """All that is sent at a time is sent once more."""

    async def send_twice(data: bytes) -> None:
        await send(data)
        await send(data)

    await stream.run(send_twice)


async def _be_late(stream: Stream, seconds: float, send: Send) -> None:
    """Each event is sent so many seconds after it happened."""
    loop = asyncio.get_running_loop()
    held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def hold(data: bytes) -> None:
        held.put_nowait((loop.time() + seconds, data))

    async def read() -> None:
        try:
            await stream.run(hold)
        finally:
            held.put_nowait((0.0, b""))

    reading = asyncio.create_task(read())
    try:
        while (found := await held.get())[1]:
            due, data = found
            await asyncio.sleep(due - loop.time())
            await send(data)
        await reading
    finally:
        reading.cancel()


async def _skip(stream: Stream, seconds: float, send: Send) -> None:
    """What has happened is sent from time to time: of each object its latest state alone."""
    held = _Held()

    async def read() -> None:
        await stream.run(held.add)

    reading = asyncio.create_task(read())
    try:
        while not reading.done():
            await asyncio.wait((reading,), timeout=seconds)
            if lines := held.take():
                await send(lines)
        await reading
    finally:
        reading.cancel()


class _Held:
    """Events that are held back: the latest of each object."""

    def __init__(self) -> None:
        self._latest: dict[Any, tuple[str, bytes, dict[str, Any]]] = {}
        """By object: how its first event changed it, its latest line, and what that line says."""

    async def add(self, data: bytes) -> None:
        """Hold lines back."""
        for line in data.splitlines(keepends=True):
            event = orjson.loads(line)
            metadata = event["object"].get("metadata") or {}
            # An object is its uid: that one was deleted is sent even where another one has its name by then.
            key = metadata.get("uid") or event["type"]
            first = self._latest.pop(key)[0] if key in self._latest else event["type"]
            self._latest[key] = first, line, event

    def take(self) -> bytes:
        """The lines to send now."""
        latest, self._latest = self._latest, {}
        return b"".join(_line(first, line, event) for first, line, event in latest.values())


def _line(first: str, line: bytes, event: dict[str, Any]) -> bytes:
    """The line for several changes of an object at once."""
    last = event["type"]
    if first == last or not {first, last} <= {"ADDED", "MODIFIED", "DELETED"}:
        return line
    if last == "DELETED":
        return b"" if first == "ADDED" else line
    type_ = "ADDED" if first == "ADDED" else "MODIFIED"
    return line if type_ == last else orjson.dumps({**event, "type": type_}) + b"\n"
