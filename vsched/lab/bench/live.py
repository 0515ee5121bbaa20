"""``vsched bench-live``: measures the whole way over HTTP: an embedded cluster, a daemon, and this process as the user.

Three processes. Latency is that of ``book``: from just before a pod's POST to the moment a watch of this process
shows it on a node; so the daemon's window for coalescing changes and the way back are part of it.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import click
import orjson
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.table import Table

from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.reflector import Reflector
from vsched.lab.children import DaemonChild, cluster_child, daemon_child, scratch
from vsched.lab.gangs import as_gang, run_fast, submit
from vsched.lab.outcomes import Book, Gang, pod_watch, spread_ms
from vsched.lab.sender import Sender
from vsched.sim.fleet.nodes import DEFAULT_CAPACITY
from vsched.sim.fleet.workload import SHAPES, gang
from vsched.together import first_error

EPILOG = """\b
Examples:
  vsched bench-live
  vsched bench-live --nodes 1000 --pods 10000 --gang 50 --json
"""

QUEUE, NAMESPACE = "default", "default"
GAP_SECONDS = (0.02, 0.06)
"""Between two single pods: drawn, so that they do not fall into step with anything."""
QUIET_SECONDS = 1.0
"""So long nothing happens to any pod before the cluster counts as idle."""
PATIENCE_SECONDS = 120.0
FOREVER_SECONDS = 86_400.0


def measure_end_to_end(nodes: int, pods: int, gang: int, seed: int, singles: int = 100) -> dict[str, Any]:
    """Everything that is printed, as one document."""
    room = nodes * int(DEFAULT_CAPACITY["cpu"])
    if pods + singles + 1 > room:
        raise BadInput(f"{pods} pods and {singles} single ones do not fit {nodes} nodes: expected at most {room - 1}")
    return run_fast(_measured(nodes, pods, gang, seed, singles))


async def _measured(nodes: int, pods: int, gang: int, seed: int, singles: int) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        directory = await stack.enter_async_context(scratch())
        cluster = await stack.enter_async_context(cluster_child(nodes, directory))
        daemon = await stack.enter_async_context(daemon_child(cluster.kubeconfig, directory))
        client = await stack.enter_async_context(ApiClient(cluster.connection))
        sender = await stack.enter_async_context(Sender(cluster.connection.server))
        bench = Bench(client, sender, daemon, random.Random(seed))
        processes = {
            "cluster": cluster.child.process.pid,
            "scheduler": daemon.child.process.pid,
            "client": os.getpid(),
        }
        try:
            async with asyncio.TaskGroup() as group:
                others = [group.create_task(found.ended()) for found in (cluster.child, daemon.child)]
                others.append(group.create_task(bench.watch.run()))
                result = await bench.run(pods, gang, singles, processes)
                for task in others:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise first_error(errors) from errors
    return {"nodes": nodes, "pods": pods, "gang": gang, **result}


class Bench:
    """Creates pods and waits for them to be placed."""

    def __init__(self, client: ApiClient, sender: Sender, daemon: DaemonChild, draw: random.Random) -> None:
        self._sender = sender
        self._daemon = daemon
        self._draw = draw
        self._moved = asyncio.Event()
        self._book = Book(self._gang_bound)
        self.watch: Reflector[Any] = pod_watch(client, self._book)

    def _gang_bound(self, gang: Gang) -> None:
        self._moved.set()

    async def run(self, pods: int, gang: int, singles: int, processes: dict[str, int]) -> dict[str, Any]:
        """The burst first, then one pod at a time."""
        await self.watch.synced.wait()
        await self._single("warm-up")
        before, cpu_before = await self._writes(), _cpu_seconds(processes)
        burst = await self._burst(pods, gang)
        await self._quiet()
        writes = await self._writes() - before
        cpu = {name: round(used - cpu_before[name], 2) for name, used in _cpu_seconds(processes).items()}
        latencies = []
        for number in range(singles):
            await asyncio.sleep(self._draw.uniform(*GAP_SECONDS))
            latencies.append(await self._single(f"single-{number}"))
        return {
            **burst,
            "api_writes_per_pod": {kind: round(count / pods, 3) for kind, count in sorted(writes.items())},
            "cpu_seconds": cpu,
            "single_pods": singles,
            "single_latency_ms": spread_ms(latencies),
        }

    async def _burst(self, pods: int, size: int) -> dict[str, Any]:
        gangs = [
            gang(f"gang-{first}", NAMESPACE, QUEUE, min(size, pods - first), dict(SHAPES[0]), FOREVER_SECONDS)
            for first in range(0, pods, size)
        ]
        self._book.latencies.clear()
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for objects in gangs:
                group.create_task(submit(self._sender, self._book, as_gang(objects, QUEUE, 1), objects))
        created = time.perf_counter()
        await self._until_bound(pods + 1)
        ended = max(found.bound_at for found in self._book.gangs.values())
        return {
            "seconds": round(ended - began, 3),
            "pods_per_second": round(pods / (ended - began), 1),
            "create_seconds": round(created - began, 3),
            "latency_ms": spread_ms(self._book.latencies),
        }

    async def _single(self, name: str) -> float:
        """Seconds from the creation of a lone pod to its binding."""
        pod = gang(name, NAMESPACE, QUEUE, 1, dict(SHAPES[0]), FOREVER_SECONDS)[1]
        del pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
        page = as_gang([pod], QUEUE, 1)
        expected = self._book.bound + 1
        await submit(self._sender, self._book, page, [pod])
        await self._until_bound(expected)
        return page.bound_at - page.began

    async def _until_bound(self, count: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while self._book.bound < count:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            missing = count - self._book.bound
            raise Unavailable(f"{missing} pods were not bound within {PATIENCE_SECONDS:.0f} s") from None

    async def _quiet(self) -> None:
        """Wait until nothing happens to pods any more."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            events = -1
            while events != self.watch.statistics.events:
                events = self.watch.statistics.events
                await asyncio.sleep(QUIET_SECONDS)

    async def _writes(self) -> Counter[str]:
        """What the daemon has written so far, by kind."""
        async with ApiClient(self._daemon.listening) as client:
            text = (await client.request("GET", "/metrics")).body.decode()
        counts: Counter[str] = Counter()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == "vsched_api_writes_total":
                    counts[sample.labels["kind"]] += int(sample.value)
        return counts


def _cpu_seconds(processes: dict[str, int]) -> dict[str, float]:
    """Processor time by name; empty where the system does not tell in this way."""
    ticks = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    used = {}
    for name, number in processes.items():
        statistics = Path(f"/proc/{number}/stat")
        if statistics.exists():
            fields = statistics.read_text(encoding="ascii").rpartition(")")[2].split()
            used[name] = (int(fields[11]) + int(fields[12])) / ticks
    return used


@click.command("bench-live", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1, 5_000), default=200)
@click.option("--pods", type=click.IntRange(1, 100_000), default=2_000, help="Pods to create and have placed.")
@click.option("--gang", type=click.IntRange(1, 1_000), default=20, help="Pods in a gang.")
@click.option("--singles", type=click.IntRange(0, 10_000), default=100, help="Pods created one at a time afterwards.")
@click.option("--seed", type=int, default=1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(nodes: int, pods: int, gang: int, singles: int, seed: int, as_json: bool) -> None:
    """The whole way on an embedded cluster: first creation to last binding, and a single pod's latency."""
    result = measure_end_to_end(nodes, pods, gang, seed, singles)
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        Console().print(as_table(result))


def as_table(result: dict[str, Any]) -> Table:
    """The figures for people."""
    table = Table(show_header=False, show_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    table.add_row("pods, gang, nodes", f"{result['pods']:,}, {result['gang']:,}, {result['nodes']:,}")
    table.add_row("first creation to last binding (s)", f"{result['seconds']:.2f}")
    table.add_row("pods a second", f"{result['pods_per_second']:,.0f}")
    table.add_row("creating alone (s)", f"{result['create_seconds']:.2f}")
    for label, key in (("in the burst", "latency_ms"), ("one pod at a time", "single_latency_ms")):
        table.add_row(f"creation to binding {label}, p50 / p99 (ms)", "{p50:,} / {p99:,}".format(**result[key]))
    told = ", ".join(f"{kind} {count:g}" for kind, count in result["api_writes_per_pod"].items())
    table.add_row("daemon's writes a pod", told)
    told = ", ".join(f"{name} {seconds:g}" for name, seconds in result["cpu_seconds"].items())
    table.add_row("processor time (s)", told)
    return table
