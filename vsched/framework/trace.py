"""Measures how long the parts of a cycle take, and lets the caller abort a cycle.

The caller provides the timer and the ``checkpoint`` function, because the core uses no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Trace:
    """Sums of seconds by (kind, name). Without a timer it measures nothing and costs nothing."""

    def __init__(
        self,
        timer: Callable[[], float] | None = None,
        *,
        plugins: bool = False,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> None:
        self._timer = timer
        self.checkpoint = checkpoint
        """Called at each try and each choice of a node; it raises to abort a cycle whose result is no longer needed."""
        self.measures_plugins = plugins and timer is not None
        """Whether each call of a plugin is measured too; measuring costs about as much as the calls themselves."""
        self.seconds: dict[tuple[str, str], float] = {}

    @contextmanager
    def span(self, kind: str, name: str) -> Iterator[None]:
        """Measure a block."""
        if self._timer is None:
            yield
            return
        start = self._timer()
        try:
            yield
        finally:
            self._add(kind, name, self._timer() - start)

    def wrap(self, name: str, function: Callable[P, R]) -> Callable[P, R]:
        """The function, measured as the plugin ``name``."""
        timer = self._timer
        if timer is None:
            return function

        @wraps(function)
        def measured(*args: P.args, **kwargs: P.kwargs) -> R:
            start = timer()
            try:
                return function(*args, **kwargs)
            finally:
                self._add("plugin", name, timer() - start)

        return measured

    def spans(self) -> tuple[tuple[str, str, float], ...]:
        """Everything measured, as (kind, name, seconds)."""
        return tuple((kind, name, seconds) for (kind, name), seconds in self.seconds.items())

    def _add(self, kind: str, name: str, seconds: float) -> None:
        key = (kind, name)
        self.seconds[key] = self.seconds.get(key, 0.0) + seconds
