"""Functions that want to hear of what somebody else finds out, as informers have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Handlers(Generic[P]):
    """Called with something, it passes that on to everybody who asked for it."""

    def __init__(self) -> None:
        self._handlers: list[Callable[P, object]] = []

    def add(self, handler: Callable[P, object]) -> None:
        """Have this called from now on, after those that were added before."""
        self._handlers.append(handler)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for handler in self._handlers:
            handler(*args, **kwargs)
