"""``vsched bench-usage``: how evenly nodes work where pods use other than they ask for, without usage and with it.

Twice the same pods in the same order on the same nodes of an embedded cluster, first under the policy without the
plugin ``usage``, then with it. The daemon has its figures from the embedded cluster's own metrics APIs, as from any
other's. What is told is what nodes use at the end, when all pods have run for as long as a window is.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import click
import numpy as np
import orjson
import yaml
from rich.console import Console
from rich.table import Table

from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.lab.children import cluster_child, daemon_child, scratch
from vsched.lab.gangs import as_gang, run_fast, submit
from vsched.lab.outcomes import Book, pod_watch
from vsched.lab.sender import Sender
from vsched.sim.api.metrics_apis import RESOLUTION_SECONDS
from vsched.sim.controllers.load import CPU_USAGE, MEMORY_USAGE
from vsched.sim.fleet.nodes import DEFAULT_CAPACITY
from vsched.sim.fleet.workload import gang
from vsched.sim.store.kinds import Obj
from vsched.together import first_error

EPILOG = """\b
Examples:
  vsched bench-usage
  vsched bench-usage --nodes 50 --filled 0.6 --json
  vsched bench-usage --source metrics_server
"""

PLUGIN = "usage"
QUEUE, NAMESPACE = "default", "default"
GANG = 3
REQUEST = {"cpu": "2", "memory": "8Gi"}
QUIET, BUSY = (0.05, 0.35), (1.2, 1.8)
"""Shares of the request that pods use: most gangs wait for something, the others need more than they said."""
BUSY_PART = 0.4
WINDOW_SECONDS = 3.0
"""What the averages of the custom metrics API are over: minutes of a real cluster, in time lapse."""
PERIODS = {"prometheus_adaptor": f"{WINDOW_SECONDS:.0f}s", "metrics_server": f"{RESOLUTION_SECONDS:.0f}s"}
"""What the averages of each source are over."""
INTERVAL_SECONDS = 1.0
CROWDED = 0.8
"""A node that uses more of its cpu than this has no reserve left."""
PATIENCE_SECONDS = 20.0
METRICS = {"cpu": "node_cpu_usage_avg", "memory": "node_memory_usage_avg"}
FOREVER_SECONDS = 86_400.0

TIERS = (("priority", "gang", PLUGIN), ("predicates", "proportion", "nodeorder"))


class Setting(NamedTuple):
    """What the command was told."""

    nodes: int
    filled: float
    """How much of the cpu is asked for in the end."""
    seconds: float
    """How long pods come in."""
    source: str
    seed: int

    @property
    def gangs(self) -> int:
        return int(self.nodes * int(DEFAULT_CAPACITY["cpu"]) * self.filled / int(REQUEST["cpu"]) / GANG)


def measure(setting: Setting, window_seconds: float = WINDOW_SECONDS) -> dict[str, Any]:
    """Everything that is printed, as one document; load is the mean of so many seconds."""
    if not setting.gangs:
        raise BadInput(f"--filled {setting.filled:g}: no gang of {GANG} pods comes of that: ask for more of the nodes")
    without = run_fast(_measured(setting, window_seconds, with_usage=False))
    return {
        "nodes": setting.nodes,
        "pods": setting.gangs * GANG,
        "source": setting.source,
        "seed": setting.seed,
        "without": without,
        "with": run_fast(_measured(setting, window_seconds, with_usage=True)),
    }


async def _measured(setting: Setting, window_seconds: float, *, with_usage: bool) -> dict[str, Any]:
    window = ("--usage", "1", "--usage-window", f"{window_seconds:g}s")
    async with AsyncExitStack() as stack:
        directory = await stack.enter_async_context(scratch())
        policy = directory / "policy.yaml"
        await asyncio.to_thread(policy.write_text, policy_text(setting.source, with_usage=with_usage))
        cluster = await stack.enter_async_context(cluster_child(setting.nodes, directory, *window))
        daemon = await stack.enter_async_context(daemon_child(cluster.kubeconfig, directory, policy=policy))
        client = await stack.enter_async_context(ApiClient(cluster.connection))
        sender = await stack.enter_async_context(Sender(cluster.connection.server))
        try:
            async with asyncio.TaskGroup() as group:
                book = Book()
                watch = pod_watch(client, book)
                others = [group.create_task(found.ended()) for found in (cluster.child, daemon.child)]
                others.append(group.create_task(watch.run()))
                await watch.synced.wait()
                await _fill(setting, sender, book)
                await asyncio.sleep(window_seconds)
                found = {name: figures(await _used(client, metric)) for name, metric in METRICS.items()}
                for task in others:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise first_error(errors) from errors
    return {**found, "most_pods": max(book.on_nodes.values()), "fewest_pods": _fewest(book, setting.nodes)}


def policy_text(source: str, *, with_usage: bool) -> str:
    """The policy of one run."""
    tiers: list[list[dict[str, Any]]] = [
        [{"name": name} for name in tier if with_usage or name != PLUGIN] for tier in TIERS
    ]
    policy: dict[str, Any] = {"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": tier} for tier in tiers]}
    if with_usage:
        tiers[0][-1]["arguments"] = {"usage.period": PERIODS[source]}
        policy["metrics"] = {"type": source, "interval": f"{INTERVAL_SECONDS:g}s"}
    return yaml.safe_dump(policy, sort_keys=False)


def workload(setting: Setting) -> list[list[Obj]]:
    """The gangs in the order in which they come; equal settings give equal ones. Pods of a gang are alike."""
    draw = random.Random(setting.seed)
    gangs = []
    for number in range(setting.gangs):
        low, high = BUSY if draw.random() < BUSY_PART else QUIET
        objects = gang(f"gang-{number}", NAMESPACE, QUEUE, GANG, dict(REQUEST), FOREVER_SECONDS)
        share = draw.uniform(low, high)
        for pod in objects[1:]:
            used = {CPU_USAGE: f"{100 * share:.0f}%", MEMORY_USAGE: f"{100 * min(share, 1.0):.0f}%"}
            pod["metadata"]["annotations"].update(used)
        gangs.append(objects)
    return gangs


async def _fill(setting: Setting, sender: Sender, book: Book) -> None:
    """Has the gangs come in at an even pace, and waits until all are on nodes."""
    gangs = workload(setting)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number, objects in enumerate(gangs):
        await asyncio.sleep(began + setting.seconds * number / len(gangs) - loop.time())
        await submit(sender, book, as_gang(objects, QUEUE, int(REQUEST["cpu"])), objects)
    pods = len(gangs) * GANG
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while book.bound < pods:  # noqa: ASYNC110  # the book is kept, it does not tell
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise Unavailable(
            f"{pods - book.bound} of {pods} pods were not bound within {PATIENCE_SECONDS:.0f} s"
        ) from None


async def _used(client: ApiClient, metric: str) -> list[float]:
    """What nodes use of one resource, 0 to 1."""
    listed = await client.get(f"/apis/custom.metrics.k8s.io/v1beta2/nodes/*/{metric}")
    return [_share(item["value"]) for item in listed["items"]]


def _share(value: str) -> float:
    return float(value.removesuffix("m")) / (1000.0 if value.endswith("m") else 1.0)


def figures(shares: Sequence[float]) -> dict[str, float]:
    """How loaded nodes are, and how evenly: the coefficient of variation is the deviation over the mean."""
    values = np.array(shares)
    mean, deviation = float(values.mean()), float(values.std())
    return {
        "mean": round(mean, 4),
        "max": round(float(values.max()), 4),
        "min": round(float(values.min()), 4),
        "variation": round(deviation / mean, 4) if mean else 0.0,
        "crowded": int((values > CROWDED).sum()),
    }


def _fewest(book: Book, nodes: int) -> int:
    return min(book.on_nodes.values()) if len(book.on_nodes) == nodes else 0


@click.command("bench-usage", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(2, 1_000), default=20)
@click.option("--filled", type=click.FloatRange(0.05, 0.95), default=0.8, help="How much of the cpu is asked for.")
@click.option("--seconds", type=click.FloatRange(1, 600), default=15.0, help="How long pods come in, in each run.")
@click.option(
    "--source",
    type=click.Choice(list(PERIODS)),
    default="prometheus_adaptor",
    help="Which of the embedded cluster's APIs the figures come from.",
)
@click.option("--seed", type=int, default=1, help="Draws another workload.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(nodes: int, filled: float, seconds: float, source: str, seed: int, as_json: bool) -> None:
    """How evenly nodes are loaded where pods use other than they ask for, without the usage plugin and with it.

    Six of ten gangs use a fifth of their request, the others half as much again as they asked for.
    """
    result = measure(Setting(nodes, filled, seconds, source, seed))
    if as_json:
        click.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2))
    else:
        Console().print(as_table(result))


ROWS = (
    ("cpu of nodes, mean", "cpu", "mean", "{:.1%}"),
    ("cpu of nodes, lowest", "cpu", "min", "{:.1%}"),
    ("cpu of nodes, highest", "cpu", "max", "{:.1%}"),
    ("cpu of nodes, coefficient of variation", "cpu", "variation", "{:.3f}"),
    (f"nodes above {CROWDED:.0%} of their cpu", "cpu", "crowded", "{}"),
    ("memory of nodes, highest", "memory", "max", "{:.1%}"),
    ("memory of nodes, coefficient of variation", "memory", "variation", "{:.3f}"),
)


def as_table(result: dict[str, Any]) -> Table:
    """The figures for people, side by side."""
    table = Table(title=f"{result['pods']:,} pods on {result['nodes']:,} nodes", show_edge=False, title_justify="left")
    table.add_column("", no_wrap=True)
    for run in ("without", "with"):
        table.add_column(f"{run} usage", justify="right")
    for label, resource, figure, form in ROWS:
        table.add_row(label, *(form.format(result[run][resource][figure]) for run in ("without", "with")))
    pods = [f"{result[run]['fewest_pods']} to {result[run]['most_pods']}" for run in ("without", "with")]
    table.add_row("pods a node", *pods)
    return table
