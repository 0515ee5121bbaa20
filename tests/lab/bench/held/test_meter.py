"""What holds an event loop: each call is measured in processor time, and those that take long are told with a place."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine

from vsched.lab.bench.held.meter import (
    CALL,
    COLLECTION,
    LONG_SECONDS,
    Collections,
    Meter,
    MeteredLoop,
    Note,
    Watcher,
    most_of,
)

LONG = 3 * LONG_SECONDS
PATIENCE_SECONDS = 60.0


def work(seconds: float = LONG) -> None:
    """Use so much processor time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def looped(main: Callable[[], Coroutine[object, object, None]]) -> list[Note]:
    """What is noted while a program runs on a loop that is measured."""
    notes: list[Note] = []
    meter = Meter(notes.append)
    with asyncio.Runner(loop_factory=lambda: MeteredLoop(meter)) as runner:
        runner.run(main())
    return [note for note in notes if note.seconds >= LONG]


def test_each_step_of_a_task_is_a_call_of_its_own() -> None:
    async def main() -> None:
        for _ in range(3):
            work()
            await asyncio.sleep(0)

    notes = looped(main)
    assert [note.kind for note in notes] == [CALL] * 3
    assert all("main" in note.name for note in notes)


def test_waiting_and_threads_are_not_held_against_the_loop() -> None:
    async def main() -> None:
        await asyncio.sleep(2 * LONG)
        await asyncio.to_thread(work)

    assert looped(main) == []


def test_timers_callbacks_and_what_connections_receive_are_measured() -> None:
    received = asyncio.Event()

    class Receiving(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            work()
            received.set()

    async def main() -> None:
        loop, timed = asyncio.get_running_loop(), asyncio.Event()

        def timer() -> None:
            work()
            timed.set()

        loop.call_later(0.001, timer)
        loop.call_soon(work)
        server = await loop.create_server(Receiving, "127.0.0.1", 0)
        transport, _ = await loop.create_connection(asyncio.Protocol, *server.sockets[0].getsockname())
        transport.write(b"x")
        await received.wait()
        await timed.wait()
        transport.close()
        server.close()

    assert sorted(note.name.rpartition(".")[2] for note in looped(main)) == ["data_received", "timer", "work"]


def test_of_many_looks_the_functions_count_that_were_there_in_more_than_half() -> None:
    meter = Meter(lambda note: None)
    for inner in ("a.py:inner", "a.py:inner", "b.py:other"):
        meter.look(["a.py:outer", inner], 1)
    assert most_of(meter.looks) == ("a.py:outer", "a.py:inner")
    meter.look((), 2)
    assert most_of(meter.looks) == (), "each call is looked at by itself"


def test_a_thread_looks_at_calls_that_take_long() -> None:
    meter = Meter(lambda note: None)
    watcher = Watcher(meter, lambda note: None)

    def long() -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while meter.looks.number != meter.number and time.monotonic() < end:
            work(LONG_SECONDS)

    watcher.start()
    try:
        meter.run(long)
    finally:
        watcher.stop()
    assert meter.looks.number == meter.number


def test_collections_of_garbage_are_noted_with_their_thread() -> None:
    notes: list[Note] = []
    collections = Collections(notes.append)
    gc.callbacks.append(collections)
    try:
        gc.collect(0)
    finally:
        gc.callbacks.remove(collections)
    assert (COLLECTION, "generation 0 in MainThread") in [(note.kind, note.name) for note in notes]
