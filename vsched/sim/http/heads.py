"""The beginnings of answers."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from wsgiref.handlers import format_date_time

from vsched.clock import now

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_BREAKS = frozenset("\r\n\0")

Fields = tuple[tuple[str, str], ...]
"""Header fields: names and values."""


def head_of(code: int, fields: Fields) -> bytes:
    """The status line and these headers, without the end of the head. Raises ValueError for a line break in them."""
    lines = [f"HTTP/1.1 {code} {_PHRASES.get(code, 'Unknown')}"]
    for name, value in fields:
        if not _BREAKS.isdisjoint(name) or not _BREAKS.isdisjoint(value):
            raise ValueError(f"the header {name!a} has a line break")
        lines.append(f"{name}: {value}")
    return "\r\n".join((*lines, "")).encode("utf-8", "surrogateescape")


def date_line() -> bytes:
    """The header with the present second."""
    return _date_of(int(now()))


@lru_cache(maxsize=2)
def _date_of(second: int) -> bytes:
    return f"Date: {format_date_time(second)}\r\n".encode()
