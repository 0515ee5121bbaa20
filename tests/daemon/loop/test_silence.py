"""An API server that does not answer: when it counts as silent, and that sessions wait while it is."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.looping import looping
from tests.support.fault_proxy import faulty
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.daemon.loop.silence import Silence, SilenceSettings
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.sim.cluster import Cluster

SETTINGS = SilenceSettings()


def nothing(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
    return CycleReport()


class Server:
    """A silence, and what it is told of a server."""

    def __init__(self) -> None:
        self.now = 100.0
        self.shown_at = 0.0
        self.silence = Silence(lambda: self.shown_at, lambda: self.now)

    def answers(self, *codes: int) -> None:
        for code in codes:
            self.silence.answered(code)

    def is_gone(self) -> Server:
        self.answers(*[0] * SETTINGS.in_a_row)
        self.now += SETTINGS.seconds
        return self


def test_a_server_is_silent_once_many_requests_in_a_row_have_no_answer_for_a_while() -> None:
    server = Server()
    server.answers(*[0] * (SETTINGS.in_a_row - 1))
    server.now += 1000.0
    assert not server.silence.lasts, "a few requests may fail for reasons of their own"
    server.answers(503)
    assert server.silence.lasts


def test_a_moment_without_answers_is_no_silence() -> None:
    server = Server()
    server.answers(*[0] * 100)
    assert not server.silence.lasts
    server.now += SETTINGS.seconds
    assert server.silence.lasts


def test_any_answer_ends_it_also_one_that_refuses() -> None:
    for code in (200, 404, 409, 429, 500):
        server = Server().is_gone()
        server.answers(code)
        assert not server.silence.lasts
        server.now += 1000.0
        assert not server.silence.lasts


def test_a_watch_that_shows_changes_ends_it_as_long_as_they_come() -> None:
    server = Server().is_gone()
    server.shown_at = server.now
    assert not server.silence.lasts
    server.now += SETTINGS.seconds
    assert server.silence.lasts


async def test_who_waits_is_woken_at_once_and_else_looks_now_and_then() -> None:
    now, silence = asyncio.get_running_loop().time, Silence()
    await silence.wait()
    assert now() == pytest.approx(SETTINGS.look_seconds)
    asyncio.get_running_loop().call_later(0.1, silence.wake)
    await silence.wait()
    assert now() == pytest.approx(SETTINGS.look_seconds + 0.1)


async def test_sessions_wait_for_an_answer_however_often_something_changes() -> None:
    server, heard = Server().is_gone(), 0

    def hear() -> None:
        nonlocal heard
        heard += 1

    async with looping(nothing, silence=server.silence, on_answer=hear) as running:
        for _ in range(20):
            running.trigger.pull()
            await asyncio.sleep(0.005)
        assert running.mirror.snapshots == 0
        assert heard == 0
        server.answers(200)
        await until(lambda: running.telemetry.findings.cycles > 0)
        assert heard == 1


async def test_who_looks_on_has_a_session_all_the_same() -> None:
    server = Server().is_gone()
    async with looping(nothing, silence=server.silence) as running:
        assert (await running.snapshots.look()).number == 1
        await asyncio.sleep(0.05)
        assert running.mirror.snapshots == 1


async def test_a_daemon_can_be_stopped_meanwhile() -> None:
    async with looping(nothing, silence=Server().is_gone().silence) as running:
        running.trigger.pull()
        await until(lambda: running.turns > 0)
    assert running.mirror.snapshots == 0


async def test_while_the_api_server_is_gone_nothing_is_decided_and_all_goes_on_once_it_is_back() -> None:
    nodes = [node("n1"), node("n2")]
    async with Cluster(nodes) as cluster, faulty(cluster.url) as proxy, scheduling(proxy.url) as daemon:
        cluster.apply(gang("g", 2))
        await until(lambda: len(nodes_of(cluster, "g-")) == 2)
        await proxy.down()
        await until(lambda: daemon.silence.lasts)
        sessions = daemon.telemetry.findings.cycles
        for _ in range(50):
            daemon.mirror.events.on_change()
            await asyncio.sleep(0.02)
        assert daemon.telemetry.findings.cycles <= sessions + 1, "one may have begun before"
        cluster.apply(gang("h", 2))
        await proxy.up()
        await until(lambda: len(nodes_of(cluster, "h-")) == 2)
        assert not daemon.silence.lasts
