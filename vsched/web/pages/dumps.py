"""The pages ``/dump`` (a recording of a cycle now) and ``/recordings`` (of cycles in which something looked wrong).

They answer with gzipped JSON, which ``vsched replay`` reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypedDict

from aiohttp import web

from vsched.errors import Unavailable
from vsched.framework.registry import Registry
from vsched.model.dump.cycle import Recording, decode, pack
from vsched.web.pages.recording import Whose, anonymous, recording_of
from vsched.web.pages.recording_ring import RecordingRing, StoredRecording
from vsched.web.serve.parts import PayloadParts
from vsched.web.serve.routing import Contract, Handler, QueryParameter, Route, as_json, aside, or_unavailable
from vsched.web.snapshots import Look
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

GZIP = "application/gzip"
MOST_WAITING = 4
"""How many requests may wait: a recording of a large cluster takes a second of a core, and one is made at a time."""


class RecordingLine(TypedDict):
    """A recording in the list."""

    number: int
    at: float
    why: str
    says: str
    error: str
    times: int
    last: float
    bytes: int


class RecordingsShown(TypedDict):
    """An answer of ``/recordings``."""

    recordings: list[RecordingLine]


_FILE = Contract(query=(QueryParameter("anonymous", words.ANONYMOUS, bool),), media=GZIP)


def dump_routes(look: Look, ring: RecordingRing, whose: Whose, registry: Registry) -> Sequence[Route]:
    """``/dump`` and ``/recordings``; ``/dump`` starts a session and records it."""
    turns = PackingQueue()
    return [
        Route(
            "/dump",
            or_unavailable(_dump(look, whose, registry, turns)),
            words.DUMP,
            private=True,
            contract=_FILE,
        ),
        Route("/recordings", _list(ring), words.RECORDINGS, private=True, contract=Contract((RecordingsShown,))),
        Route(
            "/recordings/{number}",
            or_unavailable(_one(ring, registry, turns)),
            words.RECORDING,
            private=True,
            contract=_FILE,
        ),
    ]


class PackingQueue:
    """Packs one recording at a time; a few requests may wait."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def __aenter__(self) -> None:
        if self._waiting >= MOST_WAITING:
            raise Unavailable(answers_words.too_many_recordings(self._waiting))
        self._waiting += 1
        try:
            await self._lock.acquire()
        except BaseException:
            self._waiting -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self._waiting -= 1
        self._lock.release()


def _dump(look: Look, whose: Whose, registry: Registry, turns: PackingQueue) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        hidden = _flag(request, "anonymous")
        if hidden is None:
            return _bad_flag()
        if not whose.decides:
            return as_json({"error": answers_words.NO_SESSIONS}, 404)
        async with turns:
            frozen = await look()
            recording = recording_of(frozen, whose)
            data = await aside(lambda: pack(anonymous(recording, registry) if hidden else recording))
        return _file(data, frozen.number, hidden)

    return answer


def _list(ring: RecordingRing) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return as_json({"recordings": [_line(kept) for kept in ring]})

    return answer


def _line(kept: StoredRecording) -> RecordingLine:
    head = kept.head
    return {
        "number": head.number,
        "at": head.at,
        "why": head.why,
        "says": head.says,
        "error": head.error,
        "times": kept.times,
        "last": kept.last or head.at,
        "bytes": len(kept.data),
    }


def _one(ring: RecordingRing, registry: Registry, turns: PackingQueue) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        hidden, number = _flag(request, "anonymous"), request.match_info["number"]
        if hidden is None:
            return _bad_flag()
        kept = ring.get(int(number)) if number.isdecimal() and len(number) < 19 else None
        if kept is None:
            return as_json({"error": answers_words.no_recording(number)}, 404)
        data = kept.data
        if hidden:
            async with turns:
                data = await aside(lambda: pack(_hidden(kept.data, registry)))
        return _file(data, kept.head.number, hidden)

    return answer


def _hidden(data: bytes, registry: Registry) -> Recording:
    return anonymous(decode(data), registry)


def _file(data: bytes, number: int, hidden: bool) -> web.Response:
    name = f"vsched-{number}{'-anonymous' if hidden else ''}.json.gz"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=PayloadParts.of(data), content_type=GZIP, headers=headers)


def _flag(request: web.Request, name: str) -> bool | None:
    """What a flag of the query says, None where that cannot be said."""
    return {"": True, "true": True, "1": True, "false": False, "0": False}.get(request.query.get(name, "false"))


def _bad_flag() -> web.Response:
    return as_json({"error": answers_words.ANONYMOUS_EXPECTED}, 400)
