"""The annotation that names the domain of a job: written where it differs, and again only where it does not show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from tests.support.recording_server import RecordingServer, Reply, recording, writer_to
from tests.support.small import SmallCluster
from tests.support.waiting import until
from vsched.clock import FakeClock
from vsched.model.plan import JobOutcome
from vsched.model.snapshot import Snapshot
from vsched.writes.limits import Attempts
from vsched.writes.status.domains import ALLOCATED_HYPERNODE, DomainSettings, JobDomains

QUICK = DomainSettings(grace_seconds=0.01, retry_seconds=0.01, attempts=Attempts(1))
R1 = JobOutcome("ns/g", "default", "Running", 2, 2, 0, 2, 0, 0, domain="r1", tier=1)


@dataclass
class Bench:
    server: RecordingServer
    domains: JobDomains
    clock: FakeClock

    def written(self) -> list[tuple[str, str]]:
        found = ((sent.path, sent.body["metadata"]["annotations"]) for sent in self.server.of("podgroups"))
        return [(path.rpartition("/")[2], annotations[ALLOCATED_HYPERNODE]) for path, annotations in found]


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    async with recording() as (server, client):
        clock = FakeClock()
        domains = JobDomains(writer_to(client), QUICK, clock)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(domains.workqueue.run())
            yield Bench(server, domains, clock)
            task.cancel()


def snapshot(shown: str = "", **fields: Any) -> Snapshot:
    cluster = SmallCluster().node("n1")
    job = cluster.job("g", 2)
    annotations = ((ALLOCATED_HYPERNODE, shown),) if shown else ()
    job.spec = msgspec.structs.replace(job.spec, annotations=annotations, **fields)
    return cluster.snapshot()


async def test_the_domain_is_written_once_and_again_when_it_changes() -> None:
    async with bench() as at:
        for _ in range(3):
            at.domains.submit(snapshot(), R1)
        await until(lambda: at.written() == [("g", "r1")])
        at.domains.submit(snapshot(), R1)
        at.domains.submit(snapshot("r1"), msgspec.structs.replace(R1, domain="b1", tier=2))
        await until(lambda: at.written() == [("g", "r1"), ("g", "b1")])


async def test_a_domain_that_does_not_show_is_written_again_after_a_while() -> None:
    async with bench() as at:
        at.domains.submit(snapshot(), R1)
        await until(lambda: len(at.written()) == 1)
        at.clock.advance(QUICK.repeat_seconds)
        at.domains.submit(snapshot(), R1)
        await until(lambda: len(at.written()) == 2)


async def test_a_write_that_fails_is_repeated() -> None:
    async with bench() as at:
        at.server.reply = lambda sent: Reply(500) if len(at.server.sent) < 3 else Reply()
        at.domains.submit(snapshot(), R1)
        await until(lambda: at.written() == [("g", "r1")] * 3)


async def test_a_write_that_fails_is_not_repeated_once_the_job_has_moved() -> None:
    async with bench() as at:
        at.server.open.clear()
        at.server.reply = lambda sent: Reply(500) if len(at.server.sent) < 2 else Reply()
        at.domains.submit(snapshot(), R1)
        await until(lambda: at.server.in_flight == 1)
        at.domains.submit(snapshot(), msgspec.structs.replace(R1, domain="b1", tier=2))
        at.server.open.set()
        await until(lambda: at.written() == [("g", "r1"), ("g", "b1")])
        await until(lambda: not at.domains.workqueue.busy)
        assert at.written() == [("g", "r1"), ("g", "b1")]


async def test_what_is_gone_is_not_asked_for_again() -> None:
    async with bench() as at:
        at.server.reply = lambda sent: Reply(404)
        at.domains.submit(snapshot(), R1)
        await until(lambda: len(at.written()) == 1)
        await until(lambda: not len(at.domains.workqueue))


@pytest.mark.parametrize(
    ("shown", "fields", "outcome"),
    [
        pytest.param("r1", {}, R1, id="it shows already"),
        pytest.param("", {"implicit": True}, R1, id="there is no PodGroup"),
        pytest.param("r1", {}, msgspec.structs.replace(R1, domain="", tier=None), id="no pod has a node any more"),
    ],
)
async def test_nothing_is_written(shown: str, fields: dict[str, Any], outcome: JobOutcome) -> None:
    async with bench() as at:
        at.domains.submit(snapshot(shown, **fields), outcome)
        assert len(at.domains.workqueue) == 0


async def test_a_job_that_is_gone_is_forgotten() -> None:
    async with bench() as at:
        at.server.open.clear()
        at.domains.submit(snapshot(), R1)
        at.domains.forget("ns/g")
        assert len(at.domains.workqueue) == 0
        at.server.open.set()
