"""Semantic versions in CEL (``semver``): a version is a map with one key that no object of an API has.

Versions are compared by the rules of semver.org; the build part does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vsched.cel import words

_VERSION = "\0version"
_PATTERN = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?\Z"
)
_MOST_CHARS = 256

Order = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def is_version(value: Any) -> bool:
    """Whether a value is a version that ``version`` made."""
    return isinstance(value, Mapping) and _VERSION in value


def version(text: Any, normalise: Any = False) -> Mapping[str, str]:
    """The version of a text; raises ValueError. ``normalise`` also takes ``v1.2`` and leading zeros."""
    if not isinstance(text, str) or not isinstance(normalise, bool):
        raise ValueError(words.NO_OVERLOAD)
    text = _normalised(text) if normalise else text
    order(text)
    return {_VERSION: text.partition("+")[0]}


def is_text_of_version(text: Any, normalise: Any = False) -> bool:
    """``isSemver``."""
    try:
        version(text, normalise)
    except ValueError as error:
        if str(error) == words.NO_OVERLOAD:
            raise
        return False
    return True


def compared(left: Any, right: Any) -> int:
    """-1, 0 or 1."""
    one, other = order(_text(left)), order(_text(right))
    return (one > other) - (one < other)


def part(number: int, value: Any) -> int:
    """``major``, ``minor`` or ``patch``."""
    found = order(_text(value))[number]
    assert isinstance(found, int)
    return found


@lru_cache(maxsize=4096)
def order(text: str) -> Order:
    """The key that sorts versions; raises ValueError for a text that is none."""
    match = _PATTERN.match(text) if len(text) <= _MOST_CHARS else None
    if match is None:
        raise ValueError(words.no_version(text[:_MOST_CHARS]))
    before = tuple(
        (False, int(each), "") if each.isdigit() else (True, 0, each) for each in (match[4] or "").split(".") if each
    )
    return int(match[1]), int(match[2]), int(match[3]), not before, before


def _text(value: Any) -> str:
    if not is_version(value):
        raise ValueError(words.NO_OVERLOAD)
    return str(value[_VERSION])


def _normalised(text: str) -> str:
    numbers, mark, rest = re.sub(r"\Av", "", text).partition("-")
    if not mark:
        numbers, mark, rest = numbers.partition("+")
    parts = [each.lstrip("0") or "0" if each.isdigit() else each for each in numbers.split(".")]
    return ".".join(parts + ["0"] * (3 - len(parts))) + mark + rest
