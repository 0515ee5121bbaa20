"""Tasks that run as long as a daemon does, as data: their owner starts and ends them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple


class LongLived(NamedTuple):
    """A task that runs as long as the daemon does."""

    name: str
    run: Callable[[], Coroutine[Any, Any, Any]]
    says: str
    acts: bool = False
    """Whether it runs only while this daemon leads."""
    once: bool = False
    """Whether, of several daemons that each lead a shard, only that of the first shard runs it."""
