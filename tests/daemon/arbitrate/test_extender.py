"""The daemon with an extender: what a dead one costs, and what is said of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.support.extending import DRIPPING, HANGING, Reply, extending
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.daemon.words import log as words
from vsched.sim.cluster import Cluster

POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: extender
    arguments:
      extender.urlPrefix: {url}
      extender.httpTimeout: 300ms
      extender.ignorable: {ignorable}
      extender.predicateVerb: predicate
"""


@asynccontextmanager
async def extended(tmp_path: Path, url: str, ignorable: bool) -> AsyncIterator[tuple[Cluster, Daemon]]:
    path = tmp_path / "scheduler.yaml"
    path.write_text(POLICY.format(url=url, ignorable=str(ignorable).lower()), encoding="utf-8")
    async with Cluster([node("n1"), node("n2")]) as cluster, scheduling(cluster.url, policy_file=path) as daemon:
        yield cluster, daemon


async def test_the_daemon_follows_its_extender(tmp_path: Path) -> None:
    with extending(predicate={"nodes": {"n1": {"errorMessage": "no licence"}}}) as server:
        async with extended(tmp_path, server.url, ignorable=False) as (cluster, daemon):
            cluster.apply(gang("g", 2))
            await until(lambda: len(nodes_of(cluster, "g-")) == 2)
            assert set(nodes_of(cluster, "g-").values()) == {"n2"}
            assert daemon.caller.counts["answered"] == len(server.requests)


@pytest.mark.parametrize("reply", [HANGING, DRIPPING], ids=["hangs", "drips"])
async def test_sessions_go_on_without_an_extender_that_does_not_answer(tmp_path: Path, reply: Reply) -> None:
    with extending(predicate=reply) as server:
        async with extended(tmp_path, server.url, ignorable=True) as (cluster, daemon):
            for number in range(4):
                cluster.apply(gang(f"g{number}", 2))
                await until(lambda number=number: len(nodes_of(cluster, f"g{number}-")) == 2)
            assert daemon.caller.counts["failed"]
            assert daemon.caller.counts["skipped"]


async def test_what_a_needed_extender_does_not_answer_waits_until_it_does(tmp_path: Path) -> None:
    with extending(predicate=Reply(503)) as server, capture_logs() as lines:
        async with extended(tmp_path, server.url, ignorable=False) as (cluster, daemon):
            cluster.apply(gang("g", 2))
            await until(lambda: any(line["event"] == words.EXTENDER_SILENT for line in lines))
            assert nodes_of(cluster, "g-") == {}
            assert "answered 503" in daemon.caller.problem
            server.answers["predicate"] = {}
            await until(lambda: len(nodes_of(cluster, "g-")) == 2)
            await until(lambda: any(line["event"] == words.EXTENDER_BACK for line in lines))
            failed = daemon.telemetry.registry.get_sample_value("vsched_extender_calls_total", {"name": "failed"})
            assert failed == daemon.caller.counts["failed"]


async def test_a_daemon_that_is_told_to_stop_does_not_wait_for_an_extender(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    with extending(predicate=HANGING) as server:
        path.write_text(POLICY.format(url=server.url, ignorable="true").replace("300ms", "60s"), encoding="utf-8")
        text = path.read_text(encoding="utf-8") + "      extender.cycleTimeout: 60s\n"
        path.write_text(text, encoding="utf-8")
        async with Cluster([node("n1")]) as cluster:
            async with scheduling(cluster.url, policy_file=path, drain_seconds=0.2):
                cluster.apply(gang("g", 1))
                await until(lambda: server.requests)
                began = time.monotonic()
            assert time.monotonic() - began < 30.0
