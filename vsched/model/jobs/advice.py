"""Advice for a waiting job: a change that would let it start. It is shown after the job's reason while that holds."""

from __future__ import annotations

import re

import msgspec

from vsched.model import words

WOULD_START = words.WOULD_START
"""The text between a headline (the reason) and the advice."""

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Advice(msgspec.Struct, frozen=True):
    """The smallest change found that lets a job start, and the reason it is for."""

    about: str
    """The headline at that time: with other figures, another change may be needed."""
    sentence: str
    """The change, such as ``2 more nvidia.com/gpu in queue research``."""


def about(headline: str) -> str:
    """A headline without its numbers; equal results mean the same reason."""
    return _NUMBER.sub("#", headline)


def advised(headline: str, advice: Advice | None) -> str:
    """The headline, followed by the advice if the advice is for this reason."""
    if advice is None or not headline or advice.about != headline:
        return headline
    return f"{headline}{WOULD_START}{advice.sentence}"


def headline_of(message: str) -> str:
    """The headline of a message, without advice."""
    return message.partition(WOULD_START)[0]


def is_overtaken(old: str, new: str) -> bool:
    """Whether an old message gives another reason than the new one, numbers aside, or advice that no longer holds."""
    return about(headline_of(old)) != about(headline_of(new)) or (WOULD_START in old and new != old)
