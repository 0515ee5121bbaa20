"""The processes of the chart under its accounts, and what the accounts were let in with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.support.charts import NAMESPACE, RELEASE
from vsched.apimachinery.objects.native_groups import VERSIONS
from vsched.cli.rbac.command import REVIEWS
from vsched.clock import SystemClock
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.permissions.needs import Right
from vsched.daemon.policy.config_map import PolicyMap, map_key
from vsched.daemon.system.certificates import kept_certificate
from vsched.daemon.vcjobs import JobRunner
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import FixedHeaders
from vsched.kube.auth.tls import Material, client_context
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.sim.requests.attributes import attributes_of
from vsched.sim.requests.request import ApiRequest

LOCKED = ClusterSettings(
    ControllerSettings(PodTimes(termination=0.05)), authorization="rbac", tls=True, native_groups=VERSIONS
)
RUNNER = f"{RELEASE}-vcjobs"
"""The account that runs vcjobs."""


class Recorder:
    """What an account of the chart was let in with."""

    def __init__(self) -> None:
        self.rights: set[Right] = set()
        """Of the account that places pods."""
        self.of_runner: set[Right] = set()

    async def __call__(self, call: ApiRequest) -> None:
        wanted = attributes_of(call)
        if call.user is None or wanted.path or wanted.resource == REVIEWS.plural:  # which any account may make
            return
        namespace, _, account = call.user.name.removeprefix("system:serviceaccount:").partition(":")
        if namespace == NAMESPACE and account in (RELEASE, RUNNER):
            found = self.rights if account == RELEASE else self.of_runner
            found.add(Right(wanted.verb, wanted.group, wanted.combined, wanted.namespace, wanted.name))


async def token_of(cluster: Cluster, account: str = RELEASE) -> str:
    """A token for an account of the chart, as a pod would be given one."""
    async with ApiClient(connection(cluster, cluster.admin_token)) as client:
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        found = await client.create(
            path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        )
        return str(found["status"]["token"])


def connection(cluster: Cluster, token: str) -> Connection:
    """The cluster as whoever has this token, trusting its certificate."""
    authority = cluster.kubeconfig()["clusters"][0]["cluster"]["certificate-authority-data"]
    tls = client_context("kubeconfig", Material(authority_data=authority))
    return Connection(
        cluster.url, tls=tls, credentials=FixedHeaders((("Authorization", f"Bearer {token}"),)), namespace=NAMESPACE
    )


@asynccontextmanager
async def daemon_of(cluster: Cluster, options: Options, token: str) -> AsyncIterator[Daemon]:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient(connection(cluster, token)))
        policy = None
        if options.policy_map:
            policy = await PolicyMap.open(map_key(options.policy_map), client, REGISTRY, SystemClock(), print)
        await stack.enter_async_context(kept_certificate(options, client, SystemClock(), print))
        group = await stack.enter_async_context(asyncio.TaskGroup())
        daemon = Daemon(options, client, REGISTRY, policy=policy)
        task = group.create_task(daemon.run())
        try:
            yield daemon
        finally:
            daemon.stop()
            await asyncio.wait((task,), timeout=60.0)
            task.cancel()


@asynccontextmanager
async def runner_of(cluster: Cluster, options: Options, token: str) -> AsyncIterator[JobRunner]:
    async with ApiClient(connection(cluster, token)) as client, asyncio.TaskGroup() as group:
        runner = JobRunner(options, client)
        task = group.create_task(runner.run())
        try:
            yield runner
        finally:
            runner.stop()
            await asyncio.wait((task,), timeout=60.0)
            task.cancel()


def answers(daemon: Daemon | JobRunner) -> set[str]:
    """The codes of all that was asked of the API server."""
    families = daemon.telemetry.registry.collect()
    samples = (sample for family in families for sample in family.samples)
    return {each.labels["code"] for each in samples if each.name == "vsched_api_requests_total"}


def covers(right: Right, seen: Right) -> bool:
    """Whether a right is what a request needed."""
    return right[:3] == seen[:3] and right.namespace in ("", seen.namespace) and right.name in ("", seen.name)
