"""``vsched bench-restart``: the time from a daemon's start to its first binding in a cluster full of pods.

An embedded cluster and a daemon run in processes of their own, the daemon on a single core. This process watches for
bindings, and asks the daemon every few milliseconds whether it is ready. The longest answer shows how long the daemon's
event loop was blocked. Then the bench makes the watch of pods expire.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson
from rich.table import Table

from vsched.apimachinery.manifests.node_groups import DEFAULT_CAPACITY
from vsched.daemon.words.log import CACHE_SYNCED
from vsched.errors import BadInput
from vsched.kube.client import ApiClient
from vsched.lab.bench.held.phases import Phases, held_rows
from vsched.lab.bench.held.run import LATE, HeldRun
from vsched.lab.bench.observer import Observer, Probe, memory_mb, relists
from vsched.lab.bench.report import figures_table, json_option, pair, print_result
from vsched.lab.bench.words import restart as words
from vsched.lab.children import Child, ClusterChild, beside, child, cpu_seconds, daemon_arguments, scratch, stage
from vsched.lab.gangs import create, single_pod
from vsched.lab.outcomes import spread_ms
from vsched.lab.sender import Sender
from vsched.sim.fleet.sample_gangs import SHAPES
from vsched.together import run_fast

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

\b
With --held, calls of the daemon's event loop are measured in processor time of
its thread. Pages are asked for, the policy is edited, pods with claims come,
large pods preempt others, and a second daemon takes over, which places as many
pods as were pending and is stopped meanwhile. For each part:
  held_ms          the longest call of the loop
  over_20_ms       how many took longer than 20 ms
  calls            the longest ones, and the functions in which they were
  thread_ms        the longest that another thread kept the loop from running
  collections      of garbage, in whichever thread
Measuring itself costs a little, so take the other figures without.
"""

REQUEST = {"cpu": "500m", "memory": "1Gi"}
CPUS = 0.5
FOREIGN_SHARE = 0.3
"""The part of the running pods that another scheduler has."""
NAMESPACES = 10
SINGLE_SECONDS = 0.1
"""Between two single pods."""
LOOK_SECONDS = 0.5
CALM_SECONDS = 3.0
RELIST_SECONDS = 600.0
FOREVER_SECONDS = 86_400.0


class RestartBenchSettings(NamedTuple):
    """The arguments of the command."""

    nodes: int
    pods: int
    pending: int
    gang: int
    held: bool = False

    @property
    def late(self) -> int:
        """Pods that only a second daemon places."""
        return self.pending if self.held else 0

    @property
    def running(self) -> int:
        """Pods that run from the start."""
        return self.pods - self.pending - self.late

    @property
    def large(self) -> dict[str, str]:
        """What a pod asks for that takes the room of all our pods on a node."""
        foreign = -(-int(self.running * FOREIGN_SHARE) // self.nodes)
        return {"cpu": str(int(int(DEFAULT_CAPACITY["cpu"]) - CPUS * foreign) - 1), "memory": "1Gi"}

    def residents(self) -> list[dict[str, Any]]:
        """The pods at the start, as the embedded cluster reads them."""
        running = self.running
        foreign = int(running * FOREIGN_SHARE)
        ours = {"gang": self.gang, "namespace": "training", "namespaces": NAMESPACES, "request": REQUEST}
        others = {"namespace": "web", "namespaces": 2 * NAMESPACES, "request": REQUEST}
        return [
            {"prefix": "train-", "count": running - foreign, **ours},
            {"prefix": "web-", "count": foreign, "scheduler": "default-scheduler", **others},
            {"prefix": "wait-", "count": self.pending, "running": False, **ours},
            {"prefix": "late-", "count": self.late, "running": False, "scheduler": LATE, **ours},
        ]


def measure_restart(settings: RestartBenchSettings, calm_seconds: float = CALM_SECONDS) -> dict[str, Any]:
    """The result as one document; single pods are timed for ``calm_seconds`` before the relist."""
    room = int(settings.nodes * int(DEFAULT_CAPACITY["cpu"]) / CPUS)
    if settings.pods > room or settings.pending < 1 or settings.running < 0:
        raise BadInput(words.no_room(settings.pods, settings.pending, settings.nodes, room))
    with apart() as core:
        return run_fast(_measured(settings, core, calm_seconds))


@contextmanager
def apart() -> Iterator[int | None]:
    """Keep this process and its other children off one core, and yield that core; None where cores cannot be set."""
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


async def _measured(settings: RestartBenchSettings, core: int | None, calm_seconds: float) -> dict[str, Any]:
    async with scratch() as directory:
        residents = directory / "residents.yaml"
        residents.write_bytes(orjson.dumps(settings.residents()))
        async with stage(settings.nodes, directory, "--residents", str(residents)) as (cluster, client, sender):
            bench = RestartBench(settings, cluster, client, sender, core, calm_seconds)
            async with beside(bench.observer.run(), cluster.child.ended()):
                return await bench.run(directory)


class RestartBench:
    """One run: a daemon is started at a cluster that runs already."""

    def __init__(
        self,
        settings: RestartBenchSettings,
        cluster: ClusterChild,
        client: ApiClient,
        sender: Sender,
        core: int | None,
        calm_seconds: float,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._sender = sender
        self._core = core
        self._calm_seconds = calm_seconds
        self._phases = Phases()
        self.observer = Observer(client)

    async def run(self, directory: Path) -> dict[str, Any]:
        """Measure the restart, then the relist."""
        await self.observer.opened.wait()
        arguments, listening, healthz = daemon_arguments(self._cluster.kubeconfig, level="info")
        log = directory / "scheduler.log"
        held = HeldRun(directory) if self._settings.held else None
        started = child("scheduler", arguments, log)
        if held is not None:
            self._phases = held.phases
            arguments += held.arguments
            started = child("scheduler", arguments, log, held.environment, module=held.module)
        self._phases.begin("start")
        async with ApiClient(healthz) as health, ApiClient(listening) as metrics:
            probe = Probe(health)
            began = time.perf_counter()
            async with started as daemon:
                if self._core is not None:
                    os.sched_setaffinity(daemon.process.pid, {self._core})
                async with beside(probe.run(), daemon.ended()):
                    restart = await self._restart(daemon, probe, began)
                    relist = await self._relist(daemon, probe, metrics)
                    if held is not None:
                        await held.further(
                            metrics, self._sender, self.observer, self._settings.nodes, self._settings.large
                        )
                if held is not None:
                    await held.hand_over(daemon.process, self._cluster.kubeconfig, self.observer)
        found = {"core": self._core, **restart, "relist": relist, "log": _progress(log.read_bytes().splitlines())}
        told = {"held": None} if held is None else {"held": held.held(), "problems": held.problems}
        return {**self._settings._asdict(), **found, **told}

    async def _restart(self, daemon: Child, probe: Probe, began: float) -> dict[str, Any]:
        observer, process = self.observer, daemon.process.pid
        await probe.answers.wait()
        self._phases.begin("lists")
        await probe.ready.wait()
        self._phases.begin("first session")
        listing_ms, cpu = probe.longest_ms(), cpu_seconds(process)
        await observer.until(1)
        self._phases.begin("bindings")
        memory = memory_mb(process)
        first_ms = probe.longest_ms()
        await observer.until(self._settings.pending)
        return {
            "ready_s": round(probe.ready_at - began, 2),
            "first_binding_s": round(min(observer.bound.values()) - began, 2),
            "all_bound_s": round(max(observer.bound.values()) - began, 2),
            "stall_ms": {"listing": listing_ms, "first_session": first_ms, "binding": probe.longest_ms()},
            "cpu_s_until_ready": cpu,
            "rss_mb": {"until_first_binding": memory.get("peak"), **memory_mb(process)},
        }

    async def _relist(self, daemon: Child, probe: Probe, metrics: ApiClient) -> dict[str, Any]:
        """Make the watch of pods expire, and place single pods until pods are listed again."""
        await asyncio.sleep(self._calm_seconds)
        before = await relists(metrics)
        self._phases.begin("single pods")
        calm = await self._singles("calm", asyncio.create_task(asyncio.sleep(self._calm_seconds)))
        calm_ms, used = probe.longest_ms(), cpu_seconds(daemon.process.pid)
        self._phases.begin("relist")
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
        """Wait until pods are listed again; returns when that was, to half a second."""
        async with asyncio.timeout(RELIST_SECONDS):
            while True:
                if (await relists(metrics)).get("Pod", 0) > before.get("Pod", 0):
                    return time.perf_counter()
                await asyncio.sleep(LOOK_SECONDS)

    async def _singles(self, name: str, until: asyncio.Task[Any]) -> list[float]:
        """Create one pod after another until a task is done; returns the seconds until each was bound."""
        sent: dict[str, float] = {}
        while not until.done():
            pod = single_pod(f"{name}-{len(sent)}", "default", "default", SHAPES[0], FOREVER_SECONDS)
            sent[pod["metadata"]["name"]] = time.perf_counter()
            await create(self._sender, pod)
            await asyncio.sleep(SINGLE_SECONDS)
        until.result()
        await self.observer.until_all(sent.keys())
        return [self.observer.bound[pod] - began for pod, began in sent.items()]


def _progress(lines: list[bytes]) -> list[dict[str, Any]]:
    """The lines of the daemon's log about its lists."""
    records = [orjson.loads(line) for line in lines if line.startswith(b"{")]
    return [record for record in records if record.get("event") in ("listing", CACHE_SYNCED, "relisted")]


@click.command("bench-restart", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1, 100_000), default=5_000)
@click.option("--pods", type=click.IntRange(1, 1_000_000), default=140_000, help="All pods, pending ones included.")
@click.option("--pending", type=click.IntRange(1, 1_000_000), default=10_000, help="Pods that wait for the daemon.")
@click.option("--gang", type=click.IntRange(1, 1_000), default=20, help="Pods in a gang.")
@click.option("--held", is_flag=True, help="Also measure what holds the daemon's event loop, and for how long.")
@json_option
def command(nodes: int, pods: int, pending: int, gang: int, held: bool, as_json: bool) -> None:
    """Measure a restart in a big cluster: process start to first binding on one core, memory, stalls, and a relist."""
    settings = RestartBenchSettings(nodes, pods, pending, gang, held)
    print_result(measure_restart(settings), as_json, lambda result: [as_table(result)])


def as_table(result: dict[str, Any]) -> Table:
    """The result as a table."""
    relist, stall, memory = result["relist"], result["stall_ms"], result["rss_mb"]
    core = words.ON_ANY_CORE if result["core"] is None else words.ON_ONE_CORE
    stalls = " / ".join(f"{stall[part]:,}" for part in ("listing", "first_session", "binding"))
    singles = f"{pair(relist['single_latency_ms'])} (else {pair(relist['calm_single_latency_ms'])})"
    peaks = f"{memory['until_first_binding']} / {memory['peak']}"
    return figures_table(
        [
            ("nodes, pods, pending", f"{result['nodes']:,}, {result['pods']:,}, {result['pending']:,}"),
            (words.to_complete_mirror(core), f"{result['ready_s']:.2f}"),
            (words.TO_FIRST_BINDING, f"{result['first_binding_s']:.2f}"),
            (words.TO_LAST_BINDING, f"{result['all_bound_s']:.2f}"),
            (words.LONGEST_STALLS, stalls),
            (words.MEMORY, peaks),
            (words.RELIST, f"{relist['seconds']:.2f}, {', '.join(relist['kinds'])}"),
            (words.RELIST_STALL, f"{relist['stall_ms']:,}"),
            (words.SINGLE_PODS, singles),
            *(row for part, found in (result["held"] or {}).items() for row in held_rows(part, found)),
        ]
    )
