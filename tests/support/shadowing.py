"""A scheduler in charge of an embedded cluster, and a shadow beside it under an account of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import yaml
from click.testing import CliRunner

from tests.support.running import Obj, gang, node
from tests.support.waiting import PATIENCE_SECONDS
from vsched.cli import cli
from vsched.clock import Clock
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.permissions.needs import Right
from vsched.daemon.policy.reload import PolicyInForce
from vsched.daemon.shadow.app import ShadowDaemon, ShadowSettings
from vsched.daemon.triggers import Trigger
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import FixedHeaders
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.sim.authentication import account_user
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.sim.requests.attributes import attributes_of
from vsched.sim.requests.request import ApiRequest

ACCOUNT = "watching/shadow"
WHO = "system:serviceaccount:watching:shadow"
TOKEN = "the token of the shadow's account"
LOCKED = ClusterSettings(ControllerSettings(PodTimes(termination=0.05)), authorization="rbac")
T = TypeVar("T", Daemon, ShadowDaemon)
QUIET: Obj = {"listen_address": "", "healthz_address": "", "drain_seconds": 2.0}


class Requests:
    """All that the shadow's account has asked of the API server, as rights; a gate of the embedded cluster."""

    def __init__(self) -> None:
        self.seen: set[Right] = set()

    async def __call__(self, call: ApiRequest) -> None:
        wanted = attributes_of(call)
        if call.user is not None and call.user.name == WHO and not wanted.path:
            self.seen.add(Right(wanted.verb, wanted.group, wanted.combined, wanted.namespace, wanted.name))


def roles(*flags: str) -> list[Obj]:
    """What ``vsched rbac --shadow`` prints for the account."""
    printed = CliRunner().invoke(cli, ["rbac", "--account", ACCOUNT, "--shadow", *flags], catch_exceptions=False)
    assert printed.exit_code == 0, printed.output
    return list(yaml.safe_load_all(printed.output))


def locked_cluster(requests: Requests, nodes: Sequence[Obj] = (node("n1"), node("n2"))) -> Cluster:
    """A cluster with authorization; the shadow's account has a token, and no role yet."""
    cluster = Cluster(list(nodes), settings=LOCKED, gate=requests)
    cluster.tokens.static[TOKEN] = account_user("watching", "shadow")
    return cluster


def volcanos(name: str, size: int, minimum: int | None = None, cpu: str = "1") -> list[Obj]:
    """A gang whose pods are Volcano's."""
    made = gang(name, size, minimum, cpu)
    for each in made:
        if each["kind"] == "Pod":
            each["spec"]["schedulerName"] = "volcano"
    return made


@asynccontextmanager
async def in_charge(cluster: Cluster, **options: Any) -> AsyncIterator[Daemon]:
    """An ordinary daemon that schedules Volcano's pods, as the administrator."""
    wanted = Options(**{**QUIET, "scheduler_names": ("volcano",), **options})
    async with (
        ApiClient(_connection(cluster, cluster.admin_token)) as client,
        running(Daemon(wanted, client, REGISTRY)) as daemon,
    ):
        yield daemon


@asynccontextmanager
async def shadowing(
    cluster: Cluster,
    policy: PolicyInForce | None = None,
    settings: ShadowSettings | None = None,
    clock: Clock | None = None,
    trigger: Trigger | None = None,
    **options: Any,
) -> AsyncIterator[ShadowDaemon]:
    """A shadow at this cluster, as its account."""
    wanted = Options(**{**QUIET, "scheduler_names": ("volcano",), "shadow": True, **options})
    async with (
        ApiClient(_connection(cluster, TOKEN)) as client,
        running(
            ShadowDaemon(wanted, client, REGISTRY, policy=policy, settings=settings, clock=clock, trigger=trigger)
        ) as daemon,
    ):
        yield daemon


def _connection(cluster: Cluster, token: str) -> Connection:
    if not token:
        return Connection(cluster.url)
    return Connection(cluster.url, credentials=FixedHeaders((("Authorization", f"Bearer {token}"),)))


@asynccontextmanager
async def running(daemon: T) -> AsyncIterator[T]:
    """A daemon from its start to its end in order; one session that ends in an error fails the test."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(daemon.run())
        try:
            yield daemon
        finally:
            daemon.stop()
            await asyncio.wait((task,), timeout=PATIENCE_SECONDS)
            task.cancel()
    failed = sum(sample.value for sample in daemon.telemetry.metrics.failed_cycles.collect()[0].samples[:1])
    assert not failed, "a session ended in an error: its traceback is in the log"
