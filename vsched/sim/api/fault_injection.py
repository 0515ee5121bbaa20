"""Injects a fault into a request: before it is carried out, after that, or into its answer."""

from __future__ import annotations

import asyncio

import orjson

from vsched.apimachinery.meta.api_errors import MODIFIED, Failure, internal, too_many_requests
from vsched.sim.api.fault_plan import Fault, FaultKind
from vsched.sim.requests.attributes import attributes_of
from vsched.sim.requests.request import ApiRequest
from vsched.sim.store.store import Store

WEBHOOK = "fault.vsched.io"
"""The admission webhook that there seems to be; what it adds to objects is called after it."""
_NO_PATCHES_OF_OBJECTS = ("json-patch", "apply-patch")
_INJECTED = "a fault that was asked for"
_UNAVAILABLE = "the server is currently unable to handle the request"
_TIMED_OUT = "Timeout: request did not complete within the allotted timeout"


class Dropped(Exception):
    """Breaks the connection; with ``flush``, what has been written is still sent."""

    def __init__(self, *, flush: bool = False) -> None:
        super().__init__("the connection is to break here")
        self.flush = flush


async def before(fault: Fault, call: ApiRequest, store: Store) -> None:
    """Before the request is carried out: a delay, an error, a broken connection, or a change of the request."""
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
        case FaultKind.DENIED:
            raise denied(_INJECTED)
        case FaultKind.WEBHOOK_TIMEOUT:
            await asyncio.sleep(fault.delay_seconds)
            raise unanswered()
        case FaultKind.MUTATED:
            call.body = mutated(call)
        case FaultKind.LIST_STALE:
            version = max(store.floor, store.revision - fault.versions_behind)
            call.query |= {"resourceVersion": str(version), "resourceVersionMatch": "Exact"}


def denied(why: str) -> Failure:
    """The refusal of an admission webhook."""
    return Failure(403, "Forbidden", f'admission webhook "{WEBHOOK}" denied the request: {why}')


def unanswered() -> Failure:
    """The failure of a write whose admission webhook does not answer."""
    text = f'failed calling webhook "{WEBHOOK}": failed to call webhook: context deadline exceeded'
    return internal(f"Internal error occurred: {text}", details={"causes": [{"message": text}]})


def mutated(call: ApiRequest) -> bytes:
    """The body of a write with a label and an annotation more; one that is no object, or no part of one, as it is."""
    try:
        body = orjson.loads(call.body)
    except orjson.JSONDecodeError:
        return call.body
    if not isinstance(body, dict) or any(kind in call.content_type for kind in _NO_PATCHES_OF_OBJECTS):
        return call.body
    metadata = body.get("metadata") or {}
    try:
        added = {part: {**(metadata.get(part) or {}), WEBHOOK: "changed"} for part in ("labels", "annotations")}
        return orjson.dumps({**body, "metadata": {**metadata, **added}})
    except (AttributeError, TypeError):
        return call.body


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
