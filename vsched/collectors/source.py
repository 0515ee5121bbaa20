"""The interface of a source of usage figures: asked about nodes and periods, it gives one reading or one error."""

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
"""How many unknown names from a source are kept."""


class NodeTarget(msgspec.Struct, frozen=True):
    """A node that a source is asked about."""

    name: str
    instance: str = ""
    """The source's name for the node; empty if it is the node's name."""
    milli_cpu: int = 0
    """Allocatable, for sources that give amounts."""
    memory: int = 0


class CollectedUsage(msgspec.Struct, frozen=True):
    """The result of one round."""

    reading: Reading
    strangers: tuple[str, ...] = ()
    """Names with figures in the source that belong to no node; only the first ones by name."""
    ahead: int = 0
    """Number of nodes left out because their newest sample is in the future: a clock is wrong."""


class SourceError(Unavailable):
    """A source gave no usable answer; the text is one line, without secrets."""

    def __init__(self, text: str, asked_seconds: float | None = None) -> None:
        super().__init__(text)
        self.asked_seconds = asked_seconds
        """How long to wait before the next request, if the source says so."""


class Source(Protocol):
    """A source of usage figures."""

    label: str
    """Its type and address, for messages and metrics; without secrets."""

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        """One round; raises SourceError. A node the source does not know is absent from the reading."""
        ...

    async def close(self) -> None:
        """Close its connections; it can still be used again."""
        ...


async def answers_to(questions: Mapping[Key, Coroutine[Any, Any, Answer]]) -> dict[Key, Answer]:
    """The answers to several concurrent requests; the first failure cancels the others. Raises SourceError."""
    return dict(zip(questions, await together(*questions.values()), strict=True))
