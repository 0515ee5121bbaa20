"""One run of ``vsched bench-live``: a cluster and a daemon in processes of their own, and this one, the user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from vsched.api.resources import NODES
from vsched.apimachinery.manifests.node_groups import DEFAULT_CAPACITY
from vsched.errors import BadInput
from vsched.lab.bench.live import profiled
from vsched.lab.bench.live.loops import VOLCANO, run_loops
from vsched.lab.bench.live.phases import DAEMON, NAMESPACE, SERVER, LiveBench
from vsched.lab.bench.live.settings import LiveSettings
from vsched.lab.bench.words import live as words
from vsched.lab.children import Stage, beside, daemon_child, scratch, stage
from vsched.lab.claiming import fixtures
from vsched.together import run_fast

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
