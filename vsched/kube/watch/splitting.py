"""Splits a list, or a page of one, into objects while it arrives, a part at a time.

A list in one piece may have hundreds of megabytes. To decode it at once holds the event loop for a second or more, and
a thread would not help, as the decoder lets no other thread run. A page takes milliseconds, also to be put together. So
the text is cut where an object seems to end and another one begins like the first. A part that can be decoded as a list
was cut at the right place: had the cut been inside of an object or a string, brackets would be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

import msgspec

from vsched.errors import UNREADABLE
from vsched.kube.watch.framing import Page, PageMetadata, decode_page
from vsched.kube.watch.mending import mended

PART_BYTES = 1 << 18
"""So much is split at a time, or one chunk where that is longer: less than a millisecond."""
_TRIES = 4
"""How many places to cut at are tried; objects inside of the last one may begin as it does."""
_ITEMS = re.compile(rb'"items":\[')
_BEGINNING = re.compile(rb'\{"(?:apiVersion":"[^"\\]*","kind|[^"\\]*)":')
"""How an object begins: its first key. An apiVersion alone would not do, as owners and managers of objects have one."""


class _Partial(msgspec.Struct, frozen=True):
    """A list without some of its items, which may lack its metadata."""

    metadata: PageMetadata | None = None
    items: list[msgspec.Raw] | None = None


_decode_partial = msgspec.json.Decoder(_Partial).decode


class ListSplitter:
    """Splits one list. What is written in another way than by API servers is split when it is complete."""

    def __init__(self, part_bytes: int = PART_BYTES) -> None:
        self._part_bytes = self._due = part_bytes
        self._rest = bytearray()
        """What has not been split yet."""
        self._head: PageMetadata | None = None
        """The metadata, where it came before the items."""
        self._mark = b""
        """How an object ends and another begins; empty before the first one has come."""

    def feed(self, chunk: bytes) -> list[msgspec.Raw]:
        """The objects that are complete by now, as far as they are to be split."""
        self._rest += chunk
        if len(self._rest) < self._due:
            return []
        found: list[msgspec.Raw] = []
        if self._mark or self._begin():
            found = self._cut(_decode_partial) or self._cut(lambda part: _decode_partial(mended(part)))
        # Where it cannot be cut, it is tried again when there is twice as much: so tries cost little in all.
        self._due = len(self._rest) + (self._part_bytes if found else len(self._rest))
        return found

    def finish(self) -> Page:
        """The list with the objects that are left; raises one of UNREADABLE."""
        if not self._mark:
            return decode_page(bytes(self._rest))
        page = decode_page(b'{"metadata":{},"items":[' + self._rest)
        return page if self._head is None else Page(self._head, page.items)

    def _begin(self) -> bool:
        """Look for the first object; False where there is none, or not in a list."""
        found = _ITEMS.search(self._rest)
        begins = None if found is None else _BEGINNING.match(self._rest, found.end())
        if found is None or begins is None:
            return False
        try:
            self._head = _decode_partial(self._rest[: found.end()] + b"]}").metadata
        except UNREADABLE:
            return False
        self._mark = b"}," + begins[0]
        del self._rest[: found.end()]
        return True

    def _cut(self, decode: Callable[[bytes], _Partial]) -> list[msgspec.Raw]:
        """Take out all objects up to a place where one ends; none where no such place is found."""
        end = len(self._rest)
        for _ in range(_TRIES):
            at = self._rest.rfind(self._mark, 0, end)
            if at < 0:
                break
            with suppress(*UNREADABLE):
                with memoryview(self._rest) as rest:
                    text = b"".join((b'{"items":[', rest[: at + 1], b"]}"))
                part = decode(text)
                del self._rest[: at + 2]
                return part.items or []
            end = at + len(self._mark) - 1
        return []
