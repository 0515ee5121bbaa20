"""Names of objects: which there can be, and equal ones as one object.

The latter is not ``sys.intern``: its strings live as long as the process (Python 3.12), and new pod names keep coming.
"""

from __future__ import annotations

import re
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


NAME_LIMIT = 253
"""The longest name of an object, in characters."""
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def is_subdomain(text: str) -> bool:
    """Whether an object of this name can be created: API servers take such names for nearly all kinds."""
    return len(text) <= NAME_LIMIT and _SUBDOMAIN.fullmatch(text) is not None
