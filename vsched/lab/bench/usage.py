"""``vsched bench-usage``: how evenly nodes are loaded with and without the plugin ``usage``.

The same pods are placed in the same order on the same nodes of an embedded cluster, twice: first under a policy
without the plugin ``usage``, then with it. The daemon reads the metrics APIs of the embedded cluster. The result is
what nodes use at the end, when all pods have run for the length of a window.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
import numpy as np
import yaml
from rich.table import Table

from vsched.apimachinery.manifests.node_groups import DEFAULT_CAPACITY
from vsched.apimachinery.meta.kinds import Obj
from vsched.errors import BadInput, Unavailable
from vsched.kube.client import ApiClient
from vsched.lab.bench.report import json_option, print_result, side_by_side
from vsched.lab.bench.words import usage as words
from vsched.lab.children import beside, daemon_child, scratch, stage
from vsched.lab.gangs import as_gang, submit
from vsched.lab.outcomes import PodOutcomes, pod_watch
from vsched.lab.sender import Sender
from vsched.sim.api.metrics_apis import RESOLUTION_SECONDS
from vsched.sim.controllers.pod_usage import CPU_USAGE, MEMORY_USAGE
from vsched.sim.fleet.sample_gangs import gang
from vsched.together import run_fast

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
"""Ranges of the part of their request that pods use: most gangs are quiet, the others need more than they requested."""
BUSY_PART = 0.4
WINDOW_SECONDS = 3.0
"""Window of the averages of the custom metrics API; short for minutes in a real cluster."""
PERIODS = {"prometheus_adaptor": f"{WINDOW_SECONDS:.0f}s", "metrics_server": f"{RESOLUTION_SECONDS:.0f}s"}
"""The window of each source."""
INTERVAL_SECONDS = 1.0
CROWDED = 0.8
"""A node that uses a larger part of its cpu than this counts as crowded."""
PATIENCE_SECONDS = 20.0
METRICS = {"cpu": "node_cpu_usage_avg", "memory": "node_memory_usage_avg"}
FOREVER_SECONDS = 86_400.0

TIERS = (("priority", "gang", PLUGIN), ("predicates", "proportion", "nodeorder"))


class UsageBenchSettings(NamedTuple):
    """The arguments of the command."""

    nodes: int
    filled: float
    """The part of all cpus that the pods request in the end."""
    seconds: float
    """How long pods are created."""
    source: str
    seed: int

    @property
    def gangs(self) -> int:
        return int(self.nodes * int(DEFAULT_CAPACITY["cpu"]) * self.filled / int(REQUEST["cpu"]) / GANG)


def measure(settings: UsageBenchSettings, window_seconds: float = WINDOW_SECONDS) -> dict[str, Any]:
    """The result as one document; load is averaged over ``window_seconds``."""
    if not settings.gangs:
        raise BadInput(words.no_gang(settings.filled, GANG))
    without = run_fast(_measured(settings, window_seconds, with_usage=False))
    return {
        "nodes": settings.nodes,
        "pods": settings.gangs * GANG,
        "source": settings.source,
        "seed": settings.seed,
        "without": without,
        "with": run_fast(_measured(settings, window_seconds, with_usage=True)),
    }


async def _measured(settings: UsageBenchSettings, window_seconds: float, *, with_usage: bool) -> dict[str, Any]:
    window = ("--usage", "1", "--usage-window", f"{window_seconds:g}s")
    async with scratch() as directory, stage(settings.nodes, directory, *window) as (cluster, client, sender):
        policy = directory / "policy.yaml"
        policy.write_text(policy_text(settings.source, with_usage=with_usage))
        outcomes = PodOutcomes()
        watch = pod_watch(client, outcomes)
        async with (
            daemon_child(cluster.kubeconfig, directory, policy=policy) as daemon,
            beside(cluster.child.ended(), daemon.child.ended(), watch.run()),
        ):
            await watch.synced.wait()
            await _fill(settings, sender, outcomes)
            await asyncio.sleep(window_seconds)
            found = {name: figures(await _used(client, metric)) for name, metric in METRICS.items()}
    pods = [*outcomes.on_nodes.values(), *([0] if len(outcomes.on_nodes) < settings.nodes else [])]
    return {**found, "most_pods": max(pods), "fewest_pods": min(pods)}


def policy_text(source: str, *, with_usage: bool) -> str:
    """The policy of a run, as YAML."""
    tiers: list[list[dict[str, Any]]] = [
        [{"name": name} for name in tier if with_usage or name != PLUGIN] for tier in TIERS
    ]
    policy: dict[str, Any] = {"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": tier} for tier in tiers]}
    if with_usage:
        tiers[0][-1]["arguments"] = {"usage.period": PERIODS[source]}
        policy["metrics"] = {"type": source, "interval": f"{INTERVAL_SECONDS:g}s"}
    return yaml.safe_dump(policy, sort_keys=False)


def workload(settings: UsageBenchSettings) -> list[list[Obj]]:
    """The gangs in the order of their creation; equal settings give equal gangs. Pods of a gang are alike."""
    draw = random.Random(settings.seed)
    gangs = []
    for number in range(settings.gangs):
        low, high = BUSY if draw.random() < BUSY_PART else QUIET
        objects = gang(f"gang-{number}", NAMESPACE, QUEUE, GANG, dict(REQUEST), FOREVER_SECONDS)
        share = draw.uniform(low, high)
        for pod in objects[1:]:
            used = {CPU_USAGE: f"{100 * share:.0f}%", MEMORY_USAGE: f"{100 * min(share, 1.0):.0f}%"}
            pod["metadata"]["annotations"].update(used)
        gangs.append(objects)
    return gangs


async def _fill(settings: UsageBenchSettings, sender: Sender, outcomes: PodOutcomes) -> None:
    """Create the gangs at an even pace, and wait until all are bound."""
    gangs = workload(settings)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number, objects in enumerate(gangs):
        await asyncio.sleep(began + settings.seconds * number / len(gangs) - loop.time())
        await submit(sender, outcomes, as_gang(objects, QUEUE, int(REQUEST["cpu"])), objects)
    pods = len(gangs) * GANG
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while outcomes.bound < pods:  # noqa: ASYNC110  # the record has no event to wait for
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise Unavailable(words.not_all_bound(pods - outcomes.bound, pods, PATIENCE_SECONDS)) from None


async def _used(client: ApiClient, metric: str) -> list[float]:
    """The used part of one resource of each node, 0 to 1."""
    listed = await client.get(f"/apis/custom.metrics.k8s.io/v1beta2/nodes/*/{metric}")
    return [_share(item["value"]) for item in listed["items"]]


def _share(value: str) -> float:
    return float(value.removesuffix("m")) / (1000.0 if value.endswith("m") else 1.0)


def figures(shares: Sequence[float]) -> dict[str, float]:
    """How loaded nodes are, and how evenly; ``variation`` is the standard deviation over the mean."""
    values = np.array(shares)
    mean, deviation = float(values.mean()), float(values.std())
    return {
        "mean": round(mean, 4),
        "max": round(float(values.max()), 4),
        "min": round(float(values.min()), 4),
        "variation": round(deviation / mean, 4) if mean else 0.0,
        "crowded": int((values > CROWDED).sum()),
    }


@click.command("bench-usage", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(2, 1_000), default=20)
@click.option("--filled", type=click.FloatRange(0.05, 0.95), default=0.8, help="Share of the cpu that is requested.")
@click.option("--seconds", type=click.FloatRange(1, 600), default=15.0, help="How long pods arrive in each run.")
@click.option(
    "--source",
    type=click.Choice(list(PERIODS)),
    default="prometheus_adaptor",
    help="The API of the embedded cluster to take the figures from.",
)
@click.option("--seed", type=int, default=1, help="Random seed of the workload.")
@json_option
def command(nodes: int, filled: float, seconds: float, source: str, seed: int, as_json: bool) -> None:
    """Measure how evenly nodes are loaded, with and without the usage plugin, if usage differs from requests.

    Six of ten gangs use a fifth of their request, the others half as much again as they asked for.
    """
    settings = UsageBenchSettings(nodes, filled, seconds, source, seed)
    print_result(measure(settings), as_json, lambda result: [as_table(result)])


ROWS = (
    (words.CPU_MEAN, "cpu", "mean", "{:.1%}"),
    (words.CPU_LOWEST, "cpu", "min", "{:.1%}"),
    (words.CPU_HIGHEST, "cpu", "max", "{:.1%}"),
    (words.CPU_VARIATION, "cpu", "variation", "{:.3f}"),
    (words.nodes_above(CROWDED), "cpu", "crowded", "{}"),
    (words.MEMORY_HIGHEST, "memory", "max", "{:.1%}"),
    (words.MEMORY_VARIATION, "memory", "variation", "{:.3f}"),
)


def as_table(result: dict[str, Any]) -> Table:
    """The result as a table, both runs side by side."""
    table = side_by_side(words.size(result["pods"], result["nodes"]), ("without usage", "with usage"))
    for label, resource, figure, form in ROWS:
        table.add_row(label, *(form.format(result[run][resource][figure]) for run in ("without", "with")))
    pods = [f"{result[run]['fewest_pods']} to {result[run]['most_pods']}" for run in ("without", "with")]
    table.add_row("pods a node", *pods)
    return table
