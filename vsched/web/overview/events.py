"""Server-sent events as bytes: encoded once and compressed once for any number of clients.

Each event is deflated on its own and flushed to a byte boundary, so that any sequence of events is a valid gzip
stream. Clients that connected at different times share the bytes.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import msgspec

LEVEL = 6
"""Compression level: higher levels take more time and save little."""
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""Deflate, no name, no time, unknown system (RFC 1952)."""
LAST_BLOCK = b"\x03\x00"
"""An empty one that says it is the last (RFC 1951)."""


class EventBytes(NamedTuple):
    """Bytes, plain and as a part of a gzip stream."""

    plain: bytes
    deflated: bytes


def piece(plain: bytes, level: int = LEVEL) -> EventBytes:
    """A piece from plain bytes."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return EventBytes(plain, compressor.compress(plain) + compressor.flush(zlib.Z_SYNC_FLUSH))


def event(name: str, identity: str, data: object) -> EventBytes:
    """One event with a record as JSON."""
    # JSON as msgspec writes it has no line breaks, so one line of data is enough.
    return piece(b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), identity.encode(), msgspec.json.encode(data)))


HEARTBEAT = piece(b":\n\n")
"""A comment that keeps the connection alive through proxies."""
FIRST_WORDS = piece(b"retry: 1000\n\n")
"""Clients reconnect after a second."""
OTHER_WORDS = piece(b"retry: 1000\nid:\n\n")
"""The same for clients whose last event is no longer known; it resets their ``Last-Event-ID``."""


class GzipStream:
    """A gzip stream of pieces, for one client."""

    def __init__(self) -> None:
        self._sum = 0
        self._length = 0

    def begin(self) -> bytes:
        """The header."""
        return GZIP_HEAD

    def add(self, found: EventBytes) -> bytes:
        """The next piece."""
        self._sum = zlib.crc32(found.plain, self._sum)
        self._length += len(found.plain)
        return found.deflated

    def end(self) -> bytes:
        """The trailer."""
        return LAST_BLOCK + self._sum.to_bytes(4, "little") + (self._length & 0xFFFFFFFF).to_bytes(4, "little")


class PlainStream:
    """The same for clients without gzip."""

    def begin(self) -> bytes:
        """Nothing."""
        return b""

    def add(self, found: EventBytes) -> bytes:
        """The next piece."""
        return found.plain

    def end(self) -> bytes:
        """Nothing."""
        return b""


def gzipped(found: EventBytes) -> bytes:
    """A whole answer of one piece."""
    stream = GzipStream()
    return stream.begin() + stream.add(found) + stream.end()


def takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header takes gzip."""
    for each in accepted.lower().split(","):
        coding, _, weight = each.strip().partition(";")
        if coding.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
