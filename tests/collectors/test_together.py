"""Several questions at once: all answers, or the first failure; and whoever asks can be stopped at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from vsched.clock import SystemClock
from vsched.collectors.poll import Poller, PollSettings
from vsched.collectors.source import CollectedUsage, NodeTarget, SourceError, answers_to


async def answer(number: int, seconds: float = 0.0) -> int:
    await asyncio.sleep(seconds)
    return number


async def failure() -> int:
    raise SourceError("no")


async def reluctant(leaving: asyncio.Event) -> int:
    """A question that takes its time to be given up."""
    try:
        await asyncio.Event().wait()
    finally:
        leaving.set()
        await asyncio.sleep(0.05)
    raise AssertionError("nobody sets this event")


async def test_all_answers_by_their_questions() -> None:
    assert await answers_to({"a": answer(1, 0.01), "b": answer(2)}) == {"a": 1, "b": 2}
    assert await answers_to({}) == {}


async def test_the_first_failure_ends_all() -> None:
    leaving = asyncio.Event()
    with pytest.raises(SourceError, match="no"):
        await answers_to({"a": reluctant(leaving), "b": failure()})
    assert leaving.is_set()


class Reluctant:
    """A source that fails, and takes its time."""

    label = "reluctant"

    def __init__(self) -> None:
        self.leaving = asyncio.Event()

    async def read(self, targets: Sequence[NodeTarget], periods: Sequence[str]) -> CollectedUsage:
        await answers_to({"a": reluctant(self.leaving), "b": failure()})
        raise AssertionError("it has failed")

    async def close(self) -> None:
        """Nothing to close."""


async def test_a_poller_that_is_stopped_while_a_round_fails_stops() -> None:
    source = Reluctant()
    poller = Poller(source, PollSettings(0.01, 5.0), list, ["5m"], SystemClock(), lambda _: None, lambda _: None)
    task = asyncio.create_task(poller.run())
    await source.leaving.wait()
    task.cancel()
    done, _ = await asyncio.wait((task,), timeout=60.0)
    assert done
    assert task.cancelled()
