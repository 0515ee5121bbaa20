"""Events that say the same in other words: one Event, brought up to date now and then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.recording_server import RecordingServer, Reply, recording, writer_to
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.framework.words.nodes import available
from vsched.model.plan import Unschedulable
from vsched.writes.bodies import ObjectReference, pod_reference
from vsched.writes.events import WARNING, EventRecorder, EventSettings
from vsched.writes.limits import Attempts
from vsched.writes.status.pods import cause_of

POD = pod_reference("ns", "p", "u")


class Bench:
    """A recorder, its server, and a clock that moves when it is told to."""

    def __init__(self, server: RecordingServer, recorder: EventRecorder, clock: FakeClock) -> None:
        self.server = server
        self.clock = clock
        self._recorder = recorder

    async def say(self, message: str, cause: str = "Insufficient cpu", about: ObjectReference = POD) -> None:
        """Say it, and let it be written."""
        self._recorder.record(about, WARNING, "FailedScheduling", message, cause=cause)
        await until(lambda: not self._recorder.workqueue.busy)


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    clock = FakeClock()
    async with recording() as (server, client):
        settings = EventSettings(attempts=Attempts(1), repeat_seconds=0.0, reword_seconds=300.0)
        recorder = EventRecorder(writer_to(client), settings, clock)
        task = asyncio.create_task(recorder.workqueue.run())
        try:
            yield Bench(server, recorder, clock)
        finally:
            task.cancel()
            await asyncio.wait((task,))


async def test_other_words_for_the_same_cause_make_no_other_event() -> None:
    async with bench() as at:
        for count in range(1, 51):
            await at.say(available(count, {"Insufficient cpu": count}))
        [made] = at.server.sent
        assert (made.method, made.body["count"]) == ("POST", 1)
        assert made.body["message"] == available(1, {"Insufficient cpu": 1})


async def test_nothing_is_written_about_an_object_whose_namespace_cannot_stand_in_a_url() -> None:
    async with bench() as at:
        for namespace in (".", "..", "a/b"):
            await at.say("it is left out", about=pod_reference(namespace, "p", "u"))
        assert at.server.sent == []


async def test_after_a_while_it_is_counted_and_says_what_is_so_now() -> None:
    async with bench() as at:
        for _ in range(3):
            await at.say("first")
        at.clock.advance(301)
        await at.say("later")
        await at.say("too soon again")
        made, counted = at.server.sent
        assert counted.method == "PATCH"
        assert counted.path.endswith(made.body["metadata"]["name"])
        assert counted.body["count"] == 4
        assert counted.body["message"] == "later"
        assert "firstTimestamp" not in counted.body
        at.clock.advance(301)
        await at.say("later")
        assert at.server.sent[-1].body["count"] == 6
        assert "message" not in at.server.sent[-1].body


async def test_another_cause_is_another_event_and_the_former_is_remembered() -> None:
    async with bench() as at:
        for cause in ("Insufficient cpu", "Taints", "Insufficient cpu", "Taints"):
            await at.say(f"because of {cause}", cause)
        assert [sent.body["message"] for sent in at.server.sent] == ["because of Insufficient cpu", "because of Taints"]


async def test_one_that_has_expired_is_made_anew() -> None:
    async with bench() as at:
        await at.say("first")
        at.clock.advance(301)
        at.server.reply = lambda sent: Reply(404 if sent.method == "PATCH" else 201)
        await at.say("later")
        assert [sent.method for sent in at.server.sent] == ["POST", "PATCH", "POST"]
        assert at.server.sent[-1].body["message"] == "later"


@pytest.mark.parametrize(
    ("reasons", "cause"),
    [
        pytest.param(
            {"Insufficient cpu": 3, "node(s) were cordoned": 1}, "Insufficient cpu", id="what most nodes have"
        ),
        pytest.param({"b": 2, "a": 2}, "a", id="of several the first by name"),
        pytest.param({}, "Schedulable", id="no node has anything against it"),
    ],
)
def test_the_cause_stays_while_numbers_change(reasons: dict[str, int], cause: str) -> None:
    assert cause_of(Unschedulable("u", "ns", "p", "ns/g", "Schedulable", "…", reasons)) == cause
