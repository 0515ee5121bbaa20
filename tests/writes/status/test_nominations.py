"""Writing nominated nodes, over HTTP: the latest wish, once, and again until it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from tests.support.recording_server import RecordingServer, Reply, recording, writer_to
from tests.support.waiting import until
from vsched.model.plan import Bind, CycleReport, Nominate
from vsched.writes.limits import Attempts
from vsched.writes.status.nominations import Nominations, NominationSettings
from vsched.writes.workqueue import WorkqueueSettings

QUICK = NominationSettings(attempts=Attempts(1), repeat_seconds=0.01, repeat_ceiling_seconds=0.02)
Told = list[tuple[str, str | None]]


def nominate(node: str, **fields: bool) -> CycleReport:
    return CycleReport(nominations=(Nominate("uid", "ns", "pod", node, "ns/job", **fields),))


@asynccontextmanager
async def nominating(
    settings: NominationSettings = QUICK,
) -> AsyncIterator[tuple[RecordingServer, Nominations, Told]]:
    told: Told = []
    async with recording() as (server, client):
        nominations = Nominations(
            writer_to(client), settings, lambda which, version: told.append((which.node, version))
        )
        task = asyncio.create_task(nominations.workqueue.run())
        try:
            yield server, nominations, told
        finally:
            task.cancel()
            await asyncio.wait((task,))


def written(server: RecordingServer) -> list[str | None]:
    return [sent.body["status"]["nominatedNodeName"] for sent in server.sent]


@pytest.mark.parametrize(("node", "value"), [("n1", "n1"), ("", None)], ids=["made", "taken back"])
async def test_a_nomination_is_written_for_one_uid_and_its_version_is_told(node: str, value: str | None) -> None:
    async with nominating() as (server, nominations, told):
        nominations.submit(nominate(node))
        await until(lambda: told)
        [sent] = server.sent
        assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/ns/pods/pod/status")
        assert sent.body == {"metadata": {"uid": "uid"}, "status": {"nominatedNodeName": value}}
        assert told == [(node, "77")]


async def test_only_the_latest_wish_is_written() -> None:
    async with nominating() as (server, nominations, told):
        server.open.clear()
        for node in ("n1", "n2", "", "n3"):
            nominations.submit(nominate(node))
            await until(lambda: server.sent)
        server.open.set()
        await until(lambda: not nominations.workqueue.busy)
        assert written(server) == ["n1", "n3"]
        assert told == [("n3", "77")]


async def test_what_waits_for_its_turn_costs_nothing_where_the_pod_is_bound_meanwhile() -> None:
    async with nominating(msgspec.structs.replace(QUICK, workqueue=WorkqueueSettings(1, 1e6, 1e6))) as (
        server,
        nominations,
        told,
    ):
        server.open.clear()
        nominations.submit(CycleReport(nominations=(Nominate("other", "ns", "other", "n1", "ns/job"),)))
        await until(lambda: server.sent)
        nominations.submit(nominate("n1"))
        nominations.submit(CycleReport(binds=(Bind("uid", "ns", "pod", "n1", "ns/job"),)))
        server.open.set()
        await until(lambda: not nominations.workqueue.busy)
        assert len(server.of("/pods/pod/")) == 0
        assert told == [("n1", "77")], "of the other pod"


async def test_what_holds_for_one_cycle_only_is_not_written() -> None:
    async with nominating() as (server, nominations, told):
        nominations.submit(nominate("n1", lasting=False))
        nominations.submit(nominate("n2"))
        await until(lambda: told)
        assert written(server) == ["n2"]


@pytest.mark.parametrize("code", [0, 403, 429, 503], ids=["no answer", "not allowed", "overloaded", "unavailable"])
async def test_a_failed_write_is_repeated(code: int) -> None:
    async with nominating() as (server, nominations, told):
        script = iter([Reply(code), Reply(code), Reply(code), Reply(200)])
        server.reply = lambda sent: next(script)
        nominations.submit(nominate("n1"))
        await until(lambda: told)
        assert written(server) == ["n1"] * 4
        assert told == [("n1", "77")]


@pytest.mark.parametrize("code", [404, 409, 422], ids=["the pod is gone", "a conflict", "another pod of the name"])
async def test_a_pod_that_is_no_more_is_told_of_and_not_written_again(code: int) -> None:
    async with nominating() as (server, nominations, told):
        server.reply = lambda sent: Reply(code)
        nominations.submit(nominate("n1"))
        await until(lambda: told)
        await asyncio.sleep(0.05)
        assert told == [("n1", None)]
        assert len(server.sent) == 1


async def test_a_failed_write_is_not_repeated_once_the_pod_is_bound() -> None:
    async with nominating() as (server, nominations, told):
        server.reply = lambda sent: Reply(503)
        server.open.clear()
        nominations.submit(nominate("n1"))
        await until(lambda: server.sent)
        nominations.submit(CycleReport(binds=(Bind("uid", "ns", "pod", "n1", "ns/job"),)))
        server.open.set()
        await asyncio.sleep(0.05)
        assert (len(server.sent), told) == (1, [])


async def test_what_finds_no_room_is_told_of_at_once() -> None:
    full = msgspec.structs.replace(QUICK, workqueue=WorkqueueSettings(1, 100.0, 100.0, limit=0))
    async with nominating(full) as (server, nominations, told):
        nominations.submit(nominate("n1"))
        assert told == [("n1", None)]
        assert server.sent == []
