"""A standby is told when the lease is free, and looks at once; where it cannot be told it looks now and then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.kube.conftest import Eventually
from tests.support.fault_proxy import FaultProxy, faulty
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.lease.candidate import Elector
from vsched.kube.lease.record import LeaseSettings
from vsched.kube.watch.deltas import Statistics, WatchState
from vsched.sim.cluster import Cluster, ClusterSettings

ONCE = ClientSettings(attempts=1)
TIMES = {"duration_seconds": 3600, "renew_deadline_seconds": 3000}
RARELY = LeaseSettings(namespace="kube-system", retry_seconds=2000, **TIMES)
"""Looks by itself once in half an hour: what happens within a test happens because it was told."""
OFTEN = LeaseSettings(namespace="kube-system", retry_seconds=0.05, **TIMES)
LEASES = "coordination.k8s.io/leases"
COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

Obj = dict[str, Any]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(settings=ClusterSettings(controllers=None)) as made:
        yield made


@pytest.fixture
async def proxy(cluster: Cluster) -> AsyncIterator[FaultProxy]:
    async with faulty(cluster.url) as made:
        yield made


def hold(cluster: Cluster, name: str = "vsched", holder: str = "another") -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600}
    metadata = {"name": name, "namespace": "kube-system"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    cluster.client.create(LEASES, lease)


def change(cluster: Cluster, name: str = "vsched", **spec: Any) -> None:
    cluster.client.patch(LEASES, "kube-system", name, lambda lease: {**lease, "spec": {**lease["spec"], **spec}})


def looks(proxy: FaultProxy) -> int:
    """How often the Lease itself was asked for."""
    return proxy.seen["GET vsched", 200] + proxy.seen["GET vsched", 404]


class Standby:
    """A candidate that seeks the lease through a proxy."""

    def __init__(self, elector: Elector, states: list[WatchState]) -> None:
        self.elector = elector
        self.states = states


@asynccontextmanager
async def standing_by(proxy: FaultProxy, settings: LeaseSettings = RARELY) -> AsyncIterator[Standby]:
    states: list[WatchState] = []

    def watched(statistics: Statistics) -> None:
        states.append(statistics.state)

    async with ApiClient(Connection(proxy.url), ONCE) as client:
        elector = Elector(settings, "me", watched=watched)
        task = asyncio.create_task(elector.run(client))
        try:
            yield Standby(elector, states)
        finally:
            task.cancel()
            await asyncio.wait((task,))


async def test_a_lease_that_is_given_back_is_taken_at_once(
    cluster: Cluster, proxy: FaultProxy, eventually: Eventually
) -> None:
    hold(cluster)
    async with standing_by(proxy) as standby:
        await eventually(lambda: WatchState.WATCHING in standby.states and looks(proxy) == 1)
        assert not standby.elector.holds()
        change(cluster, holderIdentity="")
        await eventually(standby.elector.holds)
        # A leader has no need of the watch.
        await eventually(lambda: standby.states[-1] is WatchState.STOPPED and not proxy.watches)


async def test_renewals_and_other_leases_hurry_nobody(
    cluster: Cluster, proxy: FaultProxy, eventually: Eventually
) -> None:
    hold(cluster)
    hold(cluster, "other")
    async with standing_by(proxy) as standby:
        await eventually(lambda: WatchState.WATCHING in standby.states and looks(proxy) == 1)
        change(cluster, renewTime="2026-01-01T00:00:00.000000Z")
        change(cluster, "other", holderIdentity="")
        change(cluster, holderIdentity="a third")
        change(cluster, holderIdentity="")
        await eventually(standby.elector.holds)
        assert looks(proxy) == 2


async def test_a_lease_that_is_deleted_is_looked_for_and_still_honoured(
    cluster: Cluster, proxy: FaultProxy, eventually: Eventually
) -> None:
    hold(cluster)
    async with standing_by(proxy) as standby:
        await eventually(lambda: WatchState.WATCHING in standby.states and looks(proxy) == 1)
        cluster.client.delete(LEASES, "kube-system", "vsched")
        await eventually(lambda: proxy.seen["GET vsched", 404] == 1)
        await asyncio.sleep(0.05)
        assert not standby.elector.leading.is_set()
        assert looks(proxy) == 2


async def test_an_attempt_that_fails_is_repeated_in_time_and_not_in_a_hurry(
    cluster: Cluster, proxy: FaultProxy, eventually: Eventually
) -> None:
    hold(cluster)
    async with standing_by(proxy) as standby:
        await eventually(lambda: WatchState.WATCHING in standby.states and looks(proxy) == 1)
        proxy.spoil("PUT", ".*", 500)
        change(cluster, holderIdentity="")
        await eventually(lambda: standby.elector.failures == 1)
        await asyncio.sleep(0.05)
        assert standby.elector.failures == 1
        change(cluster, leaseDurationSeconds=7)  # still free: another hint
        await eventually(standby.elector.holds)


@pytest.mark.parametrize("code", [pytest.param(403, id="may-not"), pytest.param(500, id="broken")])
async def test_a_standby_that_cannot_watch_looks_now_and_then(
    cluster: Cluster, proxy: FaultProxy, eventually: Eventually, code: int
) -> None:
    hold(cluster)
    proxy.spoil("GET", COLLECTION, code, times=1_000_000)
    async with standing_by(proxy, OFTEN) as standby:
        await eventually(lambda: looks(proxy) >= 3)
        assert WatchState.WATCHING not in standby.states
        change(cluster, holderIdentity="")
        await eventually(standby.elector.holds)


async def test_a_watch_that_is_cut_is_taken_up_again(
    cluster: Cluster, proxy: FaultProxy, eventually: Eventually
) -> None:
    hold(cluster)
    async with standing_by(proxy) as standby:
        await eventually(lambda: proxy.watches)
        proxy.cut_watches()
        change(cluster, holderIdentity="")
        await eventually(standby.elector.holds)
