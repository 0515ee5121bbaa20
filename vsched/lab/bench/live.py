"""``vsched bench-live``: measures the way from a pod's creation to its binding, over HTTP.

Three processes: an embedded cluster, a daemon, and this one, the user. Latency counts from just before a pod's POST
until a watch of this process shows the pod on a node. So it includes the time for which the daemon waits for more
changes, and the way back.

With ``--claims``, each pod has a volume that is made for it on its node, or a device by a claim from a template.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import click
import orjson
from rich.table import Table

from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.watch.reflector import Reflector
from vsched.lab.bench.observer import counter
from vsched.lab.bench.report import figures_table, json_option, pair, print_result, seed_option
from vsched.lab.children import DaemonChild, beside, cpu_seconds_of, daemon_child, scratch, stage
from vsched.lab.claiming import DEVICES, VOLUMES, fixtures, with_claims
from vsched.lab.gangs import as_gang, single_pod, submit
from vsched.lab.outcomes import PodOutcomes, SubmittedGang, pod_watch, spread_ms
from vsched.lab.sender import Obj, Sender
from vsched.mirror.resources import NODES
from vsched.sim.fleet.nodes import DEFAULT_CAPACITY
from vsched.sim.fleet.sample_gangs import SHAPES, gang
from vsched.together import run_fast

EPILOG = """\b
Examples:
  vsched bench-live
  vsched bench-live --nodes 1000 --pods 10000 --gang 50 --json
  vsched bench-live --nodes 50 --pods 400 --claims devices
"""

QUEUE, NAMESPACE = "default", "default"
GAP_SECONDS = (0.02, 0.06)
"""Range of the pause between two single pods; random, so that it is not in step with any timer."""
QUIET_SECONDS = 1.0
"""The cluster counts as idle once nothing has happened to pods for so long."""
PATIENCE_SECONDS = 120.0
FOREVER_SECONDS = 86_400.0


def measure_end_to_end(
    nodes: int, pods: int, gang: int, seed: int, singles: int = 100, claims: str | None = None
) -> dict[str, Any]:
    """The result as one document. ``claims`` is what each pod claims."""
    room = nodes * int(DEFAULT_CAPACITY["cpu"])
    if pods + singles + 1 > room:
        raise BadInput(f"{pods} pods and {singles} single ones do not fit {nodes} nodes: expected at most {room - 1}")
    return run_fast(_measured(nodes, pods, gang, seed, singles, claims))


async def _measured(nodes: int, pods: int, gang: int, seed: int, singles: int, claims: str | None) -> dict[str, Any]:
    async with (
        scratch() as directory,
        stage(nodes, directory) as (cluster, client, sender),
        _offered(claims, client, sender),
        daemon_child(cluster.kubeconfig, directory) as daemon,
    ):
        bench = LiveBench(client, sender, daemon, random.Random(seed), claims)
        processes = {
            "cluster": cluster.child.process.pid,
            "scheduler": daemon.child.process.pid,
            "client": os.getpid(),
        }
        async with beside(cluster.child.ended(), daemon.child.ended(), bench.watch.run()):
            result = await bench.run(pods, gang, singles, processes)
    return {"nodes": nodes, "pods": pods, "gang": gang, "claims": claims, **result}


@asynccontextmanager
async def _offered(claims: str | None, client: ApiClient, sender: Sender) -> AsyncIterator[None]:
    """Before the daemon starts, create what pods claim: on every node as many devices as it can have pods."""
    if claims is not None:
        nodes = [each["metadata"]["name"] for each in (await client.list(NODES.path()))["items"]]
        for path, found in fixtures(nodes, [NAMESPACE], int(DEFAULT_CAPACITY["cpu"])):
            await sender.send("POST", path, orjson.dumps(found))
    yield


class LiveBench:
    """Creates pods and waits until they are bound."""

    def __init__(
        self, client: ApiClient, sender: Sender, daemon: DaemonChild, draw: random.Random, claims: str | None
    ) -> None:
        self._sender = sender
        self._daemon = daemon
        self._draw = draw
        self._claims = claims
        self._moved = asyncio.Event()
        self._outcomes = PodOutcomes(self._gang_bound)
        self.watch: Reflector[Any] = pod_watch(client, self._outcomes)

    def _gang_bound(self, gang: SubmittedGang) -> None:
        self._moved.set()

    async def run(self, pods: int, gang: int, singles: int, processes: dict[str, int]) -> dict[str, Any]:
        """Run the burst first, then one pod at a time."""
        await self.watch.synced.wait()
        await self._single("warm-up")
        before, cpu_before = await self._writes(), cpu_seconds_of(processes)
        burst = await self._burst(pods, gang)
        await self._quiet()
        writes = await self._writes() - before
        cpu = {name: round(used - cpu_before[name], 2) for name, used in cpu_seconds_of(processes).items()}
        latencies = []
        for number in range(singles):
            await asyncio.sleep(self._draw.uniform(*GAP_SECONDS))
            latencies.append(await self._single(f"single-{number}"))
        return {
            **burst,
            "api_writes_per_pod": {kind: round(count / pods, 3) for kind, count in sorted(writes.items())},
            "cpu_seconds": cpu,
            "cpu_ms_per_pod": {name: round(seconds / pods * 1e3, 3) for name, seconds in cpu.items()},
            "single_pods": singles,
            "single_latency_ms": spread_ms(latencies),
        }

    async def _burst(self, pods: int, size: int) -> dict[str, Any]:
        gangs = [
            self._claiming(
                gang(f"gang-{first}", NAMESPACE, QUEUE, min(size, pods - first), dict(SHAPES[0]), FOREVER_SECONDS)
            )
            for first in range(0, pods, size)
        ]
        self._outcomes.latencies.clear()
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for objects in gangs:
                group.create_task(submit(self._sender, self._outcomes, as_gang(objects, QUEUE, 1), objects))
        created = time.perf_counter()
        await self._until_bound(pods + 1)
        ended = max(found.bound_at for found in self._outcomes.gangs.values())
        return {
            "seconds": round(ended - began, 3),
            "pods_per_second": round(pods / (ended - began), 1),
            "create_seconds": round(created - began, 3),
            "latency_ms": spread_ms(self._outcomes.latencies),
        }

    async def _single(self, name: str) -> float:
        """Create a single pod; returns the seconds until it was bound."""
        [pod] = self._claiming([single_pod(name, NAMESPACE, QUEUE, dict(SHAPES[0]), FOREVER_SECONDS)])
        lone = as_gang([pod], QUEUE, 1)
        expected = self._outcomes.bound + 1
        await submit(self._sender, self._outcomes, lone, [pod])
        await self._until_bound(expected)
        return lone.bound_at - lone.began

    def _claiming(self, objects: list[Obj]) -> list[Obj]:
        for found in objects:
            if found["kind"] == "Pod" and self._claims is not None:
                with_claims(found, {self._claims})
        return objects

    async def _until_bound(self, count: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while self._outcomes.bound < count:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            missing = count - self._outcomes.bound
            raise Unavailable(f"{missing} pods were not bound within {PATIENCE_SECONDS:.0f} s") from None

    async def _quiet(self) -> None:
        """Wait until nothing happens to pods any more."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            events = -1
            while events != self.watch.statistics.events:
                events = self.watch.statistics.events
                await asyncio.sleep(QUIET_SECONDS)

    async def _writes(self) -> Counter[str]:
        """The number of the daemon's writes so far, by kind."""
        async with ApiClient(self._daemon.listening) as client:
            return await counter(client, "vsched_api_writes_total", "kind")


@click.command("bench-live", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1, 5_000), default=200)
@click.option("--pods", type=click.IntRange(1, 100_000), default=2_000, help="Pods to create and have placed.")
@click.option("--gang", type=click.IntRange(1, 1_000), default=20, help="Pods in a gang.")
@click.option("--singles", type=click.IntRange(0, 10_000), default=100, help="Pods created one at a time afterwards.")
@click.option(
    "--claims", type=click.Choice([VOLUMES, DEVICES]), help="Each pod claims a volume made on its node, or a device."
)
@seed_option
@json_option
def command(nodes: int, pods: int, gang: int, singles: int, claims: str | None, seed: int, as_json: bool) -> None:
    """The whole way on an embedded cluster: first creation to last binding, and a single pod's latency."""
    print_result(
        measure_end_to_end(nodes, pods, gang, seed, singles, claims), as_json, lambda result: [as_table(result)]
    )


def as_table(result: dict[str, Any]) -> Table:
    """The result as a table."""
    writes = ", ".join(f"{kind} {count:g}" for kind, count in result["api_writes_per_pod"].items())
    times = ", ".join(f"{name} {seconds:g}" for name, seconds in result["cpu_seconds"].items())
    spent = ", ".join(f"{name} {each:.2f}" for name, each in result["cpu_ms_per_pod"].items())
    return figures_table(
        [
            ("pods, gang, nodes", f"{result['pods']:,}, {result['gang']:,}, {result['nodes']:,}"),
            ("each pod claims", {VOLUMES: "a volume", DEVICES: "a device"}.get(result["claims"], "nothing")),
            ("first creation to last binding (s)", f"{result['seconds']:.2f}"),
            ("pods a second", f"{result['pods_per_second']:,.0f}"),
            ("creating alone (s)", f"{result['create_seconds']:.2f}"),
            ("creation to binding in the burst, p50 / p99 (ms)", pair(result["latency_ms"])),
            ("creation to binding one pod at a time, p50 / p99 (ms)", pair(result["single_latency_ms"])),
            ("daemon's writes a pod", writes),
            ("processor time (s)", times),
            ("the same for each pod of the burst (ms)", spent),
        ]
    )
