"""What would let a waiting job start, as found before a cycle: said after the reason it waits for, while that holds."""

from __future__ import annotations

import re

import msgspec

WOULD_START = "; would start with "
"""Between a headline and the change that helps."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Advice(msgspec.Struct, frozen=True):
    """The smallest change that was found for a job, and what it waited for then."""

    about: str
    """The headline of then without its numbers: these may change while the reason stays."""
    sentence: str
    """As ``2 more nvidia.com/gpu in queue research``."""


def about(headline: str) -> str:
    """A headline without its numbers: equal ones tell of one reason."""
    return _NUMBER.sub("#", headline)


def advised(headline: str, advice: Advice | None) -> str:
    """The headline with the advice, where it is the reason that the advice is for."""
    if advice is None or not headline or advice.about != about(headline):
        return headline
    return f"{headline}{WOULD_START}{advice.sentence}"


def headline_of(message: str) -> str:
    """The headline of a message that may have advice after it."""
    return message.partition(WOULD_START)[0]
