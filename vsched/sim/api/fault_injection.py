"""Injects a fault into a request: before it is carried out, after that, or into its answer."""

from __future__ import annotations

import asyncio
from functools import partial

import orjson

from vsched.apimachinery.meta.api_errors import MODIFIED, Failure, expired, internal, too_many_requests
from vsched.sim.api.fault_plan import Fault, FaultKind
from vsched.sim.requests.answers import Send, Stream
from vsched.sim.requests.attributes import attributes_of
from vsched.sim.requests.request import ApiRequest

_HALF_EVENT = b'{"type":"MODIFIED","object":{"kind":'
_INJECTED = "a fault that was asked for"
_UNAVAILABLE = "the server is currently unable to handle the request"
_TIMED_OUT = "Timeout: request did not complete within the allotted timeout"


class Dropped(Exception):
    """Breaks the connection; with ``flush``, what has been written is still sent."""

    def __init__(self, *, flush: bool = False) -> None:
        super().__init__("the connection is to break here")
        self.flush = flush


async def before(fault: Fault, call: ApiRequest) -> None:
    """Before the request is carried out: a delay, an error, or a broken connection."""
    match fault.kind:
        case FaultKind.ERROR:
            raise internal(f"Internal error occurred: {_INJECTED}")
        case FaultKind.UNAVAILABLE:
            raise Failure(503, "ServiceUnavailable", _UNAVAILABLE)
        case FaultKind.THROTTLED:
            message = "Too many requests, please try again later."
            raise too_many_requests(message, retry_after_seconds=fault.retry_after_seconds)
        case FaultKind.CONFLICT:
            raise _conflict(call)
        case FaultKind.DROP_BEFORE:
            raise Dropped()
        case FaultKind.SLOW:
            await asyncio.sleep(fault.delay_seconds)


def _conflict(call: ApiRequest) -> Failure:
    wanted = attributes_of(call)
    resource = f"{wanted.combined}.{wanted.group}" if wanted.group else wanted.combined
    details = {"name": wanted.name, "group": wanted.group, "kind": wanted.combined}
    message = f'Operation cannot be fulfilled on {resource} "{wanted.name}": {MODIFIED}'
    return Failure(409, "Conflict", message, details={key: value for key, value in details.items() if value})


async def after(fault: Fault) -> None:
    """After the request is carried out, instead of its answer."""
    match fault.kind:
        case FaultKind.DROP_AFTER:
            raise Dropped()
        case FaultKind.TIMEOUT:
            await asyncio.sleep(fault.delay_seconds)
            raise Failure(504, "Timeout", _TIMED_OUT)


def spoiled(fault: Fault, stream: Stream) -> Stream:
    """A watch that fails after a while."""
    how = {FaultKind.WATCH_CUT: _cut, FaultKind.WATCH_EXPIRED: _expire, FaultKind.WATCH_SILENT: _fall_silent}.get(
        fault.kind
    )
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
