"""Answers of many megabytes, made and sent in parts: neither encoding nor sending them holds up the event loop.

An encoder lets no other thread run before it is done, and what is written to a connection at once is copied at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson
from aiohttp import Payload, web
from aiohttp.abc import AbstractStreamWriter

from vsched.kube.watch.bounds import LoopTurns
from vsched.web.serve.routing import INDENTED, JSON

PART_BYTES = 1 << 17
MANY = 64
"""An object of more members is encoded member by member."""
SLICE_SECONDS = 0.002
"""How long parts are written before others have their turn."""


def json_answer(members: Iterable[tuple[str, object]]) -> web.Response:
    """An answer in indented JSON: an object of these members. For any thread."""
    parts = [*joined(json_pieces(members))]
    return web.Response(body=PayloadParts(parts), content_type=JSON)


def json_pieces(members: Iterable[tuple[str, object]]) -> Iterator[bytes]:
    """An object of these members as ``as_json`` writes it, in many pieces."""
    yield from _object(members, b"\n")
    yield b"\n"


def _object(members: Iterable[tuple[str, object]], margin: bytes) -> Iterator[bytes]:
    """``margin`` is the end of a line, and what the next one begins with."""
    inner, between = margin + b"  ", b"{"
    for name, value in members:
        yield between + inner + orjson.dumps(name) + b": "
        if isinstance(value, Mapping) and len(value) > MANY:
            yield from _object(value.items(), inner)
        else:  # JSON has line breaks between values alone, not in texts
            yield orjson.dumps(value, default=str, option=INDENTED).replace(b"\n", inner)
        between = b","
    yield b"{}" if between == b"{" else margin + b"}"


def joined(pieces: Iterable[bytes], most_bytes: int = PART_BYTES) -> Iterator[bytes]:
    """The same bytes in parts of so many, but for the last one; a longer piece makes a longer part."""
    some: list[bytes] = []
    size = 0
    for piece in pieces:
        some.append(piece)
        size += len(piece)
        if size >= most_bytes:
            yield b"".join(some)
            some, size = [], 0
    if some:
        yield b"".join(some)


class PayloadParts(Payload):
    """A body in parts. Each is written once the client has taken most of those before."""

    def __init__(self, parts: Sequence[bytes | memoryview]) -> None:
        super().__init__(parts)
        self._parts = parts
        self._size = sum(map(len, parts))

    @classmethod
    def of(cls, data: bytes) -> PayloadParts:
        """The same bytes in parts, none of which is copied."""
        view = memoryview(data)
        return cls([view[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)])

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._parts).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        turns = LoopTurns(SLICE_SECONDS)
        for part in self._parts:
            await writer.write(part)
            if turns.over:
                await turns.turn()
