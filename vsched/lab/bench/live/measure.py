"""One run of ``vsched bench-live``: a cluster and a daemon in processes of their own, and this one, the user."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from vsched.api.resources import NODES
from vsched.apimachinery.manifests.node_groups import DEFAULT_CAPACITY
from vsched.errors import BadInput
from vsched.lab.bench.live import profiled
from vsched.lab.bench.live.objects import as_real
from vsched.lab.bench.live.phases import DAEMON, FOREVER_SECONDS, NAMESPACE, QUEUE, SERVER, LiveBench
from vsched.lab.bench.live.posts import Job, PlainLoop, Send
from vsched.lab.bench.live.settings import LiveSettings
from vsched.lab.bench.live.volcano import PlacedGang, jobs
from vsched.lab.bench.words import live as words
from vsched.lab.children import Stage, beside, daemon_child, scratch, stage
from vsched.lab.claiming import fixtures
from vsched.lab.gangs import create
from vsched.lab.sender import Obj
from vsched.model.plan import Bind
from vsched.sim.fleet.sample_gangs import SHAPES, gang
from vsched.together import run_fast
from vsched.writes.bindings import binding_write

Environment = Mapping[str, str] | None


def measure_end_to_end(
    settings: LiveSettings, environment: Environment = None, profile: Path | None = None
) -> dict[str, Any]:
    """The result as one document.

    ``environment`` is that of the daemon, with which it may be of another commit. Where its processor time went is
    written to the file ``profile``.
    """
    settings.check()
    if profile is not None:
        _check_writable(profile)
    return run_fast(_measured(settings, environment, profile))


def _check_writable(profile: Path) -> None:
    """Before anything starts: the daemon would only find out in the middle."""
    try:
        profile.write_text("", encoding="utf-8")
    except OSError as error:
        raise BadInput(words.not_writable(str(profile), error.strerror)) from None


async def _measured(settings: LiveSettings, environment: Environment, profile: Path | None) -> dict[str, Any]:
    server: tuple[str, ...] = ("--tls",) if settings.tls else ("--no-tls",)
    if settings.server_ms:
        server += ("--write-ms", str(settings.server_ms))
    async with scratch() as directory, stage(settings.nodes, directory, *server) as found:
        await _offer(settings, found)
        result = await _at_a_daemon(settings, found, directory, environment, profile)
        loops = None
        if settings.posts:
            async with beside(found.cluster.child.ended()):
                loops = await run_loops(found, settings)
    told = {"nodes": settings.nodes, "gang": settings.gang, "claims": settings.claims, "tls": settings.tls}
    result = {**told, "real_size": settings.real, "server_ms": settings.server_ms, **result, "loops": loops}
    return result | ({} if loops is None else compared(result, loops))


async def _at_a_daemon(
    settings: LiveSettings, found: Stage, directory: Path, environment: Environment, profile: Path | None
) -> dict[str, Any]:
    async with _daemon(found, directory, environment, profile) as daemon:
        processes = {
            SERVER: found.cluster.child.process.pid,
            DAEMON: daemon.child.process.pid,
            "client": os.getpid(),
        }
        bench = LiveBench(found, daemon, settings, processes, profile is not None)
        async with beside(found.cluster.child.ended(), daemon.child.ended(), bench.watch.run()):
            return await bench.run()


def _daemon(found: Stage, directory: Path, environment: Environment, profile: Path | None) -> Any:
    kubeconfig = found.cluster.kubeconfig
    if profile is None:
        return daemon_child(kubeconfig, directory, environment)
    told = {**(environment or os.environ), profiled.VARIABLE: str(profile.absolute())}
    return daemon_child(kubeconfig, directory, told, module=profiled.__name__)


async def _offer(settings: LiveSettings, found: Stage) -> None:
    """Before the daemon starts, create what pods claim: on every node as many devices as it can have pods."""
    if settings.claims is None:
        return
    nodes = [each["metadata"]["name"] for each in (await found.client.list(NODES.path()))["items"]]
    for path, body in fixtures(nodes, [NAMESPACE], int(DEFAULT_CAPACITY["cpu"])):
        await found.sender.send("POST", path, orjson.dumps(body))


def compared(result: Mapping[str, Any], loops: Mapping[str, Any]) -> dict[str, Any]:
    """What a pod costs the daemon by what a post costs the plain loop; and what Volcano's writes take by what ours do.

    That is compared where pods wait already, as those of the loops do: pods a second, and processor time of the server,
    which limits them where the server is what is slow, and which other work on the machine changes little.
    """
    post, spent, waiting = loops["bindings"]["cpu_ms_per_pod"], result["daemon_cpu_ms_per_pod"], result["waiting"]
    ratio = round(spent / post, 2) if spent is not None else None
    if waiting is None:
        return {"ratio": ratio, "times_volcano": None, "server_times_volcano": None}
    rate, served = waiting["pods_per_second"], waiting["cpu_ms_per_pod"].get(SERVER)
    return {
        "ratio": ratio,
        "times_volcano": {name: round(rate / loops[name]["pods_per_second"], 2) for name in VOLCANO},
        "server_times_volcano": (
            {name: round(loops[name]["server_cpu_ms_per_pod"] / served, 2) for name in VOLCANO} if served else None
        ),
    }


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
