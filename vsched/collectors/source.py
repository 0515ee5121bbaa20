"""What a source of usage figures is: asked about nodes and periods, it answers with one reading or one error."""

from __future__ import annotations

from collections.abc import Coroutine, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from vsched.errors import Unavailable
from vsched.model.nodes.usage import Reading
from vsched.together import together

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")

MOST_NAMED = 200
"""Strangers that are kept by name."""


class Target(msgspec.Struct, frozen=True):
    """A node as a source has to know it."""

    name: str
    instance: str = ""
    """What the source calls it; empty where that is its name."""
    milli_cpu: int = 0
    """Allocatable, for sources that give amounts."""
    memory: int = 0


class Collected(msgspec.Struct, frozen=True):
    """What came of one round."""

    reading: Reading
    strangers: tuple[str, ...] = ()
    """What the source has figures of and no node is called; the first of them by name."""
    ahead: int = 0
    """Nodes left out because their newest sample is of the future: some clock is wrong."""


class SourceError(Unavailable):
    """A source gave no answer that can be used; the text is one line, without secrets."""

    def __init__(self, text: str, asked_seconds: float | None = None) -> None:
        super().__init__(text)
        self.asked_seconds = asked_seconds
        """How long the source wants to be left alone, where it says."""


class Source(Protocol):
    """A source of usage figures."""

    label: str
    """What it is and where, for people and metrics; without secrets."""

    async def read(self, targets: Sequence[Target], periods: Sequence[str]) -> Collected:
        """One round; raises SourceError. A node the source does not know is absent from the reading."""
        ...

    async def close(self) -> None:
        """Give its connections up; it may be asked again."""
        ...


async def answers_to(questions: Mapping[Key, Coroutine[Any, Any, Answer]]) -> dict[Key, Answer]:
    """The answers to several questions asked at once; the first that fails ends them all. Raises SourceError."""
    return dict(zip(questions, await together(*questions.values()), strict=True))
