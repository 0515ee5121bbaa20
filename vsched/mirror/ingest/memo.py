"""Remembers what raw parts of objects were read as, so that equal parts are read once and are one object."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from vsched.api.base import Raw

T = TypeVar("T")

KNOWN_MAX = 4096
"""How many recent parts are remembered by each reader."""
BYTES_MAX = 4096
"""Longer parts are read each time."""


def remembered(read: Callable[[Raw], T]) -> Callable[[Raw], T]:
    """A reader of raw parts that remembers recent results. Errors are not remembered."""

    @lru_cache(maxsize=KNOWN_MAX)
    def of_bytes(data: bytes) -> T:
        return read(Raw(data))

    def reader(raw: Raw) -> T:
        data = bytes(raw)
        return of_bytes(data) if len(data) <= BYTES_MAX else read(raw)

    return reader
