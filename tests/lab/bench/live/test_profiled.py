"""The profile: to which part of the package a look at a thread counts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vsched.lab.bench.live.profiled import REST, Profiler, activity_of, place_of
from vsched.lab.bench.words import live as words
from vsched.lab.outcomes import spread_ms


def test_a_call_counts_for_the_function_of_the_package_that_made_it() -> None:
    seen: list[tuple[str, str]] = []

    def seconds() -> Iterator[float]:
        seen.append(place_of(sys._getframe()))
        yield 1.0

    spread_ms(seconds())
    assert seen == [("lab", "lab/outcomes.py:spread_ms")]


def test_what_the_event_loop_does_itself_counts_for_it() -> None:
    async def look() -> tuple[str, str]:
        return place_of(sys._getframe())

    with asyncio.Runner() as runner:
        assert runner.run(look()) == (words.EVENT_LOOP, words.EVENT_LOOP)


def test_what_is_outside_of_the_package_is_told_apart() -> None:
    assert place_of(None) == (words.LIBRARIES, words.LIBRARIES)


@pytest.mark.parametrize(
    ("function", "activity"),
    [
        ("kube/watch/framing.py:LineSplitter.feed", words.WATCHES),
        ("mirror/ingest/pods.py:PodReader.read", words.WATCHES),
        ("kube/http/pool.py:Pool.exchange", words.REQUESTS),
        ("mirror/mirror.py:Mirror.snapshot", words.MIRROR),
        ("daemon/observe/telemetry.py:Telemetry.outcome", words.PAGES),
        ("daemon/loop/loop.py:Loop.run", words.DAEMON),
        (words.EVENT_LOOP, words.EVENT_LOOP),
        (words.LIBRARIES, REST),
    ],
)
def test_functions_are_told_by_what_they_are_a_part_of(function: str, activity: str) -> None:
    assert activity_of(function) == activity


def test_shares_are_of_all_looks(tmp_path: Path) -> None:
    profiler = Profiler(tmp_path / "profile.txt")
    profiler.parts.update({"writes": 3, "kube/http": 1})
    profiler.functions.update({"writes/bindings.py:judge": 4})
    profiler.activities.update({"the rest": 4})
    shares = [" 100.0%  the rest", "", "  75.0%  writes", "  25.0%  kube/http", "", " 100.0%  writes/bindings.py:judge"]
    assert profiler.text(0.5) == "\n".join([words.looked_at(0.5, 4), "", *shares, ""])
