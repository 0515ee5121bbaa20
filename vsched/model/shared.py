"""Interns names: equal names become one object.

This is not ``sys.intern``: its strings live as long as the process (Python 3.12), and new pod names keep coming.
"""

from __future__ import annotations

from functools import lru_cache

KNOWN_MAX = 16384
"""How many recent names are cached. A name that was dropped may get a second object; that only costs memory."""
LENGTH_MAX = 512
"""The longest name that is interned; longer strings are no valid names."""


def shared(name: str) -> str:
    """The cached object for this name; the name itself where it is new or too long."""
    return _known(name) if len(name) <= LENGTH_MAX else name


@lru_cache(maxsize=KNOWN_MAX)
def _known(name: str) -> str:
    return name
