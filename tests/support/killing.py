"""Daemons that are killed: nothing more of them reaches the API server, and they tidy up nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support import devices, volumes
from tests.support.builders import merged
from tests.support.claiming import NS, RESOURCE_CLAIMS, VOLUME_CLAIMS, VOLUMES
from tests.support.fault_proxy import faulty
from tests.support.running import pod
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.lab.soak import claims
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
ANSWER_SECONDS = 0.5
CLAIM_WRITES = (
    r"(PATCH|POST|DELETE) (/api/v1/namespaces/[^/]+/persistentvolumeclaims/.*|/api/v1/persistentvolumes/.*"
    r"|/apis/resource\.k8s\.io/.*|/api/v1/namespaces/[^/]+/pods/[^/]+/binding)"
)
"""What a transaction writes: claims, volumes and bindings."""


def member(name: str, group: str, disks: Sequence[str] = (), template: str = "", cpu: str = "1", **spec: Any) -> Obj:
    """A pod of a gang with PersistentVolumeClaims, and with a device claim from a template."""
    made = pod(name, group, cpu)
    about: Obj = {"volumes": volumes.claim_volumes(*disks)} if disks else {}
    if template:
        about["resourceClaims"] = devices.pod_claims(gpu=f"template/{template}")
    return merged(made, {"spec": {**about, **spec}})


async def killed_after(
    cluster: Cluster, what: str, count: int, done: Callable[[Cluster], bool] | None = None, **options: Any
) -> bool:
    """Run a daemon until the n-th request that matches, and kill it; False where it was done before that.

    ``done`` says when there is nothing more to wait for: by default once all pods are bound.
    """
    is_done = done or all_bound
    async with faulty(cluster.url) as proxy, ApiClient(Connection(proxy.url)) as client:
        proxy.cut_after(what, count)
        daemon = Daemon(Options(listen_address="", healthz_address="", **options), client, REGISTRY)
        running = asyncio.create_task(daemon.run())
        try:
            await until(lambda: proxy.cut.is_set() or is_done(cluster))
            # The server has done the last write before the proxy hears of it.
            with suppress(TimeoutError):
                await asyncio.wait_for(proxy.cut.wait(), ANSWER_SECONDS)
            return proxy.cut.is_set()
        finally:
            proxy.cut.set()
            running.cancel()
            await asyncio.wait((running,))


async def killed_for_real(cluster: Cluster, what: str, count: int, kubeconfig: Path) -> None:
    """Run a daemon in a process of its own until the n-th request that matches, and end it with ``kill -9``."""
    async with faulty(cluster.url) as proxy:
        proxy.cut_after(what, count)
        _write_kubeconfig(cluster, kubeconfig, proxy.url)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "vsched", "run", "--kubeconfig", str(kubeconfig)),
            *("--listen-address", "", "--healthz-address", ""),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            env={**os.environ, "HOME": "/nonexistent"},
        )
        try:
            await until(proxy.cut.is_set)
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()


def _write_kubeconfig(cluster: Cluster, kubeconfig: Path, url: str) -> None:
    cluster.write_kubeconfig(kubeconfig)
    kubeconfig.write_text(kubeconfig.read_text().replace(cluster.url, url))


def all_bound(cluster: Cluster) -> bool:
    """Whether every pod has a node."""
    return all(each["spec"].get("nodeName") for each in cluster.client.list("pods"))


# -- what must hold


def broken_promises(cluster: Cluster) -> list[str]:
    """What must not be once everything is at rest: ``wrong`` things, and claims that are reserved for nobody."""
    pods, reserved = cluster.client.list("pods"), cluster.client.list(RESOURCE_CLAIMS)
    return [*wrong(cluster), *claims.for_nobody(pods, reserved)]


def wrong(cluster: Cluster) -> list[str]:
    """What must never be, not even for a moment."""
    kinds = ("pods", RESOURCE_CLAIMS, VOLUME_CLAIMS)
    return list(claims.wrong(*(cluster.client.list(kind) for kind in kinds)))


def is_free(cluster: Cluster) -> bool:
    """Whether nothing at all is reserved: no devices, no node for a volume, no volume for a claim that is not bound."""
    waiting = [each for each in cluster.client.list(VOLUME_CLAIMS, NS) if not each["spec"].get("volumeName")]
    free = [each for each in cluster.client.list(VOLUMES) if each["status"].get("phase") != "Bound"]
    return (
        not any((each.get("status") or {}).get("allocation") for each in cluster.client.list(RESOURCE_CLAIMS))
        and not any((each.get("status") or {}).get("reservedFor") for each in cluster.client.list(RESOURCE_CLAIMS))
        and not any(volumes.SELECTED_NODE in (each["metadata"].get("annotations") or {}) for each in waiting)
        and not any(each["spec"].get("claimRef") for each in free)
    )
