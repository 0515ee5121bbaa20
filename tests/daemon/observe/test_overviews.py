"""What a running daemon shows to those who watch: of a real cluster, over real connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.asking import ask
from tests.support.replicas import pair
from tests.support.running import OFTEN_SEEN, PODGROUPS, gang, node, nodes_of, scheduling
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.support.watching import Watcher, watching
from vsched.clock import SystemClock
from vsched.daemon.access_options import AccessOptions
from vsched.daemon.app import Daemon
from vsched.daemon.observe.settings import ObserveSettings, OverviewSettings
from vsched.daemon.policy.reload import PolicyInForce, PolicyReading
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster
from vsched.web.findings import Findings
from vsched.web.overview.document import Overview
from vsched.web.overview.feed import OverviewFeed

HERE = {"listen_address": "127.0.0.1:0"}
TOKEN = "a-token-of-sixteen-letters"
PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@asynccontextmanager
async def shown(cluster: Cluster, **options: Any) -> AsyncIterator[tuple[Daemon, str]]:
    """A daemon whose mirror is complete, and where it listens."""
    async with scheduling(cluster.url, **{**HERE, **options}) as daemon:
        await until(lambda: daemon.ports and daemon.health.ready().ok)
        yield daemon, f"http://127.0.0.1:{daemon.ports['--listen-address']}"


async def until_seen(reader: Watcher, condition: Callable[[Overview], object]) -> Overview:
    """Follow what a reader is told until the picture shows something."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while reader.picture is None or not condition(reader.picture):
            assert await reader.see(PATIENCE_SECONDS) is not None
    return reader.picture


def settled(found: Overview) -> bool:
    """Whether a picture has all pods of both gangs; groups and pods come one after another."""
    starts, waits = found.jobs.get("default/starts"), found.jobs.get("default/waits")
    if starts is None or waits is None or found.counts["bound_total"] < 3:
        return False
    return starts.ready == 3 and waits.pending == 2 and sum(row.pods for row in found.nodes.values()) == 3


async def test_what_happens_is_seen_by_those_who_watch() -> None:
    async with (
        Cluster([node("n1"), node("n2")]) as cluster,
        shown(cluster) as (_, url),
        watching(f"{url}/events") as reader,
    ):
        first = await until_seen(reader, lambda found: found.role == "leader" and found.queues)
        assert [resource.name for resource in first.resources] == ["cpu", "memory", "pods"]
        assert [row.allocated for row in first.nodes.values()] == [(0, 0, 0)] * 2
        cluster.apply([*gang("starts", 3), *gang("waits", 2, cpu="8")])
        seen = await until_seen(reader, settled)
        assert seen.counts["bound_total"] == 3
        assert seen.jobs["default/starts"].reason == ""
        waits = seen.jobs["default/waits"]
        assert waits.position == 1
        assert waits.reason
        assert "no node has 8 cpu" in waits.message
        assert seen.queues["default"].waiting == 1
        assert sum(row.binds for row in seen.sessions) == 3
        assert seen.policy is not None
        assert "allocate" in seen.policy.actions
        cluster.client.delete(PODGROUPS, "default", "waits")
        for number in range(2):
            cluster.client.delete("pods", "default", f"waits-{number}")
        await until_seen(reader, lambda found: "default/waits" not in found.jobs)
        whole = (await ask(f"{url}/overview")).body
        assert whole["jobs"].keys() == reader.picture.jobs.keys()


async def until_still(feed: OverviewFeed, findings: Findings) -> None:
    """Sessions go by, and the picture stays the one it was."""
    number = -1
    while number != feed.latest.number:
        number, cycles = feed.latest.number, findings.cycles
        await until(lambda cycles=cycles: findings.cycles > cycles + 5)


async def test_while_nothing_happens_nothing_is_sent_and_while_nobody_watches_nothing_is_drawn() -> None:
    async with (
        Cluster([node("n1")], manifests=gang("waits", 1, cpu="64")) as cluster,
        shown(cluster, observing=OFTEN_SEEN, period_seconds=0.05, advise=False) as (daemon, url),
    ):
        findings, feed = daemon.telemetry.findings, daemon.inspection._feed
        async with watching(f"{url}/events") as reader:
            await until_seen(reader, lambda found: "default/waits" in found.jobs and found.jobs["default/waits"].reason)
            await until_still(feed, findings)
            number, cycles, at = feed.latest.number, findings.cycles, feed.latest.at
            await until(lambda: findings.cycles > cycles + 10)
            assert feed.latest.number == number
            await until(lambda: feed.latest.at > at)  # and it is known to hold still
        await until(lambda: not feed.is_wanted)
        cycles = findings.cycles
        await until(lambda: findings.cycles > cycles + 5)  # one may still have been on its way
        last = feed.latest
        cluster.apply(gang("more", 1))
        await until(lambda: nodes_of(cluster, "more"))
        cycles = findings.cycles
        await until(lambda: findings.cycles > cycles + 5)
        assert feed.latest is last


async def test_a_standby_says_what_it_is_and_shows_nothing_else() -> None:
    async with Cluster([node("n1")]) as cluster, pair(cluster.url, **HERE) as (leader, standby):
        roles = {}
        for name, found in (("leader", leader), ("standby", standby)):
            await until(lambda found=found: found.daemon.ports)
            answer = await ask(f"http://127.0.0.1:{found.daemon.ports['--listen-address']}/overview")
            roles[name] = (answer.body["role"], list(answer.body["nodes"]))
        assert roles == {"leader": ("leader", ["n1"]), "standby": ("standby", [])}


async def test_those_who_watch_are_let_go_when_the_daemon_is_told_to_stop() -> None:
    async with (
        Cluster([node("n1")]) as cluster,
        shown(cluster) as (daemon, url),
        watching(f"{url}/events") as reader,
    ):
        await until_seen(reader, lambda found: found.nodes)
        daemon.stop()
        await reader.end(10.0)


class Untold(PolicyInForce):
    """A policy of which pictures cannot tell what became of its last reading, for as long as it is ``broken``."""

    def __init__(self) -> None:
        self.broken, self.tried = False, 0
        super().__init__(REGISTRY, SystemClock())

    @property
    def last(self) -> PolicyReading:
        if self.broken:
            self.tried += 1
            raise ValueError("a fault")
        return self._last

    @last.setter
    def last(self, reading: PolicyReading) -> None:
        self._last = reading


async def test_a_picture_that_cannot_be_drawn_ends_nothing_else() -> None:
    policy, soon = Untold(), ObserveSettings(OverviewSettings(pause_seconds=0.05))
    async with Cluster([node("n1")]) as cluster, shown(cluster, policy=policy, observing=soon) as (_, url):
        policy.broken = True
        asking = asyncio.create_task(ask(f"{url}/overview"))
        cluster.apply(gang("g", 2))
        await until(lambda: len(nodes_of(cluster, "g")) == 2)
        await until(lambda: policy.tried)
        policy.broken = False
        async with asyncio.timeout(60.0):
            while (await asking).status != 200:  # whoever asked may have had to wait for too long
                asking = asyncio.create_task(ask(f"{url}/overview"))


async def test_jobs_have_their_place_in_the_order() -> None:
    work = [*gang("first", 1, cpu="64"), *gang("second", 1, cpu="64")]
    async with Cluster([node("n1")], manifests=work) as cluster, shown(cluster) as (daemon, url):
        await until(lambda: len(daemon.telemetry.findings.jobs) == 2)
        jobs = (await ask(f"{url}/jobs")).body
        assert {job["position"] for job in jobs.values()} == {1, 2}
        assert all(job["code"] and job["created"] > 0 for job in jobs.values())


# -- the page


async def test_browsers_get_the_page_and_programs_the_list_of_paths() -> None:
    async with Cluster() as cluster, shown(cluster) as (_, url):
        page, paths = await ask(url, **PAGE), await ask(url)
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert {"/events", "/overview", "/metrics"} <= paths.body.keys()


async def test_the_page_is_for_everybody_and_what_it_shows_for_those_who_may(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TOKEN},alice,1\n")
    access = AccessOptions(authentication="token-file", token_file=tokens)
    async with Cluster([node("n1")]) as cluster, shown(cluster, access=access) as (_, url):
        assert (await ask(url, **PAGE)).status == 200
        for path in ("/", "/overview", "/events", "/jobs", "/page"):
            assert (await ask(url + path)).status == 401, path
        assert (await ask(f"{url}/overview", **PAGE)).status == 401
        assert (await ask(f"{url}/overview", TOKEN)).body["role"] in ("leader", "starting")
        async with watching(f"{url}/events", Authorization=f"Bearer {TOKEN}") as reader:
            await until_seen(reader, lambda found: found.nodes)


@asynccontextmanager
async def proxied(target: str, prefix: str) -> AsyncIterator[str]:
    """A reverse proxy that has the target below a path, as an API server has Services."""

    async def answer(request: web.Request) -> web.StreamResponse:
        kept = {name: request.headers[name] for name in ("Accept", "Accept-Encoding") if name in request.headers}
        async with session.get(f"{target}/{request.match_info['rest']}", headers=kept) as found:
            response = web.StreamResponse(status=found.status)
            for name in ("Content-Type", "Content-Encoding", "ETag"):
                if name in found.headers:
                    response.headers[name] = found.headers[name]
            await response.prepare(request)
            async for chunk in found.content.iter_any():
                await response.write(chunk)
            return response

    app = web.Application()
    app.router.add_get(f"{prefix}/{{rest:.*}}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}{prefix}"
        finally:
            await runner.cleanup()


async def test_all_of_it_works_below_a_path_of_somebody_else() -> None:
    async with (
        Cluster([node("n1")]) as cluster,
        shown(cluster) as (_, url),
        proxied(url, "/api/v1/namespaces/vsched/services/vsched:8080/proxy") as below,
    ):
        page = await ask(f"{below}/", **PAGE)
        assert 'href="/' not in page.body
        assert 'src="/' not in page.body
        async with watching(f"{below}/events") as reader:
            await until_seen(reader, lambda found: found.nodes)
