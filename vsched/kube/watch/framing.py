"""Lists and watches taken apart without building anything of the objects in them: each stays raw bytes.

What an object means is decided by whoever decodes it; here it has at most a name and a version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec

from vsched.errors import UNREADABLE, VschedError
from vsched.kube.watch.mending import mended

T = TypeVar("T")


class PageMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """What a page of a list says of itself."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
    """Objects on the pages that follow, where the server says so."""


class Page(msgspec.Struct, frozen=True):
    """One page of a list."""

    metadata: PageMetadata
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class Identity(NamedTuple):
    """Which object it is, as far as that can be read."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class _Field(msgspec.Struct, frozen=True):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class LineTooLong(VschedError):
    """A line of a watch that no API object could fill."""


class LineSplitter:
    """Cuts chunks of any length into lines; what has no end yet waits for the next chunk."""

    __slots__ = ("_limit", "_parts", "_size")

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in ``chunk``, without their ends; empty ones are left out."""
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
            raise LineTooLong(f"a line of the watch is longer than {self._limit} bytes")
        self._parts.append(part)


_decode_page = msgspec.json.Decoder(Page).decode
_decode_event = msgspec.json.Decoder(WatchEvent).decode
_decode_field = msgspec.json.Decoder(_Field).decode
_decode_version = msgspec.json.Decoder(_Version).decode
_decode_loose = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def decode_page(data: bytes) -> Page:
    """A page of a list; raises one of UNREADABLE. What is wrong within one object is for its decoder to find."""
    return _patiently(_decode_page, data)


def decode_event(data: bytes) -> WatchEvent:
    """A line of a watch, likewise."""
    return _patiently(_decode_event, data)


def _patiently(decode: Callable[[bytes], T], data: bytes) -> T:
    try:
        return decode(data)
    except UNREADABLE:
        return decode(mended(data))


def version_of(raw: bytes) -> str:
    """The resourceVersion of an object; empty where there is none to be read."""
    try:
        return _decode_version(_patiently(_decode_field, raw).metadata).resource_version
    except UNREADABLE:
        return ""


def identity_of(raw: bytes) -> Identity:
    """Who an object is, read field by field, so that one that is wrong does not hide the others."""
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
