"""Plain loops at the same server once the daemon is gone: one binds pods, others write what Volcano does besides."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from vsched.api.resources import NODES
from vsched.lab.bench.live.objects import as_real
from vsched.lab.bench.live.phases import FOREVER_SECONDS, NAMESPACE, QUEUE
from vsched.lab.bench.live.posts import Job, PlainLoop, Send
from vsched.lab.bench.live.settings import LiveSettings
from vsched.lab.bench.live.volcano import PlacedGang, jobs
from vsched.lab.children import Stage
from vsched.lab.gangs import create
from vsched.lab.sender import Obj
from vsched.model.plan import Bind
from vsched.sim.fleet.sample_gangs import SHAPES, gang
from vsched.writes.bindings import binding_write

VOLCANO = ("placed_at_once", "seen_before")
"""The loops with Volcano's writes."""
NOBODY = "nobody"
"""The scheduler that these pods name."""


async def run_loops(stage: Stage, settings: LiveSettings) -> dict[str, Any]:
    """The figures of each loop, by its name."""
    nodes = [each["metadata"]["name"] for each in (await stage.client.list(NODES.path()))["items"]]
    loop = PlainLoop(stage.cluster.connection, stage.cluster.child.process.pid)
    bound = await loop.measure(_bindings(await _created("plain", stage, settings, nodes)), settings.posts)
    at_once = await loop.measure(jobs(await _created("once", stage, settings, nodes), waited=False), settings.posts)
    waited = await loop.measure(jobs(await _created("later", stage, settings, nodes), waited=True), settings.posts)
    return {"bindings": bound, "placed_at_once": at_once, "seen_before": waited}


def _bindings(gangs: list[PlacedGang]) -> Iterator[Job]:
    for found in gangs:
        for pod, node in zip(found.pods, found.nodes, strict=True):
            metadata = pod["metadata"]
            write = binding_write(Bind(metadata["uid"], metadata["namespace"], metadata["name"], node, ""))
            yield _Once(write.method, write.path, write.body)


class _Once:
    """A single request."""

    def __init__(self, method: str, path: str, body: bytes) -> None:
        self._request = method, path, body

    async def __call__(self, send: Send) -> None:
        await send(*self._request)


async def _created(prefix: str, stage: Stage, settings: LiveSettings, nodes: list[str]) -> list[PlacedGang]:
    """Pods that ask for nothing, in gangs, as the server shows them; and a node for each, one after the other."""
    gangs: list[PlacedGang] = []
    turn = 0
    for first in range(0, settings.posts, settings.gang):
        size = min(settings.gang, settings.posts - first)
        group, *pods = gang(f"{prefix}-{first}", NAMESPACE, QUEUE, size, dict(SHAPES[0]), FOREVER_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            made = tasks.create_task(create(stage.sender, group))
            each = [tasks.create_task(create(stage.sender, _dressed(pod, settings))) for pod in pods]
        places = [nodes[(turn + number) % len(nodes)] for number in range(size)]
        gangs.append(PlacedGang(made.result(), [found.result() for found in each], places))
        turn += size
    return gangs


def _dressed(pod: Obj, settings: LiveSettings) -> Obj:
    pod["spec"]["schedulerName"] = NOBODY
    pod["spec"]["containers"][0]["resources"] = {}
    return as_real(pod) if settings.real else pod
