"""The random source of the running process: jitter, names and uids are drawn from it alone.

A context may have a source of its own, so that equal seeds give equal draws wherever it runs.
"""

from __future__ import annotations

import secrets
from contextvars import ContextVar
from random import Random, SystemRandom
from uuid import UUID

SOURCE: ContextVar[Random] = ContextVar("random source")
_OWN = Random(SystemRandom().getrandbits(128))


def source() -> Random:
    """The source of this context."""
    return SOURCE.get(_OWN)


def uniform(low: float, high: float) -> float:
    """A number between two."""
    return source().uniform(low, high)


def uid() -> str:
    """A random uid (RFC 9562, version 4)."""
    return str(UUID(int=source().getrandbits(128), version=4))


def hexadecimal(digits: int) -> str:
    """A random number of so many hexadecimal digits."""
    return f"{source().getrandbits(4 * digits):0{digits}x}"


def secret(count: int) -> bytes:
    """So many bytes that nobody can guess, unless the context has a source of its own."""
    found = SOURCE.get(None)
    return secrets.token_bytes(count) if found is None else found.randbytes(count)
