"""What only tells something lets bindings go first: for a while, and nothing that others act upon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.small import SmallCluster
from tests.support.waiting import until
from tests.writes.writing_back import QUICK, bench, outcome, verdict, world
from vsched.model.plan import Bind, QueueOutcome
from vsched.model.queues.queue import Queue
from vsched.writes.precedence import Precedence
from vsched.writes.status.podgroups import JobStatusSettings
from vsched.writes.workqueue import AT_ONCE, Workqueue, WorkqueueSettings
from vsched.writes.writeback import WritebackSettings


class Written:
    """What a workqueue wrote, with the time of its loop; and what has precedence."""

    def __init__(self) -> None:
        self.at: list[tuple[float, str, int]] = []
        self.precedence = Precedence(2.0)
        self.taken = True
        self.precedence.give(lambda: self.taken)

    async def __call__(self, key: str, value: int) -> None:
        self.at.append((round(asyncio.get_running_loop().time(), 6), key, value))

    def over(self) -> None:
        self.taken = False
        self.precedence.over()


@asynccontextmanager
async def queue_of(written: Written, workers: int = 2) -> AsyncIterator[Workqueue[str, int]]:
    clock = asyncio.get_running_loop().time
    settings = WorkqueueSettings(workers, per_second=1e6, burst=1e6)
    workqueue: Workqueue[str, int] = Workqueue(settings, written, clock, written.precedence)
    task = asyncio.create_task(workqueue.run())
    try:
        yield workqueue
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def test_a_value_that_yields_is_written_as_soon_as_nothing_has_precedence() -> None:
    written = Written()
    async with queue_of(written) as workqueue:
        workqueue.put("tells", 1, yields=True)
        workqueue.put("waited for", 1)
        await asyncio.sleep(0.5)
        assert written.at == [(0.0, "waited for", 1)]
        written.over()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert written.at[1:] == [(0.5, "tells", 1)]


async def test_what_does_not_yield_is_not_kept_waiting_by_many_that_do() -> None:
    written = Written()
    count = 3 * AT_ONCE + 1
    async with queue_of(written, workers=1) as workqueue:
        for number in range(count):
            workqueue.put(f"tells {number}", number, 0.25, yields=True)
        workqueue.put("waited for", 1, 0.5)
        for number in range(AT_ONCE):
            workqueue.discard(f"tells {number}")
        await asyncio.sleep(1.0)
        assert written.at == [(0.5, "waited for", 1)]
        written.over()
        await asyncio.sleep(1.0)
        assert [value for _, _, value in written.at[1:]] == list(range(AT_ONCE, count))


async def test_without_anything_that_has_precedence_nothing_waits() -> None:
    written = Written()
    written.taken = False
    async with queue_of(written) as workqueue:
        workqueue.put("tells", 1, 0.25, yields=True)
        await asyncio.sleep(1.0)
        assert written.at == [(0.25, "tells", 1)]


async def test_a_value_yields_for_so_long_and_no_longer_and_the_first_one_that_was_due_goes_first() -> None:
    written = Written()
    async with queue_of(written, workers=1) as workqueue:
        workqueue.put("second", 1, 0.5, yields=True)
        workqueue.put("first", 1, 0.25, yields=True)
        await asyncio.sleep(10.0)
        assert written.at == [(2.25, "first", 1), (2.5, "second", 1)]


async def test_what_changes_while_it_yields_is_written_once_and_is_not_put_off() -> None:
    written = Written()
    async with queue_of(written) as workqueue:
        for value in range(5):
            workqueue.put("a", value, yields=True)
            await asyncio.sleep(0.5)
        assert written.at == [(2.0, "a", 3)]


async def test_news_that_somebody_waits_for_hurries_what_yielded() -> None:
    written = Written()
    async with queue_of(written) as workqueue:
        workqueue.put("a", 1, yields=True)
        await asyncio.sleep(0.5)
        workqueue.put("a", 2, 0.25)
        workqueue.put("a", 3, yields=True)
        await asyncio.sleep(0.25)
        assert written.at == [(0.5, "a", 3)]
        assert not workqueue.busy


async def test_what_was_discarded_while_it_yielded_is_not_written() -> None:
    written = Written()
    async with queue_of(written) as workqueue:
        workqueue.put("a", 1, yields=True)
        await asyncio.sleep(0.5)
        workqueue.discard("a")
        workqueue.put("a", 2, 0.25, yields=True)
        written.over()
        await asyncio.sleep(1.0)
        assert written.at == [(0.75, "a", 2)]


async def test_draining_waits_for_nothing_that_has_precedence() -> None:
    written = Written()
    async with queue_of(written) as workqueue:
        workqueue.put("a", 1, yields=True)
        await asyncio.sleep(0.5)
        assert await workqueue.drain(1.0) == 0
        assert written.at == [(0.5, "a", 1)]


# -- who yields

SLOW_PHASES = WritebackSettings(
    jobs=JobStatusSettings(phase_seconds=0.1, grace_seconds=0.01, attempts=QUICK.jobs.attempts),
    queues=QUICK.queues,
    pods=QUICK.pods,
    events=QUICK.events,
)
"""Phases are due after all else, so that what is written before one did not yield."""


async def test_events_and_statuses_that_nobody_waits_for_yield_and_the_phase_that_admits_a_gang_does_not() -> None:
    cluster = SmallCluster().node("n1")
    cluster.queues["default"] = Queue("default", uid="q1")
    for name in ("placed", "admitted"):
        cluster.job(name, 2, uid=name, phase="Pending")
    queues = {"default": QueueOutcome("default", 1)}
    starts = outcome("Running", key="ns/placed", ready=2, running=1)
    admitted = outcome("Inqueue", key="ns/admitted")
    async with bench(SLOW_PHASES) as test:
        bindings = [True]
        test.writeback.precedence.give(lambda: bool(bindings))
        test.writeback.bound(Bind("uid-0", "ns", "pod-0", "n1", "ns/job"))
        test.submit(cluster.snapshot(), jobs={"ns/placed": starts, "ns/admitted": admitted}, queues=queues)
        await until(lambda: test.server.sent)
        assert [sent.path.rsplit("/", 2)[1] for sent in test.server.sent] == ["admitted"]
        runs = outcome("Running", key="ns/placed", ready=2, running=2)
        test.submit(cluster.snapshot(), jobs={"ns/placed": runs}, queues=queues)
        bindings.clear()
        test.writeback.precedence.over()
        await test.quiet()
        [status] = test.server.of("podgroups/placed")
        assert (status.body["status"]["phase"], status.body["status"]["running"]) == ("Running", 2)
        assert len(test.server.of("queues")) == 1
        assert [event.body["reason"] for event in test.server.of("events")] == ["Scheduled"]


async def test_why_a_pod_waited_is_not_told_any_more_once_it_is_bound() -> None:
    snapshot, job = world()
    said = [verdict(job, number) for number in range(2)]
    async with bench() as test:
        bindings = [True]
        test.writeback.precedence.give(lambda: bool(bindings))
        reasons = {f"ns/g-{number}": one for number, one in enumerate(said)}
        test.submit(snapshot, jobs={"ns/g": outcome(changed=False)}, unschedulable=reasons)
        await until(lambda: len(test.writeback.events.workqueue) == 2)
        test.writeback.bound(Bind(said[0].uid, "ns", "g-0", "n1", "ns/g"))
        bindings.clear()
        test.writeback.precedence.over()
        await test.quiet()
        told = {(event.body["involvedObject"]["name"], event.body["reason"]) for event in test.server.of("events")}
        assert told == {("g-0", "Scheduled"), ("g-1", "FailedScheduling")}
        assert test.writeback.events.dropped == {"FailedScheduling": 1}
