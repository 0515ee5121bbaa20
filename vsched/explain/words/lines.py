"""Lines of a shell, made of words that are read as they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
"""What names, keys, label values and keys of jobs are made of: never a word that a shell or kubectl takes for more."""


def line(*words: str) -> str:
    """One command of these words."""
    return shlex.join(words)


def as_json(found: Mapping[str, Any] | Sequence[Any]) -> str:
    """A word for a command, to be quoted as others are."""
    return msgspec.json.encode(found).decode()


def is_plain(found: object) -> bool:
    """Whether all texts in it are such as Kubernetes lets in as names and values."""
    return all(_NAME.fullmatch(text) for text in _texts(found) if text)


def _texts(found: object) -> Iterator[str]:
    """Every text in a record's fields."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        for pair in found.items():
            yield from _texts(pair)
    elif isinstance(found, tuple):
        for one in found:
            yield from _texts(one)
