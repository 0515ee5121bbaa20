"""Bodies of answers as they arrive. One that comes packed, although nobody asked for that, is unpacked in small pieces.

A few bytes may unpack to a thousand times as many: so each piece is bounded, and the event loop turns between two.
"""

from __future__ import annotations

import asyncio
import zlib

import aiohttp

from vsched.kube.words import answers as words

PIECE_BYTES = 256 << 10
"""The most that is unpacked at once."""
UNPACKED_BYTES = 128 << 20
"""The longest answer that is unpacked. Watches have no end: their lines are bounded elsewhere."""
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""zlib's numbers for the forms that it knows."""


class BadPacking(aiohttp.ClientPayloadError):
    """The body of an answer is packed, and cannot be unpacked."""


class Unpacked:
    """The body of a response, in chunks of any length."""

    __slots__ = ("_content", "_inflater", "_left", "_more", "_packed")

    def __init__(self, response: aiohttp.ClientResponse, *, endless: bool = False) -> None:
        """Raises BadPacking where the body is packed in a form that is not known."""
        self._content = response.content
        self._left = None if endless else UNPACKED_BYTES
        self._packed, self._more = b"", False
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        self._inflater = None
        if encoding not in ("", "identity"):
            window = _WINDOWS.get(encoding)
            if window is None:
                raise BadPacking(words.encoded_otherwise(repr(encoding[:20])))
            self._inflater = zlib.decompressobj(window)

    async def next(self) -> bytes:
        """The next chunk; empty at the end. Raises what the connection raises, and BadPacking."""
        inflater = self._inflater
        if inflater is None:
            return await self._content.readany()
        while True:
            if not self._packed and not self._more:
                self._packed = await self._content.readany()
                if not self._packed:
                    if not inflater.eof:
                        raise BadPacking(words.BREAKS_OFF)
                    return b""
            if piece := self._unpack(inflater):
                await asyncio.sleep(0)
                return piece

    def _unpack(self, inflater: zlib._Decompress) -> bytes:
        if inflater.eof:  # what comes behind the end is nothing
            self._packed, self._more = b"", False
            return b""
        try:
            piece = inflater.decompress(self._packed, PIECE_BYTES)
        except zlib.error as error:
            raise BadPacking(words.cannot_be_unpacked(error)) from error
        self._packed, self._more = inflater.unconsumed_tail, len(piece) == PIECE_BYTES
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0:
                raise BadPacking(words.unpacks_to_more(UNPACKED_BYTES >> 20))
        return piece
