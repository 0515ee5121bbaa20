"""The chart, installed by Helm into the embedded cluster with authorization on, and the daemon under its account."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from tests.daemon.owners import queue
from tests.daemon.running import gang, nodes_of, pod, queue_status, status_of, until
from tests.daemon.sharing import (
    ALLOCATIONS,
    BUCKETS,
    bucket,
    consumer,
    deployment,
    machine,
    namespace,
    runs,
)
from tests.helm.charts import CHART, NAMESPACE, POD_IP, RELEASE, Obj, helm, objects_of, options_in
from tests.support.prometheus import free_port
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.permissions import Right, needed
from vsched.kube.client import ApiClient
from vsched.kube.connection import Connection
from vsched.kube.credentials import FixedHeaders
from vsched.settings.built_in import REGISTRY
from vsched.sim.attributes import attributes_of
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.sim.requests import Call

LOCKED = ClusterSettings(ControllerSettings(PodTimes(termination=0.05)), authorization="rbac")
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
VALUES: Obj = {
    "arbitration": {"enabled": True, "interval": "100ms", "grace": "100ms"},
    "leaderElection": {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "200ms"},
    "webhook": {"failurePolicy": "Fail"},
    "tls": {"listen": True},
    "access": {"authentication": "tokenreview"},
}


class Recorder:
    """What accounts of the chart were let in with."""

    def __init__(self) -> None:
        self.rights: set[Right] = set()

    async def __call__(self, call: Call) -> None:
        wanted = attributes_of(call)
        if call.user is not None and call.user.name == ACCOUNT and not wanted.path:
            self.rights.add(Right(wanted.verb, wanted.group, wanted.combined, wanted.namespace, wanted.name))


class Released:
    """A release of the chart in a cluster, by Helm."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        path = folder / "kubeconfig"
        cluster.write_kubeconfig(path)
        self._config = helm.Config(kubeconfig_path=path, namespace=NAMESPACE)

    async def install(self, values: Obj) -> Mapping[str, Any]:
        return await asyncio.to_thread(
            self._config.install, CHART, RELEASE, values, namespace=NAMESPACE, create_namespace=True
        )

    async def upgrade(self, values: Obj) -> Mapping[str, Any]:
        return await asyncio.to_thread(self._config.upgrade, CHART, RELEASE, values)

    async def uninstall(self) -> None:
        await asyncio.to_thread(self._config.uninstall, RELEASE)

    async def manifest(self) -> str:
        found = await asyncio.to_thread(self._config.status, RELEASE)
        return str(found["manifest"])


def secret_of(cluster: Cluster) -> dict[str, bytes]:
    found = cluster.client.get("secrets", NAMESPACE, "vsched-tls")
    assert found is not None
    return {name: base64.b64decode(value) for name, value in found["data"].items()}


async def test_install_upgrade_uninstall(tmp_path: Path) -> None:
    async with Cluster(settings=ClusterSettings(None)) as cluster:
        queues = cluster.client.get(
            "apiextensions.k8s.io/customresourcedefinitions", "", "queues.scheduling.volcano.sh"
        )
        release = Released(cluster, tmp_path)
        await release.install({"arbitration": {"enabled": True}})
        certificate = secret_of(cluster)
        hook = "admissionregistration.k8s.io/validatingwebhookconfigurations"
        assert cluster.client.get(hook, "", "vsched") is not None
        deployed = cluster.client.get("apps/deployments", NAMESPACE, "vsched")
        assert deployed is not None
        assert deployed["spec"]["replicas"] == 2
        # What the leader has written stays over an upgrade, and so does the certificate.
        subsets = [{"addresses": [{"ip": POD_IP}], "ports": [{"name": "http", "port": 8080}]}]
        cluster.client.patch("endpoints", NAMESPACE, "vsched-leader", lambda found: {**found, "subsets": subsets})

        done = await release.upgrade({"arbitration": {"enabled": True}, "replicas": 3})
        assert done["revision"] == 2
        deployed = cluster.client.get("apps/deployments", NAMESPACE, "vsched")
        assert deployed is not None
        assert deployed["spec"]["replicas"] == 3
        assert secret_of(cluster) == certificate
        endpoints = cluster.client.get("endpoints", NAMESPACE, "vsched-leader")
        assert endpoints is not None
        assert endpoints["subsets"][0]["addresses"] == [{"ip": POD_IP}]

        await release.uninstall()
        assert cluster.client.get("apps/deployments", NAMESPACE, "vsched") is None
        assert cluster.client.get("rbac.authorization.k8s.io/clusterroles", "", "vsched") is None
        # The definitions were there before, and were touched by nobody.
        after = cluster.client.get("apiextensions.k8s.io/customresourcedefinitions", "", "queues.scheduling.volcano.sh")
        assert queues == after


async def test_definitions_that_are_missing_are_installed(tmp_path: Path) -> None:
    async with Cluster(settings=ClusterSettings(None)) as cluster:
        definitions = "apiextensions.k8s.io/customresourcedefinitions"
        cluster.client.delete(definitions, "", "buckets.kube-arbitrator.incubator.k8s.io")
        await until(lambda: cluster.client.get(definitions, "", "buckets.kube-arbitrator.incubator.k8s.io") is None)
        await Released(cluster, tmp_path).install({})
        assert cluster.client.get(definitions, "", "buckets.kube-arbitrator.incubator.k8s.io") is not None
        cluster.client.create(BUCKETS, bucket("b", weight=1))


# -- under its account


async def token_of(cluster: Cluster) -> str:
    """A token for the chart's account, as a pod would be given one."""
    async with ApiClient(Connection(cluster.url, credentials=bearer(cluster.admin_token))) as client:
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{RELEASE}/token"
        found = await client.create(
            path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        )
        return str(found["status"]["token"])


def bearer(token: str) -> FixedHeaders:
    return FixedHeaders((("Authorization", f"Bearer {token}"),))


def options_at_home(cluster: Cluster, folder: Path) -> Options:
    """The options of the chart, at free ports of this machine, with the certificate that Helm made."""
    files = secret_of(cluster)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return msgspec.structs.replace(
        options_in(objects_of(VALUES)),
        listen_address=f"127.0.0.1:{free_port()}",
        healthz_address="",
        webhook_address=f"127.0.0.1:{free_port()}",
        tls_cert_file=folder / "tls.crt",
        tls_key_file=folder / "tls.key",
        drain_seconds=1.0,
    )


@asynccontextmanager
async def daemon_of(cluster: Cluster, options: Options, token: str) -> AsyncIterator[Daemon]:
    async with ApiClient(Connection(cluster.url, credentials=bearer(token))) as client, asyncio.TaskGroup() as group:
        daemon = Daemon(options, client, REGISTRY)
        task = group.create_task(daemon.run())
        try:
            yield daemon
        finally:
            daemon.stop()
            await asyncio.wait((task,), timeout=10.0)
            task.cancel()


NOT_SEEN = {
    ("patch", "podgroups"): "statuses, where the definition has no status subresource",
    ("patch", "events"): "an Event that is repeated, half a minute later",
}
"""Rights that the run below has no use for, and why they are needed."""


async def test_the_daemon_does_all_its_work_under_the_account_and_with_no_more_than_it_needs(tmp_path: Path) -> None:
    recorder = Recorder()
    async with Cluster(
        [machine("n1", "2", "8Gi"), machine("n2", "2", "8Gi")], settings=LOCKED, gate=recorder
    ) as cluster:
        await Released(cluster, tmp_path).install(VALUES)
        options = options_at_home(cluster, tmp_path)
        lookup_webhook(cluster, options)
        token = await token_of(cluster)
        async with daemon_of(cluster, options, token) as daemon:
            await until(lambda: daemon.telemetry.findings.arbitrated is not None)
            assert daemon.health.ready().details["absent"] == {}
            async with daemon_of(
                cluster,
                msgspec.structs.replace(options, listen_address="127.0.0.1:0", webhook_address="", leader_endpoints=""),
                token,
            ) as standby:
                await until(lambda: standby.health.ready().ok)
                assert standby.election.role == "standby"
            await work(cluster)
            await read_pages(cluster, options)
            forbidden = daemon.telemetry.registry.get_sample_value
            assert not [
                sample
                for family in daemon.telemetry.registry.collect()
                for sample in family.samples
                if sample.name == "vsched_api_writes_total" and sample.labels["code"] in ("401", "403")
            ], forbidden
        endpoints = cluster.client.get("endpoints", NAMESPACE, "vsched-leader")
        assert endpoints is not None
        assert endpoints["subsets"][0]["addresses"] == [{"ip": POD_IP}]
    wanted = needed(options)
    unused = {right for right in wanted if not any(covers(right, seen) for seen in recorder.rights)}
    assert {(right.verb, right.resource) for right in unused} == set(NOT_SEEN)
    assert {seen for seen in recorder.rights if not any(covers(right, seen) for right in wanted)} == set()


def covers(right: Right, seen: Right) -> bool:
    """Whether a right is what a request needed."""
    return right[:3] == seen[:3] and right.namespace in ("", seen.namespace) and right.name in ("", seen.name)


def lookup_webhook(cluster: Cluster, options: Options) -> None:
    """What a kubelet and the endpoints controller would do: the daemon is behind its Service."""
    port = int(options.webhook_address.rpartition(":")[2])
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "webhook", "port": port}]}
    metadata = {"name": RELEASE, "namespace": NAMESPACE}
    cluster.client.create(
        "endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]}
    )


async def work(cluster: Cluster) -> None:
    """Something of everything: gangs, bare pods, queues that close, namespaces that take back from one another."""
    cluster.apply([*gang("small", 2, cpu="100m"), *gang("large", 99), pod("bare", cpu="100m"), queue("other")])
    await until(lambda: len(nodes_of(cluster, "small")) == 2 and nodes_of(cluster, "bare"))
    await until(lambda: status_of(cluster, "large").get("conditions"))
    cluster.client.delete("pods", "default", "bare")

    close = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": "close", "namespace": "default"},
    }
    target = cluster.client.get("scheduling.volcano.sh/queues", "", "other")
    assert target is not None
    owner = {"apiVersion": target["apiVersion"], "kind": "Queue", "name": "other", "uid": target["metadata"]["uid"]}
    cluster.apply([{**close, "action": "CloseQueue", "target": owner}])
    await until(lambda: queue_status(cluster, "other").get("state") == "Closed")

    cluster.apply([bucket("b", weight=2), namespace("one"), consumer("one", parent="b"), deployment("one", 3)])
    await until(lambda: runs(cluster)["one"] == 3)
    cluster.apply([namespace("two"), deployment("two", 3)])
    await until(lambda: runs(cluster)["two"] >= 1)
    spec: Obj = {"spec": {"deserved": {}}}
    cluster.apply(
        [
            {
                "apiVersion": consumer("two")["apiVersion"],
                "kind": "Allocation",
                "metadata": {"name": "stray", "namespace": "two"},
                **spec,
            }
        ]
    )
    await until(lambda: cluster.client.get(ALLOCATIONS, "two", "stray") is None)


async def read_pages(cluster: Cluster, options: Options) -> None:
    """With a token and without one, and with one that may not."""
    trust = ssl.create_default_context(cadata=secret_of(cluster)["ca.crt"].decode())
    url = f"https://{options.listen_address}/metrics"
    async with aiohttp.ClientSession() as session:
        for token, code in ((cluster.admin_token, 200), ("wrong", 401), (await token_of(cluster), 403)):
            headers = {"Authorization": f"Bearer {token}"}
            async with session.get(url, headers=headers, ssl=trust, server_hostname="vsched.batch.svc") as response:
                assert response.status == code
