"""Splits lists and watches into objects without decoding these: each object stays raw bytes.

The decoder of its kind reads an object later. Here at most its identity and its version are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from vsched.errors import UNREADABLE, VschedError
from vsched.kube.watch.mending import mended
from vsched.kube.words import watching as words

T = TypeVar("T")


class PageMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of a page of a list."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
    """Number of objects on the following pages, if the server says so."""


class Page(msgspec.Struct, frozen=True):
    """One page of a list."""

    metadata: PageMetadata
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class ReadEvent(msgspec.Struct, Generic[T], frozen=True):
    """The same with its object decoded."""

    type: str
    object: T


class Identity(NamedTuple):
    """The identity of an object, as far as it can be read; empty fields could not be."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class _Field(msgspec.Struct, frozen=True):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class LineTooLong(VschedError):
    """A line of a watch that is longer than any API object."""


class LineSplitter:
    """Cuts chunks of any length into lines; an unfinished line is kept for the next chunk."""

    __slots__ = ("_limit", "_parts", "_size")

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in ``chunk``, without their newlines and without empty lines."""
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if lines and self._parts:
            self._grow(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if tail:
            self._grow(tail)
        return [line for line in lines if line]

    def _grow(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            raise LineTooLong(words.line_is_longer(self._limit))
        self._parts.append(part)


_decode_page = msgspec.json.Decoder(Page).decode
_decode_event = msgspec.json.Decoder(WatchEvent).decode
_decode_field = msgspec.json.Decoder(_Field).decode
_decode_version = msgspec.json.Decoder(_Version).decode
_decode_loose = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def decode_page(data: bytes) -> Page:
    """Decode a page of a list; raises one of UNREADABLE. Errors inside an object are left to its own decoder."""
    return _patiently(_decode_page, data)


def decode_event(data: bytes) -> WatchEvent:
    """Decode a line of a watch; raises one of UNREADABLE."""
    return _patiently(_decode_event, data)


def _patiently(decode: Callable[[bytes], T], data: bytes) -> T:
    try:
        return decode(data)
    except UNREADABLE:
        return decode(mended(data))


def version_of(raw: bytes) -> str:
    """The resourceVersion of an object; empty if it cannot be read."""
    try:
        return _decode_version(_patiently(_decode_field, raw).metadata).resource_version
    except UNREADABLE:
        return ""


def identity_of(raw: bytes) -> Identity:
    """The identity of an object, read field by field, so that one bad field does not hide the others."""
    try:
        metadata = _decode_loose(_patiently(_decode_field, raw).metadata)
    except UNREADABLE:
        return Identity()
    fields = ("namespace", "name", "uid", "resourceVersion")
    return Identity(*(_text(metadata.get(field)) for field in fields))


def _text(raw: msgspec.Raw | None) -> str:
    try:
        return "" if raw is None else _decode_text(raw)
    except UNREADABLE:
        return ""
