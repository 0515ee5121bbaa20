"""A namespace that is being deleted: nothing is created in it, and nobody is told of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import merged
from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.running import gang, node, scheduling, sessions
from tests.support.shell import shell
from tests.support.vcjob_cluster import VCJOBS, on, task, vcjob
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
HERE: Obj = {"metadata": {"namespace": "doomed"}}
NAMESPACE: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}}
HELD: Obj = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "held", "namespace": "doomed", "finalizers": ["example.com/held"]},
}
"""Keeps the namespace from going for good."""
TRAIN = merged(
    vcjob("train", task("worker", 2), plugins={"svc": [], "ssh": []}, policies=[on("*", "RestartJob")]), HERE
)


class Posted:
    """What is created in the namespace."""

    def __init__(self, proxy: FaultProxy) -> None:
        self.paths: list[str] = []
        proxy.on_request = self._see

    def _see(self, method: str, path: str) -> None:
        if method == "POST" and "/namespaces/doomed/" in path:
            self.paths.append(path)


@asynccontextmanager
async def doomed() -> AsyncIterator[tuple[Cluster, Daemon, Posted]]:
    """A daemon, and a namespace with a vcjob that runs, and with a gang that waits."""
    waiting = [merged(found, HERE) for found in gang("wide", 2, cpu="9")]
    manifests = [NAMESPACE, HELD, TRAIN, *waiting]
    async with Cluster([node("n1")], manifests=manifests) as cluster, faulty(cluster.url) as proxy:
        posted = Posted(proxy)
        async with scheduling(proxy.url) as daemon:
            await until(lambda: len(running(cluster)) == 2)
            yield cluster, daemon, posted


def running(cluster: Cluster) -> list[str]:
    found = cluster.client.list("pods", "doomed")
    return [pod["metadata"]["name"] for pod in found if pod.get("status", {}).get("phase") == "Running"]


async def test_nothing_is_created_in_a_namespace_that_is_being_deleted() -> None:
    async with doomed() as (cluster, daemon, posted):
        cluster.client.delete("namespaces", "", "doomed")
        await until(lambda: daemon.mirror.is_leaving("doomed"))
        await sessions(daemon, 1)  # what was on its way by then has arrived
        posted.paths.clear()
        await until(lambda: not cluster.client.list("pods", "doomed") and not cluster.client.list(VCJOBS, "doomed"))
        await sessions(daemon, 3)
        assert posted.paths == []


async def test_a_namespace_that_comes_again_is_as_any_other() -> None:
    async with doomed() as (cluster, daemon, _):
        cluster.client.delete("namespaces", "", "doomed")
        await until(lambda: daemon.mirror.is_leaving("doomed"))
        cluster.client.patch(
            "configmaps", "doomed", "held", lambda found: merged(found, {"metadata": {"finalizers": []}})
        )
        await until(lambda: cluster.client.get("namespaces", "", "doomed") is None)
        cluster.apply([NAMESPACE, TRAIN])
        await until(lambda: len(running(cluster)) == 2)


@pytest.mark.kubectl
async def test_a_namespace_that_kubectl_deletes_goes_in_peace(tmp_path: Path) -> None:
    async with doomed() as (cluster, daemon, posted):
        await shell(cluster, tmp_path, "kubectl delete namespace doomed --wait=false")
        await until(lambda: daemon.mirror.is_leaving("doomed"))
        await sessions(daemon, 1)  # what was on its way by then has arrived
        posted.paths.clear()
        free = """kubectl patch configmap held -n doomed --type merge -p '{"metadata": {"finalizers": null}}'"""
        await shell(cluster, tmp_path, f"{free}\nkubectl wait --for=delete namespace/doomed --timeout=30s")
        assert cluster.client.get("namespaces", "", "doomed") is None
        assert posted.paths == []
