"""The usage history outlives the daemon that counted it: it is kept in a ConfigMap, whatever fails."""

from __future__ import annotations

import asyncio
import base64
import signal
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.replicas import pair
from tests.support.running import Obj, gang, node, nodes_of, scheduling, sessions
from tests.support.waiting import until
from vsched import clock
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.words import log as words
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.mirror.accounts.history import HistoryBook
from vsched.model.amounts.resources import CPU, ResourceAxis
from vsched.model.history.packing import pack, unpack
from vsched.model.history.records import CLUSTER, HOUR_SECONDS, Decay, Holder, UsageHistory
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster
from vsched.web.overview.share_history import WEEK
from vsched.web.overview.share_series import share_series

NAME, PLACE = "vsched-usage-history", "kube-system"
TEAM = Holder("default", "default")
WHOLE = Decay(float("inf"))
OFTEN: dict[str, Any] = {"history_period_seconds": 0.05, "period_seconds": 0.05}
SELDOM: dict[str, Any] = {"history_period_seconds": 3600.0, "period_seconds": 0.05}
ANY_MAP, ONE_MAP = r".*/configmaps", rf".*/configmaps/{NAME}"


def stored(cluster: Cluster) -> UsageHistory | None:
    """The history in the ConfigMap; None where there is none."""
    found = cluster.client.get("configmaps", PLACE, NAME)
    return None if found is None else unpack(base64.b64decode(found["binaryData"]["history"]))


def used(history: UsageHistory | None, holder: Holder = TEAM) -> float:
    """What a holder used of the processors, millicores times seconds; 0 where it is not known."""
    if history is None or holder not in history.holders:
        return 0.0
    row, column = list(history.holders).index(holder), history.resources.index("cpu")
    return float(history.used(WHOLE)[row, column])


def counted(daemon: Daemon) -> float:
    return used(daemon.mirror.history.publish())


def put(cluster: Cluster, history: UsageHistory | None, body: bytes | None = None, **data: str) -> None:
    """A ConfigMap as another daemon wrote it, or as it was spoilt."""
    packed = pack(history).body if history is not None else body
    binary = {} if packed is None else {"history": base64.b64encode(packed).decode()}
    metadata = {"name": NAME, "namespace": PLACE}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, "binaryData": binary}
    if cluster.client.get("configmaps", PLACE, NAME) is None:
        cluster.client.create("configmaps", made)
    else:
        cluster.client.patch("configmaps", PLACE, NAME, lambda found: {**found, "data": data, "binaryData": binary})


def of_yesterday(since: float = 30 * HOUR_SECONDS, at: float = 20 * HOUR_SECONDS) -> UsageHistory:
    """A history that was begun and ended so many seconds ago."""
    book, now = HistoryBook(), clock.now()
    book.advance(now - since)
    book.see(ResourceAxis(), {CPU: 4000}, {TEAM: {CPU: 1000}, Holder("default", "other", "ann"): {CPU: 500}})
    book.advance(now - at)
    return book.publish()


def told(lines: list[Any], event: str) -> list[Any]:
    return [line for line in lines if line["event"] == event]


async def test_what_was_used_survives_a_restart() -> None:
    async with Cluster([node("n1")]) as cluster:
        async with scheduling(cluster.url, **SELDOM) as daemon:
            cluster.apply(gang("g", 2))
            await until(lambda: counted(daemon) > 300)
            since = daemon.mirror.history.publish().since
        assert daemon.mirror.history.publish().at == pytest.approx(clock.now(), abs=60)
        assert used(stored(cluster)) >= counted(daemon) * 0.999
        about = cluster.client.get("configmaps", PLACE, NAME)
        assert about is not None
        assert about["data"]["version"] == "1"
        assert about["data"]["left-out"] == ""
        with capture_logs() as lines:
            async with scheduling(cluster.url, **SELDOM) as second:
                await sessions(second, 1)
                assert second.mirror.history.publish().since == since
                assert counted(second) >= counted(daemon) * 0.999
        assert len(told(lines, words.HISTORY_RESTORED)) == 1


async def test_the_first_session_knows_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy:
        put(cluster, of_yesterday())
        seen: list[float] = []
        async with scheduling(proxy.url, **SELDOM) as daemon:
            proxy.spoil("GET", ONE_MAP, 503, times=1)
            look = daemon.mirror.snapshot

            def snapshot(now: float) -> Any:
                found = look(now)
                seen.append(used(found.history))
                return found

            monkeypatch.setattr(daemon.mirror, "snapshot", snapshot)
            await sessions(daemon, 1)
        assert seen[-1] > 1000 * 9 * HOUR_SECONDS


async def test_a_daemon_that_hands_over_gives_what_it_counted_to_the_next() -> None:
    async with Cluster([node("n1")]) as cluster, pair(cluster.url, **SELDOM) as (leader, standby):
        cluster.apply(gang("g", 2))
        await until(lambda: counted(leader.daemon) > 300)
        assert stored(cluster) is None, "it is written seldom, and by nobody who stands by"
        await leader.stop()
        before = counted(leader.daemon)
        assert used(stored(cluster)) >= before * 0.999
        await until(
            lambda: standby.daemon.mirror.history.publish().since == leader.daemon.mirror.history.publish().since
        )
        assert counted(standby.daemon) >= before * 0.999


@pytest.mark.real_time
async def test_with_kill_9_no_more_than_a_period_is_lost_and_the_week_has_what_was_held_by_the_hour(
    tmp_path: Path,
) -> None:
    async with Cluster([node("n1")]) as cluster:
        kubeconfig = tmp_path / "kubeconfig"
        cluster.write_kubeconfig(kubeconfig)
        put(cluster, of_yesterday(at=0.5 * HOUR_SECONDS))
        before = used(stored(cluster))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "vsched", "run", "--kubeconfig", str(kubeconfig), "--schedule-period", "50ms"),
            *("--history-period", "200ms", "--listen-address", "", "--healthz-address", ""),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
        )
        try:
            cluster.apply(gang("g", 2))
            await until(lambda: used(stored(cluster)) > before + 500)
            written = stored(cluster)
            assert written is not None
            await until(lambda: (stored(cluster) or written).at > written.at)
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()
        last = stored(cluster)
        assert last is not None
        assert clock.now() - last.at < 30.0, "a machine that has much else to do writes late"
        async with scheduling(cluster.url, **SELDOM) as daemon:
            await sessions(daemon, 1)
            assert counted(daemon) >= used(last) * 0.999
            assert daemon.mirror.history.publish().since == last.since
            await until(lambda: any(share_series(daemon.telemetry.shares, WEEK, WEEK.steps).hourly))
            week = share_series(daemon.telemetry.shares, WEEK, WEEK.steps, "default")
        queue = week.queues[0]
        assert 29 * 6 <= sum(week.hourly) <= 30 * 6 + 1
        assert week.begins == pytest.approx(clock.now() - 30 * HOUR_SECONDS, abs=1200)
        marked = [at for at, hourly in enumerate(week.hourly) if hourly]
        assert {queue.held[at] for at in marked[:-6]} == {0.375}, "1,500 of 4,000 millicores, before the gang came"
        assert {queue.deserved[at] for at in marked} == {queue.waiting[at] for at in marked} == {None}


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        pytest.param(lambda cluster: put(cluster, None), "no binaryData.history", id="nothing in it"),
        pytest.param(lambda cluster: put(cluster, None, b"{}"), "cannot be decompressed", id="something else in it"),
        pytest.param(lambda cluster: put(cluster, None, pack(of_yesterday()).body[:-9]), "cut off", id="a part of it"),
        pytest.param(lambda cluster: put(cluster, of_yesterday(since=0, at=-1e6)), "in the future", id="a wrong clock"),
    ],
)
async def test_a_broken_history_is_replaced_by_a_new_one(spoil: Callable[[Cluster], None], why: str) -> None:
    async with Cluster([node("n1")]) as cluster:
        spoil(cluster)
        with capture_logs() as lines:
            began = clock.now()
            async with scheduling(cluster.url, **OFTEN) as daemon:
                cluster.apply(gang("g", 2))
                await until(lambda: len(nodes_of(cluster)) == 2)
                await until(
                    lambda: (
                        daemon.history is not None
                        and daemon.history.numbers()["vsched_usage_history_writes_total"]["written"]
                    )
                )
                found = stored(cluster)
                assert found is not None
                assert found.since >= began - 1
                await until(lambda: events(cluster))
        (line,) = told(lines, words.HISTORY_STARTS_EMPTY)
        assert line["log_level"] == "warning"
        assert why in line["problem"]
        assert why in events(cluster)[0]["message"]


def events(cluster: Cluster) -> list[Obj]:
    return [event for event in cluster.client.list("events", PLACE) if event["reason"] == "UsageHistoryLost"]


async def test_a_lost_history_is_begun_anew_and_that_is_said() -> None:
    async with Cluster([node("n1")]) as cluster:
        with capture_logs() as lines:
            async with writing(cluster):
                cluster.client.delete("configmaps", PLACE, NAME)
                await until(lambda: stored(cluster))
        (line,) = told(lines, words.HISTORY_STARTS_EMPTY)
        assert line["log_level"] == "info"
        assert line["reason"] == words.NO_CONFIG_MAP


def refused(proxy: FaultProxy, code: int, times: int) -> None:
    proxy.spoil("POST", ANY_MAP, code, times)
    proxy.spoil("PATCH", ONE_MAP, code, times)


@pytest.mark.parametrize("code", [429, 500, 503, 0])
async def test_a_write_that_fails_is_tried_again(code: int) -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy:
        refused(proxy, code, 2)
        async with scheduling(proxy.url, **OFTEN) as daemon:
            cluster.apply(gang("g", 2))
            await until(lambda: used(stored(cluster)) > 100)
            assert daemon.telemetry.findings.cycles > 0


async def test_who_may_not_keep_it_says_so_once_and_schedules_all_the_same() -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("GET", ONE_MAP, 403, times=1_000_000, message="not allowed")
        with capture_logs() as lines:
            async with scheduling(proxy.url, **OFTEN) as daemon:
                cluster.apply(gang("g", 2))
                await until(lambda: len(nodes_of(cluster)) == 2)
                await until(lambda: proxy.seen[f"GET {NAME}", 403] >= 2)
                await until(lambda: counted(daemon) > 0)
        (line,) = told(lines, words.history_cannot_be("read"))
        assert "not allowed" in line["problem"]
        assert stored(cluster) is None, "what was not read is not written over"


async def test_who_may_read_but_not_write_says_so_once() -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy:
        refused(proxy, 403, 1_000_000)
        with capture_logs() as lines:
            async with scheduling(proxy.url, **OFTEN) as daemon:
                cluster.apply(gang("g", 2))
                await until(lambda: proxy.seen["POST configmaps", 403] >= 3)
                assert daemon.history is not None
                assert daemon.history.numbers()["vsched_usage_history_writes_total"]["failed"] >= 2
                proxy.mend()
                await until(lambda: stored(cluster))
        assert len(told(lines, words.history_cannot_be("written"))) == 1
        assert len(told(lines, words.HISTORY_WRITTEN_AGAIN)) == 1


@asynccontextmanager
async def writing(cluster: Cluster, url: str = "") -> AsyncIterator[Daemon]:
    """A daemon that has written its history at least once."""
    async with scheduling(url or cluster.url, **OFTEN) as daemon:
        cluster.apply(gang("g", 2))
        await until(lambda: used(stored(cluster)))
        yield daemon


async def test_what_another_process_wrote_meanwhile_and_goes_back_further_is_taken_over() -> None:
    async with Cluster([node("n1")]) as cluster:
        older = of_yesterday()
        async with writing(cluster) as daemon:
            put(cluster, older, writer="another")
            await until(lambda: daemon.mirror.history.publish().since == older.since)
            assert counted(daemon) >= used(older) * 0.999
            await until(lambda: (stored(cluster) or older).at > older.at)
        assert used(stored(cluster)) >= used(older)


async def test_what_another_process_wrote_meanwhile_and_is_younger_is_replaced_and_that_is_said() -> None:
    async with Cluster([node("n1")]) as cluster:
        with capture_logs() as lines:
            async with writing(cluster) as daemon:
                since = daemon.mirror.history.publish().since
                younger = replace(of_yesterday(at=0.0), since=clock.now() + 5)
                put(cluster, younger, writer="another")
                await until(lambda: (stored(cluster) or younger).since == since)
        assert told(lines, words.HISTORY_OF_ANOTHER)[0]["writer"] == "another"


async def test_a_write_whose_answer_was_lost_is_our_own() -> None:
    async with Cluster([node("n1")]) as cluster, faulty(cluster.url) as proxy:
        with capture_logs() as lines:
            async with writing(cluster, proxy.url):
                proxy.spoil("PATCH", ONE_MAP, 0)
                before = used(stored(cluster))
                await until(lambda: proxy.seen[f"PATCH {NAME}", 409])
                await until(lambda: used(stored(cluster)) > before)
        assert not told(lines, words.HISTORY_OF_ANOTHER)


async def test_a_daemon_that_does_not_lead_writes_nothing() -> None:
    async with Cluster(0) as cluster, ApiClient(Connection(cluster.url)) as client:
        options = Options(leader_elect=True, listen_address="", healthz_address="")
        keeper = Daemon(options, client, REGISTRY).history
        assert keeper is not None
        keeper.book.restore(of_yesterday(), clock.now())
        assert not await keeper.write()
        assert stored(cluster) is None


@pytest.mark.parametrize("options", [{"history": False}, {"history_period_seconds": 0.0}])
async def test_it_is_not_kept_where_that_is_switched_off(options: dict[str, Any]) -> None:
    async with Cluster([node("n1")]) as cluster:
        async with scheduling(cluster.url, **{**OFTEN, **options}) as daemon:
            cluster.apply(gang("g", 2))
            await until(lambda: counted(daemon) > 0)
            assert daemon.history is None
        assert stored(cluster) is None


async def test_the_capacity_of_the_cluster_is_restored_as_well() -> None:
    async with Cluster([node("n1")]) as cluster:
        put(cluster, of_yesterday())
        async with scheduling(cluster.url, **SELDOM) as daemon:
            await sessions(daemon, 1)
            assert used(daemon.mirror.history.publish(), CLUSTER) >= 4000 * 9 * HOUR_SECONDS
