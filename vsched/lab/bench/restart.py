"""``vsched bench-restart``: how long a daemon takes from its start to its first binding in a cluster full of pods.

An embedded cluster in a process of its own, a daemon in another that may use one core only, and this process as the
observer: it watches for bindings, and asks the daemon for its readiness every few milliseconds, so that the longest
answer is how long the daemon's event loop was kept from turning. Then the watch of pods is made to expire.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson
from rich.console import Console
from rich.table import Table

from vsched.errors import BadInput
from vsched.kube.client import ApiClient
from vsched.kube.connection import Connection
from vsched.lab.bench.observer import Observer, Probe, cpu_seconds, memory_mb, relists
from vsched.lab.children import Child, ClusterChild, child, cluster_child, free_port, scratch
from vsched.lab.gangs import create, run_fast
from vsched.lab.outcomes import spread_ms
from vsched.lab.sender import Sender
from vsched.sim.fleet.nodes import DEFAULT_CAPACITY
from vsched.sim.fleet.workload import SHAPES
from vsched.sim.fleet.workload import gang as gang_objects
from vsched.together import first_error

EPILOG = """\b
Examples:
  vsched bench-restart
  vsched bench-restart --nodes 500 --pods 14000 --pending 1000 --json

\b
Seconds count from the start of the daemon's process:
  ready_s          every list is in
  first_binding_s  a watch shows the first pod on a node
  all_bound_s      and the last one
  stall_ms         the longest that its event loop was kept from turning
  rss_mb           its memory at its peak so far, and at the end
Under "relist" the watch of pods has expired and all of them are listed again,
while single pods come and are placed.
"""

REQUEST = {"cpu": "500m", "memory": "1Gi"}
CPUS = 0.5
STRANGERS_SHARE = 0.3
"""How many of the running pods belong to another scheduler."""
NAMESPACES = 10
SINGLE_SECONDS = 0.1
"""Between two single pods."""
LOOK_SECONDS = 0.5
CALM_SECONDS = 3.0
RELIST_SECONDS = 120.0
FOREVER_SECONDS = 86_400.0


class Wanted(NamedTuple):
    """What is measured."""

    nodes: int
    pods: int
    pending: int
    gang: int

    def residents(self) -> list[dict[str, Any]]:
        """The pods that are there, as the embedded cluster is told of them."""
        running = self.pods - self.pending
        strangers = int(running * STRANGERS_SHARE)
        ours = {"gang": self.gang, "namespace": "training", "namespaces": NAMESPACES, "request": REQUEST}
        others = {"namespace": "web", "namespaces": 2 * NAMESPACES, "request": REQUEST}
        return [
            {"prefix": "train-", "count": running - strangers, **ours},
            {"prefix": "web-", "count": strangers, "scheduler": "default-scheduler", **others},
            {"prefix": "wait-", "count": self.pending, "running": False, **ours},
        ]


def measure_restart(wanted: Wanted, calm_seconds: float = CALM_SECONDS) -> dict[str, Any]:
    """Everything that is printed, as one document; single pods are timed for ``calm_seconds`` before the relist."""
    room = int(wanted.nodes * int(DEFAULT_CAPACITY["cpu"]) / CPUS)
    if wanted.pods > room or not 0 < wanted.pending <= wanted.pods:
        raise BadInput(
            f"{wanted.pods} pods, {wanted.pending} of them pending, on {wanted.nodes} nodes "
            f"(expected at most {room} pods, and at least one that is pending)"
        )
    with apart() as core:
        return run_fast(_measured(wanted, core, calm_seconds))


@contextmanager
def apart() -> Iterator[int | None]:
    """The core for the daemon, left by this process and its other children; None where there is none to spare."""
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    cores = os.sched_getaffinity(0)
    core = max(cores)
    os.sched_setaffinity(0, cores - {core} or cores)
    try:
        yield core
    finally:
        os.sched_setaffinity(0, cores)


async def _measured(wanted: Wanted, core: int | None, calm_seconds: float) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        directory = await stack.enter_async_context(scratch())
        residents = directory / "residents.yaml"
        residents.write_bytes(orjson.dumps(wanted.residents()))
        arguments = ("--residents", str(residents))
        cluster = await stack.enter_async_context(cluster_child(wanted.nodes, directory, *arguments))
        client = await stack.enter_async_context(ApiClient(cluster.connection))
        sender = await stack.enter_async_context(Sender(cluster.connection.server))
        bench = Bench(wanted, cluster, client, sender, core, calm_seconds)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(bench.observer.run()), group.create_task(cluster.child.ended())]
                result = await bench.run(directory)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as error:
            raise first_error(error) from None
    return result


class Bench:
    """One run: a daemon at a cluster that is there."""

    def __init__(
        self,
        wanted: Wanted,
        cluster: ClusterChild,
        client: ApiClient,
        sender: Sender,
        core: int | None,
        calm_seconds: float,
    ) -> None:
        self._wanted = wanted
        self._cluster = cluster
        self._sender = sender
        self._core = core
        self._calm_seconds = calm_seconds
        self.observer = Observer(client)

    async def run(self, directory: Path) -> dict[str, Any]:
        """The restart first, then the relist."""
        await self.observer.opened.wait()
        listen, healthz = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        arguments = (
            *("run", "--kubeconfig", str(self._cluster.kubeconfig), "--log-format", "json"),
            *("--listen-address", listen, "--healthz-address", healthz),
        )
        async with AsyncExitStack() as stack:
            health = await stack.enter_async_context(ApiClient(Connection(f"http://{healthz}")))
            metrics = await stack.enter_async_context(ApiClient(Connection(f"http://{listen}")))
            probe = Probe(health)
            began = time.perf_counter()
            daemon = await stack.enter_async_context(child("scheduler", arguments, directory / "scheduler.log"))
            if self._core is not None:
                os.sched_setaffinity(daemon.process.pid, {self._core})
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(probe.run()), group.create_task(daemon.ended())]
                restart = await self._restart(daemon, probe, began)
                relist = await self._relist(daemon, probe, metrics)
                for task in tasks:
                    task.cancel()
            lines = (directory / "scheduler.log").read_bytes().splitlines()
        return {**self._wanted._asdict(), "core": self._core, **restart, "relist": relist, "log": _progress(lines)}

    async def _restart(self, daemon: Child, probe: Probe, began: float) -> dict[str, Any]:
        observer, process = self.observer, daemon.process.pid
        await probe.ready.wait()
        listing_ms, cpu = probe.longest_ms(), cpu_seconds(process)
        await observer.until(1)
        memory = memory_mb(process)
        first_ms = probe.longest_ms()
        await observer.until(self._wanted.pending)
        return {
            "ready_s": round(probe.ready_at - began, 2),
            "first_binding_s": round(min(observer.bound.values()) - began, 2),
            "all_bound_s": round(max(observer.bound.values()) - began, 2),
            "stall_ms": {"listing": listing_ms, "first_session": first_ms, "binding": probe.longest_ms()},
            "cpu_s_until_ready": cpu,
            "rss_mb": {"until_first_binding": memory.get("peak"), **memory_mb(process)},
        }

    async def _relist(self, daemon: Child, probe: Probe, metrics: ApiClient) -> dict[str, Any]:
        """Expire the watch of pods, and place single pods until they are listed again."""
        await asyncio.sleep(self._calm_seconds)
        before = await relists(metrics)
        calm = await self._singles("calm", asyncio.create_task(asyncio.sleep(self._calm_seconds)))
        calm_ms, used = probe.longest_ms(), cpu_seconds(daemon.process.pid)
        began = time.perf_counter()
        self._cluster.child.process.send_signal(signal.SIGUSR1)
        listed = asyncio.create_task(self._listed_again(metrics, before))
        busy = await self._singles("busy", listed)
        after = await relists(metrics)
        cpu = cpu_seconds(daemon.process.pid)
        return {
            "seconds": round(listed.result() - began, 2),
            "kinds": sorted(kind for kind in after if after[kind] > before.get(kind, 0)),
            "stall_ms": probe.longest_ms(),
            "calm_stall_ms": calm_ms,
            "cpu_s": None if cpu is None or used is None else round(cpu - used, 2),
            "single_latency_ms": spread_ms(busy),
            "calm_single_latency_ms": spread_ms(calm),
            "rss_mb": memory_mb(daemon.process.pid),
        }

    async def _listed_again(self, metrics: ApiClient, before: Any) -> float:
        """When pods were listed again, to half a second."""
        async with asyncio.timeout(RELIST_SECONDS):
            while True:
                if (await relists(metrics)).get("Pod", 0) > before.get("Pod", 0):
                    return time.perf_counter()
                await asyncio.sleep(LOOK_SECONDS)

    async def _singles(self, name: str, until: asyncio.Task[Any]) -> list[float]:
        """Create one pod after another until a task is done; the seconds each waited for its node."""
        sent: dict[str, float] = {}
        while not until.done():
            pod = gang_objects(f"{name}-{len(sent)}", "default", "default", 1, SHAPES[0], FOREVER_SECONDS)[1]
            del pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
            sent[pod["metadata"]["name"]] = time.perf_counter()
            await create(self._sender, pod)
            await asyncio.sleep(SINGLE_SECONDS)
        until.result()
        await self.observer.until_all(sent.keys())
        return [self.observer.bound[pod] - began for pod, began in sent.items()]


def _progress(lines: list[bytes]) -> list[dict[str, Any]]:
    """What the daemon's log told while it listed."""
    told = [orjson.loads(line) for line in lines if line.startswith(b"{")]
    return [line for line in told if line.get("event") in ("listing", "mirror complete", "listed again")]


@click.command("bench-restart", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1, 100_000), default=5_000)
@click.option("--pods", type=click.IntRange(1, 1_000_000), default=140_000, help="All pods, pending ones included.")
@click.option("--pending", type=click.IntRange(1, 1_000_000), default=10_000, help="Pods that wait for the daemon.")
@click.option("--gang", type=click.IntRange(1, 1_000), default=20, help="Pods in a gang.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(nodes: int, pods: int, pending: int, gang: int, as_json: bool) -> None:
    """A restart in a big cluster: process start to first binding on one core, memory, stalls, and a relist."""
    result = measure_restart(Wanted(nodes, pods, pending, gang))
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        Console().print(as_table(result))


def as_table(result: dict[str, Any]) -> Table:
    """The figures for people."""
    table = Table(show_header=False, show_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    relist, stall, memory = result["relist"], result["stall_ms"], result["rss_mb"]
    core = "on any core" if result["core"] is None else "on one core"
    table.add_row("nodes, pods, pending", f"{result['nodes']:,}, {result['pods']:,}, {result['pending']:,}")
    table.add_row(f"process start to complete mirror, {core} (s)", f"{result['ready_s']:.2f}")
    table.add_row("process start to first binding (s)", f"{result['first_binding_s']:.2f}")
    table.add_row("process start to last binding (s)", f"{result['all_bound_s']:.2f}")
    told = " / ".join(f"{stall[part]:,}" for part in ("listing", "first_session", "binding"))
    table.add_row("longest stall while listing / first session / binding (ms)", told)
    table.add_row(
        "memory until the first binding / at its peak (MB)", f"{memory['until_first_binding']} / {memory['peak']}"
    )
    table.add_row("relist of pods (s), kinds listed again", f"{relist['seconds']:.2f}, {', '.join(relist['kinds'])}")
    table.add_row("longest stall during the relist (ms)", f"{relist['stall_ms']:,}")
    told = "{p50:,} / {p99:,}".format(**relist["single_latency_ms"])
    calm = "{p50:,} / {p99:,}".format(**relist["calm_single_latency_ms"])
    table.add_row("single pods meanwhile, p50 / p99 (ms)", f"{told} (else {calm})")
    return table
