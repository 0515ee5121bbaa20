"""One object for equal names, as long as they are in use.

Not ``sys.intern``: what that knows lives as long as the process (Python 3.12), and names of pods never end.
"""

from __future__ import annotations

from functools import lru_cache

KNOWN_MAX = 4096
"""Names that were asked for last; two objects for one name cost no more than their size."""
LENGTH_MAX = 512
"""Longer ones are no names, and would be kept for nothing."""


def shared(name: str) -> str:
    """The object that was first seen of this name, or the name itself."""
    return _known(name) if len(name) <= LENGTH_MAX else name


@lru_cache(maxsize=KNOWN_MAX)
def _known(name: str) -> str:
    return name
