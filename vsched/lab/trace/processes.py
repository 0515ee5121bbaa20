"""Replays in processes of their own that run this program, several at a time; their progress is passed on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from vsched.lab.children import child, scratch
from vsched.lab.trace import words
from vsched.together import together

Document = dict[str, Any]
Say = Callable[[str], None]

LOOK_SECONDS = 1.0


class ReplayProcess(NamedTuple):
    """A process to be run."""

    name: str
    arguments: tuple[str, ...]
    """Of this program; they make it print one JSON document."""


async def side_by_side(replays: Sequence[ReplayProcess], jobs: int, say: Say) -> list[Document]:
    """What each has printed, in this order; at most ``jobs`` run at a time."""
    places = asyncio.Semaphore(jobs)
    async with scratch() as folder, asyncio.TaskGroup() as group:
        # SIGINT from a terminal reaches the whole process group; after SIGTERM we have to end the children.
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        running = [
            group.create_task(_in_a_process(replay, folder / str(number), places, say))
            for number, replay in enumerate(replays)
        ]
        return await together(*running)


async def _in_a_process(replay: ReplayProcess, files: Path, places: asyncio.Semaphore, say: Say) -> Document:
    printed, errors = files.with_suffix(".json"), files.with_suffix(".log")
    async with places, child(words.replay_under(replay.name), replay.arguments, errors, output=printed) as started:
        following = asyncio.create_task(_follow(errors, say))
        await asyncio.sleep(0)  # so that it begins: what is cancelled before that passes nothing on
        try:
            code = await started.process.wait()
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        text = await asyncio.to_thread(printed.read_bytes)
        if code and not text:  # one that says what it found has done its work, whatever it found
            raise started.death()
        document: Document = orjson.loads(text)
        return document


async def _follow(path: Path, say: Say) -> None:
    """Pass on the lines that a process writes to a file."""
    seen = 0
    while True:
        try:
            await asyncio.sleep(LOOK_SECONDS)
        finally:
            seen += _pass_on(path, seen, say)


def _pass_on(path: Path, seen: int, say: Say) -> int:
    """Pass on the lines after the first ``seen``; returns how many there were."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[seen:-1]
    for line in lines:
        say(line)
    return len(lines)
