"""What the arbitrator wants of objects, over HTTP: once, over the version it was decided on, and in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.recording_server import RecordingServer, Reply, Sent, recording, writer_to
from tests.support.waiting import until
from vsched.arbitrator.effects import DropAllocation, Effect, MakeConsumer, Remark, WriteAllocation, WriteStatus
from vsched.clock import SystemClock
from vsched.controllers.allocations import AllocationSettings, AllocationWriter
from vsched.kube.auth.connection import Connection
from vsched.kube.backoff import BackOffSettings
from vsched.kube.client import ApiClient
from vsched.model.arbitration.records import (
    AllocationRecord,
    Arbitration,
    ArbitrationCondition,
    Claim,
    NamespaceAccount,
)
from vsched.sim.cluster import Cluster
from vsched.writes.events import EventRecorder, EventSettings
from vsched.writes.limits import Attempts, TokenBucket
from vsched.writes.workqueue import WorkqueueSettings
from vsched.writes.writer import Writer

CONSUMERS = "/apis/kube-arbitrator.incubator.k8s.io/v1/namespaces/a/consumers"
ALLOCATIONS = "/apis/kube-arbitrator.incubator.k8s.io/v1/namespaces/a/allocations"
GROUP, KINDS = "kube-arbitrator.incubator.k8s.io", ("consumers", "allocations")
SPEC = {"deserved": {"cpu": "1"}, "hard": {}, "reserved": {}}
RETRY_SECONDS = 600.0
QUICK = AllocationSettings(
    WorkqueueSettings(workers=4, per_second=1e6, burst=1e6),
    Attempts(1),
    BackOffSettings(first_seconds=RETRY_SECONDS, ceiling_seconds=RETRY_SECONDS),
)
NOBODY = Arbitration({}, {})


def there(*names: str, claim: bool = True, allocation: bool = True) -> Arbitration:
    """Namespaces as the mirror shows them, with their Consumers and Allocations or without."""
    return Arbitration(
        {
            name: NamespaceAccount(
                name,
                claim=Claim(name, "defaults") if claim else None,
                allocations=(AllocationRecord(name, "defaults"),) if allocation else (),
            )
            for name in names
        },
        {},
    )


def allocation(version: str = "7", *, uid: str = "u", spec: Any = SPEC, status: Any = None) -> WriteAllocation:
    return WriteAllocation("a", "defaults", uid, version, spec, status, ("defaults", "u-consumer"))


def overused(status: str = "True", reason: str = "AnotherIsShort") -> dict[str, Any]:
    return {
        "allocated": {"cpu": "2"},
        "conditions": (ArbitrationCondition("Overused", status, reason, "b is short", 1.5),),
    }


@dataclass
class Desk:
    """A writer under test, its server, and what it worried about."""

    server: RecordingServer
    writer: AllocationWriter = field(init=False)
    worries: list[dict[str, Any]] = field(default_factory=list)
    passed_seconds: float = 0.0
    """By how much its clock is ahead."""

    def clock(self) -> float:
        return time.monotonic() + self.passed_seconds

    async def round(self, *effects: Effect, shown: Arbitration = NOBODY) -> list[Sent]:
        """What one round's effects led to on the wire."""
        before = len(self.server.sent)
        self.writer.submit(effects, shown)
        await until(lambda: not self.writer.workqueue.busy)
        return self.server.sent[before:]

    def answers(self, *replies: Reply | None) -> None:
        """The next answers in order; None is 200, as is everything after them."""
        waiting: list[Reply | None] = list(replies)
        self.server.reply = lambda _: (waiting.pop(0) if waiting else None) or Reply()


@asynccontextmanager
async def desk(settings: AllocationSettings = QUICK, permit: Callable[[], bool] = lambda: True) -> AsyncIterator[Desk]:
    async with recording() as (server, client):
        sender = Writer(client, TokenBucket(1e6, 1e6), permit=permit)
        events = EventRecorder(sender, EventSettings(attempts=Attempts(1)), SystemClock())
        at = Desk(server)

        def worry(said: str, **fields: Any) -> None:
            at.worries.append(fields)

        at.writer = AllocationWriter(sender, events, worry, settings, at.clock)
        tasks = [asyncio.create_task(at.writer.run()), asyncio.create_task(events.workqueue.run())]
        try:
            yield at
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def paths(sent: Iterable[Sent]) -> list[tuple[str, str]]:
    return [(each.method, each.path) for each in sent]


# -- what is written


async def test_a_consumer_is_made_without_limits_and_reservations() -> None:
    async with desk() as at:
        (made,) = await at.round(MakeConsumer("a"))
    assert (made.method, made.path) == ("POST", CONSUMERS)
    assert made.body["metadata"]["name"] == "defaults"
    assert made.body["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "vsched"}
    assert made.body["spec"] == {"hard": {}, "reserved": {}}


async def test_a_new_allocation_belongs_to_its_consumer_and_gets_its_status_after_its_spec() -> None:
    async with desk() as at:
        made, told = await at.round(allocation("", uid="", status=overused()))
    assert paths([made, told]) == [("POST", ALLOCATIONS), ("PATCH", f"{ALLOCATIONS}/defaults/status")]
    (owner,) = made.body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Consumer", "defaults", "u-consumer")
    assert made.body["spec"] == SPEC
    version, status = operations(told)
    assert version["value"] == "77", "the version that the server gave the new object"
    assert status["value"]["allocated"] == {"cpu": "2"}
    assert status["value"]["conditions"] == [
        {
            "type": "Overused",
            "status": "True",
            "reason": "AnotherIsShort",
            "message": "b is short",
            "lastTransitionTime": "1970-01-01T00:00:01.500Z",
        }
    ]


def operations(sent: Sent) -> list[dict[str, Any]]:
    patch: Any = sent.body
    assert isinstance(patch, list)
    return patch


async def test_a_spec_replaces_what_stands_over_the_version_it_was_decided_on() -> None:
    async with desk() as at:
        (patched,) = await at.round(allocation("7"))
    assert paths([patched]) == [("PATCH", f"{ALLOCATIONS}/defaults")]
    assert operations(patched) == [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/spec", "value": SPEC},
    ]


async def test_an_allocation_is_deleted_by_its_uid() -> None:
    async with desk() as at:
        (deleted,) = await at.round(DropAllocation("a", "old", "u-old"))
    assert paths([deleted]) == [("DELETE", f"{ALLOCATIONS}/old")]
    assert deleted.body["preconditions"] == {"uid": "u-old"}


async def test_conditions_are_about_the_generation_that_their_status_has_seen() -> None:
    status = {"observedGeneration": 3, "conditions": (ArbitrationCondition("Accepted", "True", "Valid", "", 0.0),)}
    async with desk() as at:
        consumer, bucket = await at.round(
            WriteStatus("Consumer", "a", "defaults", "u", "1", status), WriteStatus("Bucket", "", "b", "u", "2", status)
        )
    assert {consumer.path, bucket.path} == {
        f"{CONSUMERS}/defaults/status",
        "/apis/kube-arbitrator.incubator.k8s.io/v1/buckets/b/status",
    }
    for sent in (consumer, bucket):
        value = operations(sent)[1]["value"]
        assert value["observedGeneration"] == value["conditions"][0]["observedGeneration"] == 3


async def test_an_api_server_takes_every_write_as_it_is_meant() -> None:
    async with Cluster() as cluster, ApiClient(Connection(cluster.url)) as client:
        sender, worries = writer_to(client), list[Any]()
        events = EventRecorder(sender, EventSettings(), SystemClock())
        writer = AllocationWriter(sender, events, lambda said, **fields: worries.append(fields))

        async def carried_out(*effects: Effect) -> tuple[Any, Any]:
            writer.submit(effects, NOBODY)
            await until(lambda: not writer.workqueue.busy)
            assert not worries
            return tuple(cluster.client.get(f"{GROUP}/{kind}", "default", "defaults") for kind in KINDS)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(writer.run())
            consumer, _ = await carried_out(MakeConsumer("default"))
            uid = consumer["metadata"]["uid"]
            new = WriteAllocation("default", "defaults", "", "", SPEC, overused(), ("defaults", uid))
            _, made = await carried_out(new)
            assert (made["spec"], made["status"]["allocated"]) == (SPEC, {"cpu": "2"})
            assert made["status"]["conditions"][0]["lastTransitionTime"] == "1970-01-01T00:00:01.500Z"

            now = {"deserved": {"memory": "1Gi"}, "hard": {}, "reserved": {}}
            change = replace(new, uid=made["metadata"]["uid"], version=made["metadata"]["resourceVersion"], spec=now)
            _, changed = await carried_out(replace(change, status={"allocated": {"pods": "3"}}))
            assert changed["spec"]["deserved"] == {"memory": "1Gi"}, "cpu is not deserved any more"
            assert changed["status"] == {"allocated": {"pods": "3"}}

            outdated = replace(change, version=consumer["metadata"]["resourceVersion"])
            _, unchanged = await carried_out(outdated)
            assert unchanged == changed

            _, still_there = await carried_out(DropAllocation("default", "defaults", uid))
            assert still_there == changed, "another uid, another object"
            _, gone = await carried_out(DropAllocation("default", "defaults", made["metadata"]["uid"]))
            assert gone is None
            task.cancel()


# -- once


async def test_a_round_that_sees_the_old_version_still_writes_nothing_twice() -> None:
    async with desk() as at:
        first = await at.round(allocation("7", status=overused()))
        again = await at.round(allocation("7", status=overused()), MakeConsumer("b"))
        newer = await at.round(allocation("8", status=overused()))
    assert len(first) == len(newer) == 2
    assert [sent.method for sent in again] == ["POST"], "only what is new"


async def test_what_was_made_is_not_made_again_before_the_mirror_shows_it_and_again_when_it_is_gone() -> None:
    make = (MakeConsumer("a"), allocation("", uid=""))
    nothing_yet = there("a", claim=False, allocation=False)
    async with desk() as at:
        assert len(await at.round(*make, shown=nothing_yet)) == 2
        assert await at.round(*make, shown=nothing_yet) == []
        assert await at.round(shown=there("a")) == []
        assert len(await at.round(*make, shown=nothing_yet)) == 2


async def test_a_write_that_the_mirror_never_shows_is_repeated_in_time() -> None:
    async with desk(replace(QUICK, unseen_seconds=600.0)) as at:
        await at.round(MakeConsumer("a"))
        at.passed_seconds += 601.0
        assert len(await at.round(MakeConsumer("a"))) == 1


async def test_of_rounds_during_a_write_only_the_last_is_written_after_it() -> None:
    async with desk() as at:
        at.server.open.clear()
        at.writer.submit([allocation("7")], NOBODY)
        await until(lambda: at.server.in_flight)
        for version in ("7", "8", "9"):
            at.writer.submit([allocation(version)], NOBODY)
        at.server.open.set()
        await until(lambda: not at.writer.workqueue.busy)
        assert [operations(sent)[0]["value"] for sent in at.server.sent] == ["7", "9"]


async def test_an_event_is_recorded_once_for_all_rounds_that_see_the_same_version() -> None:
    remark = Remark("Allocation", "a", "defaults", "u", True, "Overused", "b is short")
    async with desk() as at:
        for version in ("7", "7", "7", "9"):
            at.writer.submit([allocation(version, spec=None, status=overused()), remark], NOBODY)
            await until(lambda: not at.writer.workqueue.busy)
        await until(lambda: at.server.of("events"))
        (event,) = at.server.of("events")
        assert event.body["involvedObject"]["kind"] == "Allocation"
        assert (event.body["type"], event.body["reason"], event.body["message"]) == (
            "Warning",
            "Overused",
            "b is short",
        )
        await at.writer._events.workqueue.drain(2.0)
        counts = [sent.body.get("count") for sent in at.server.of("events")]
        assert counts == [1, 2], "the second transition is the same Event once more"


# -- what goes wrong


@pytest.mark.parametrize(
    ("effect", "reply"),
    [
        pytest.param(allocation("7", status=overused()), Reply(409), id="a spec over a newer version: no status"),
        pytest.param(allocation("7", spec=None, status=overused()), Reply(404), id="a status of what is gone"),
        pytest.param(allocation("", uid=""), Reply(409), id="an Allocation that is there already"),
        pytest.param(MakeConsumer("a"), Reply(409), id="a Consumer that is there already"),
        pytest.param(MakeConsumer("a"), Reply(404), id="a Consumer of a namespace that is gone"),
        pytest.param(MakeConsumer("a"), Reply(403, cause="NamespaceTerminating"), id="of one that is going"),
        pytest.param(DropAllocation("a", "x", "u"), Reply(404), id="an Allocation that went by itself"),
        pytest.param(DropAllocation("a", "x", "u"), Reply(409), id="or has become another"),
    ],
)
async def test_old_news_is_dropped_without_a_word_until_the_mirror_knows_better(effect: Effect, reply: Reply) -> None:
    async with desk() as at:
        at.answers(reply)
        bare = there("a", claim=False, allocation=False)
        assert len(await at.round(effect, shown=bare)) == 1
        assert await at.round(effect, shown=bare) == []
        assert at.worries == []


async def test_a_write_that_fails_is_told_once_and_tried_again_later() -> None:
    async with desk() as at:
        at.answers(Reply(422, "spec.deserved: too odd"), Reply(422, "spec.deserved: too odd"))
        assert len(await at.round(allocation("7"))) == 1
        assert await at.round(allocation("7")) == [], "it is left alone for a while"
        at.passed_seconds += RETRY_SECONDS
        assert len(await at.round(allocation("7"))) == 1
        at.passed_seconds += RETRY_SECONDS
        assert len(await at.round(allocation("7"))) == 1
        assert await at.round(allocation("7")) == []
    (worry,) = at.worries
    assert worry == {"kind": "Allocation", "name": "a/defaults", "code": 422, "problem": "spec.deserved: too odd"}


async def test_an_allocation_whose_status_failed_after_it_was_made_gets_it_in_a_later_round() -> None:
    async with desk() as at:
        at.answers(None, Reply(500))
        assert len(await at.round(allocation("", uid="", status=overused()))) == 2
        at.passed_seconds += RETRY_SECONDS
        (told,) = await at.round(allocation("77", spec=None, status=overused()), shown=there("a"))
        assert told.path.endswith("/status")


async def test_an_answer_that_never_came_is_asked_for_again() -> None:
    async with desk(replace(QUICK, attempts=Attempts(2, first_seconds=0.01))) as at:
        at.answers(Reply(0), Reply(409))
        assert len(await at.round(MakeConsumer("a"))) == 2, "the first had made it after all"
        assert at.worries == []


async def test_who_may_not_write_writes_nothing_and_is_not_worried() -> None:
    async with desk(permit=lambda: False) as at:
        assert await at.round(MakeConsumer("a"), allocation("7", status=overused())) == []
        assert at.worries == []


async def test_many_writes_keep_to_a_rate() -> None:
    slow = replace(QUICK, workqueue=WorkqueueSettings(workers=4, per_second=20.0, burst=3.0))
    async with desk(slow) as at:
        at.writer.submit([MakeConsumer(f"n{number}") for number in range(50)], NOBODY)
        await until(lambda: len(at.server.sent) >= 3)
        assert len(at.server.sent) < 25
        assert await at.writer.drain(5.0) == 0, "all of them when the daemon ends"
        assert len(at.server.sent) == 50
