"""Builds shell command lines from quoted words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*(:(composite\.)?scheduling\.k8s\.io)?")
"""The form of names, label keys and values, and job keys: never an option or a special word for a shell or kubectl.

Keys of native PodGroups end in their API group.
"""


def line(*words: str) -> str:
    """One command line of these words, each quoted for the shell."""
    return shlex.join(words)


def as_json(found: Mapping[str, Any] | Sequence[Any]) -> str:
    """A value as JSON, as one unquoted word for ``line``."""
    return msgspec.json.encode(found).decode()


def is_plain(found: object) -> bool:
    """Whether every string in a value has the form of a Kubernetes name or label value."""
    return all(_NAME.fullmatch(text) for text in _texts(found) if text)


def _texts(found: object) -> Iterator[str]:
    """Every string in a value, also in nested tuples and mappings."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        for pair in found.items():
            yield from _texts(pair)
    elif isinstance(found, tuple):
        for one in found:
            yield from _texts(one)
