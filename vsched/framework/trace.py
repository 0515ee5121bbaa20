"""Measures how long the parts of a cycle take, and lets the caller abort a cycle.

The caller provides the timer and the ``checkpoint`` function, because the core uses no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, TypeVarTuple, Unpack

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


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

    def timed(self, kind: str, name: str, do: Callable[[Unpack[Ts]], R], *args: *Ts) -> R:
        """Do something, and measure it."""
        timer = self._timer
        if timer is None:
            return do(*args)
        start = timer()
        try:
            return do(*args)
        finally:
            self.add(kind, name, timer() - start)

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
                self.add("plugin", name, timer() - start)

        return measured

    def spans(self) -> tuple[tuple[str, str, float], ...]:
        """Everything measured, as (kind, name, seconds)."""
        return tuple((kind, name, seconds) for (kind, name), seconds in self.seconds.items())

    def add(self, kind: str, name: str, seconds: float) -> None:
        """Add to what was measured."""
        key = (kind, name)
        self.seconds[key] = self.seconds.get(key, 0.0) + seconds
