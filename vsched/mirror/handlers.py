"""Functions that want to hear of what the mirror finds out, as informers have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Handlers(Generic[T]):
    """Called with a value, it passes the value on to everybody who asked for it."""

    def __init__(self) -> None:
        self._handlers: list[Callable[[T], None]] = []

    def add(self, handler: Callable[[T], None]) -> None:
        self._handlers.append(handler)

    def __call__(self, value: T) -> None:
        for handler in self._handlers:
            handler(value)
