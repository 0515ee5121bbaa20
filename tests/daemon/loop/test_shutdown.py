"""How a daemon ends: what was decided is carried out while there is time, and nothing is on the wire after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from tests.support.recording_server import RecordingServer, recording, writer_to
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.daemon.loop.shutdown import TELLING_SECONDS, Unfinished, wind_down
from vsched.model.plan import Bind, Evict
from vsched.writes.bindings import BindOutcome, Dispatcher, DispatchSettings, Outcome
from vsched.writes.evictions import EvictionSettings, Evictor


class SessionParts(NamedTuple):
    """What is wound down, and the server it reaches."""

    server: RecordingServer
    dispatcher: Dispatcher
    evictor: Evictor
    outcomes: list[Outcome]

    async def end(self, seconds: float, longest_seconds: float) -> tuple[Unfinished, list[float]]:
        """What is left, and how much time those had who tell of it."""
        had: list[float] = []

        async def tell(left_seconds: float) -> int:
            had.append(left_seconds)
            return 1

        sessions = asyncio.create_task(asyncio.sleep(0))
        return await wind_down(sessions, self.dispatcher, self.evictor, [tell], seconds, longest_seconds), had


@asynccontextmanager
async def parts() -> AsyncIterator[SessionParts]:
    outcomes: list[Outcome] = []
    async with recording() as (server, client):
        writer = writer_to(client)
        dispatcher = Dispatcher(client, writer, outcomes.append, DispatchSettings(max_in_flight=2))
        evictor = Evictor(writer, lambda outcome: None, EvictionSettings(), FakeClock())
        tasks = [asyncio.create_task(dispatcher.run()), asyncio.create_task(evictor.run())]
        try:
            yield SessionParts(server, dispatcher, evictor, outcomes)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


def binds(count: int) -> list[Bind]:
    return [Bind(f"uid-{number}", "ns", f"p-{number}", "n1", "ns/g") for number in range(count)]


def verdicts(outcomes: list[Outcome]) -> dict[BindOutcome, int]:
    found = [outcome.verdict for outcome in outcomes]
    return {verdict: found.count(verdict) for verdict in set(found)}


async def test_gangs_with_claims_hand_over_their_placements_before_bindings_end() -> None:
    async with parts() as found:

        async def hand_over(left_seconds: float) -> int:
            found.dispatcher.submit(binds(3))
            return 2

        sessions = asyncio.create_task(asyncio.sleep(0))
        left = await wind_down(sessions, found.dispatcher, found.evictor, [], 5.0, 5.0, hand_over)
        assert verdicts(found.outcomes) == {BindOutcome.BOUND: 3}
        assert left == Unfinished(2, 0)


async def test_what_was_decided_is_carried_out_first() -> None:
    async with parts() as found:
        found.dispatcher.submit(binds(20))
        found.evictor.submit([Evict("uid-v", "ns", "v", "n2", "ns/low", "preempt", "ns/g")])
        left, had = await found.end(5.0, 5.0)
        assert verdicts(found.outcomes) == {BindOutcome.BOUND: 20}
        assert len(found.server.of("/eviction")) == 1
        assert left == Unfinished(writes=1, bindings=0)
        assert had[0] > 1.0


async def test_what_was_not_sent_in_time_is_dropped_and_what_is_on_the_wire_waited_for() -> None:
    async with parts() as found:
        found.server.open.clear()
        found.dispatcher.submit(binds(20))
        await until(lambda: found.server.in_flight == 2)
        ending = asyncio.create_task(found.end(0.05, 5.0))
        await until(lambda: verdicts(found.outcomes) == {BindOutcome.DROPPED: 18})
        assert not ending.done()
        found.server.open.set()
        left, had = await ending
        assert verdicts(found.outcomes) == {BindOutcome.DROPPED: 18, BindOutcome.BOUND: 2}
        assert left.bindings == 0
        assert had == [0.05], f"{TELLING_SECONDS} s, but no more than there is for everything"


async def test_bindings_that_nobody_answers_are_left_on_the_wire() -> None:
    async with parts() as found:
        found.server.open.clear()
        found.dispatcher.submit(binds(1))
        await until(lambda: found.server.in_flight == 1)
        left, _ = await found.end(0.02, 0.05)
        assert left.bindings == 1
        found.server.open.set()


async def test_a_daemon_that_has_nothing_to_do_ends_at_once() -> None:
    async with parts() as found:
        left, had = await asyncio.wait_for(found.end(300.0, 600.0), 60.0)
        assert left == Unfinished(writes=1, bindings=0)
        assert had[0] > 20.0
