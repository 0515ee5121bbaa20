"""The way out for writes: attempts, refusals, and what happens once this process may not write any more."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.support.recording_server import Reply, recording
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.model.plan import Bind, CycleReport, Evict, Nominate
from vsched.writes import words
from vsched.writes.bindings import BindOutcome, Dispatcher, DispatchSettings, Outcome
from vsched.writes.evictions import EvictionOutcome, EvictionSettings, EvictionVerdict, Evictor
from vsched.writes.limits import Attempts, TokenBucket
from vsched.writes.status.nominations import Nominations, NominationSettings
from vsched.writes.writer import NO_ANSWER, NOT_PERMITTED, Write, Writer, WriteResult, may_help, refusal_of

ATTEMPTS = Attempts(4, first_seconds=0.005, ceiling_seconds=0.02)


def write(number: int = 0) -> Write:
    return Write("pod", "PATCH", f"/api/v1/namespaces/ns/pods/pod-{number}", b"{}")


async def test_a_write_without_a_permit_is_not_sent_not_counted_and_not_tried_again() -> None:
    asked, told = [], []

    def permit() -> bool:
        asked.append(1)
        return False

    async with recording() as (server, client):
        writer = Writer(client, TokenBucket(1e6, 1e6), lambda *what: told.append(what), permit)
        answer = await writer.send(write(), ATTEMPTS)
        assert (answer.code, answer.message) == (NOT_PERMITTED, words.NOT_THE_LEADER)
        assert not answer.done
        assert not may_help(answer)
        assert len(asked) == 1
        assert not server.sent
        assert not told


async def test_the_permit_is_asked_for_every_attempt() -> None:
    permits = [True, True, False]
    async with recording() as (server, client):
        server.reply = lambda sent: Reply(503)
        writer = Writer(client, TokenBucket(1e6, 1e6), permit=lambda: permits.pop(0))
        answer = await writer.send(write(), ATTEMPTS)
        assert answer.code == NOT_PERMITTED
        assert len(server.sent) == 2


@pytest.mark.parametrize(
    ("limit_seconds", "sent"), [pytest.param(5.0, 4, id="as often as may be"), pytest.param(0.0, 1, id="no later")]
)
async def test_no_attempt_begins_after_the_limit(limit_seconds: float, sent: int) -> None:
    async with recording() as (server, client):
        server.reply = lambda sent: Reply(500)
        attempts = msgspec.structs.replace(ATTEMPTS, limit_seconds=limit_seconds)
        answer = await Writer(client, TokenBucket(1e6, 1e6)).send(write(), attempts)
        assert (answer.code, answer.attempts, len(server.sent)) == (500, sent, sent)


@pytest.mark.parametrize(
    ("answer", "method", "told"),
    [
        pytest.param(WriteResult(200), "PATCH", "", id="done"),
        pytest.param(WriteResult(500, "webhook away"), "PATCH", "webhook away", id="refused"),
        pytest.param(WriteResult(NO_ANSWER), "PATCH", words.server_answers(0), id="without a word"),
        pytest.param(WriteResult(404, "gone"), "PATCH", "", id="the object is gone"),
        pytest.param(WriteResult(404, "no such kind"), "POST", "no such kind", id="the kind is not served"),
        pytest.param(WriteResult(409, "changed"), "PUT", "", id="the object has changed"),
        pytest.param(WriteResult(NOT_PERMITTED, "not sent"), "POST", "", id="another process leads"),
        pytest.param(
            WriteResult(403, "terminating", causes=("NamespaceTerminating",)), "POST", "", id="its namespace goes"
        ),
    ],
)
def test_what_stands_in_the_way_of_a_write(answer: WriteResult, method: str, told: str) -> None:
    assert refusal_of(answer, method) == told


async def test_the_permit_is_asked_after_every_wait() -> None:
    leads = True
    async with recording() as (server, client):
        writer = Writer(client, TokenBucket(20.0, 1.0), permit=lambda: leads)
        writes = [asyncio.create_task(writer.send(write(number), ATTEMPTS)) for number in range(3)]
        await until(lambda: server.sent)
        leads = False  # while the other two wait for their turn
        answers = [await each for each in writes]
        assert [answer.code for answer in answers] == [200, NOT_PERMITTED, NOT_PERMITTED]
        assert len(server.sent) == 1


async def test_what_waited_to_be_sent_is_dropped_with_an_outcome() -> None:
    bindings: list[Outcome] = []
    evictions: list[EvictionOutcome] = []
    async with recording() as (server, client), asyncio.TaskGroup() as group:
        writer = Writer(client, TokenBucket(1e6, 1e6), permit=lambda: False)
        dispatcher = Dispatcher(client, writer, bindings.append, DispatchSettings(attempts=ATTEMPTS))
        evictor = Evictor(writer, evictions.append, EvictionSettings(attempts=ATTEMPTS), FakeClock())
        running = [group.create_task(dispatcher.run()), group.create_task(evictor.run())]
        dispatcher.submit(Bind(f"uid-{number}", "ns", f"pod-{number}", "n1", "ns/job") for number in range(50))
        evictor.submit([Evict("uid-7", "ns", "pod-7", "n1", "ns/job", "arbitrate", "other/pod")])
        await until(lambda: len(bindings) == 50 and evictions)
        assert {outcome.verdict for outcome in bindings} == {BindOutcome.DROPPED}
        assert [outcome.verdict for outcome in evictions] == [EvictionVerdict.DROPPED]
        assert not dispatcher.busy
        assert not server.sent
        for task in running:
            task.cancel()


async def test_a_nomination_that_may_not_be_written_does_not_hold_up_the_end() -> None:
    told: list[str | None] = []
    async with recording() as (server, client), asyncio.TaskGroup() as group:
        writer = Writer(client, TokenBucket(1e6, 1e6), permit=lambda: False)
        nominations = Nominations(writer, NominationSettings(), lambda which, version: told.append(version))
        nominations.submit(CycleReport(nominations=(Nominate("uid", "ns", "pod", "n1", "ns/job"),)))
        running = group.create_task(nominations.workqueue.run())
        assert await nominations.workqueue.drain(10.0) == 0
        assert told == [None]
        assert not server.sent
        running.cancel()


async def test_refusals_let_the_rest_of_the_process_go_on() -> None:
    turns = 0

    async def go_on() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with recording() as (_, client), asyncio.TaskGroup() as group:
        other = group.create_task(go_on())
        writer = Writer(client, TokenBucket(1e6, 1e6), permit=lambda: False)
        for number in range(20):
            await writer.send(write(number), ATTEMPTS)
        assert turns >= 19
        other.cancel()
