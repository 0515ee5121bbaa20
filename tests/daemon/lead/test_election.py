"""How a daemon takes part in an election: what it is told, what it may write, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.fault_proxy import faulty
from tests.support.running import gang, has_listed, node, nodes_of, scheduling
from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.daemon.app import Daemon
from vsched.daemon.lead.election import Election, LeaseElection, NoElection, home_of, led
from vsched.daemon.options import Options
from vsched.daemon.words import log as words
from vsched.kube.auth.config import IN_CLUSTER
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.lease.candidate import LeaseLost
from vsched.kube.lease.record import LeaseSettings
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.writes.limits import Attempts, TokenBucket
from vsched.writes.writer import NOT_PERMITTED, Write, Writer

OFTEN = LeaseSettings(retry_seconds=0.05)
LEASES = "coordination.k8s.io/leases"


class Told:
    """Keeps what the log would say."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, object]]] = []

    def note(self, event: str, **fields: object) -> None:
        self.lines.append((event, fields))

    worry = note

    @property
    def events(self) -> list[str]:
        return [event for event, _ in self.lines]


async def at_once(shard: int) -> None:
    """Nothing was decided that would have to be carried out."""


class Party:
    """One daemon's part in an election, and everything it was told."""

    def __init__(self, url: str) -> None:
        self.told = Told()
        self.roles: list[str] = []
        self.lost = asyncio.Event()
        self.election = LeaseElection(OFTEN, Connection(url), self.told, self.lost.set, on_role=self.roles.append)
        self.task = asyncio.create_task(self.election.run(at_once))

    async def stop(self) -> None:
        """What a daemon does at its end: its tasks first, then the election."""
        self.task.cancel()
        await asyncio.wait((self.task,))
        await self.election.end()


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(settings=ClusterSettings(controllers=None)) as made:
        yield made


@asynccontextmanager
async def taking_part(url: str, *, lost: bool = False) -> AsyncIterator[Party]:
    party = Party(url)
    try:
        yield party
    finally:
        if lost:
            party.task.cancel()
            await asyncio.wait((party.task,))
        else:
            await party.stop()


def spec_of(cluster: Cluster) -> dict[str, Any]:
    lease = cluster.client.get(LEASES, "kube-system", "vsched")
    spec: dict[str, Any] = lease["spec"] if lease is not None else {}
    return spec


def take(cluster: Cluster, holder: str) -> None:
    cluster.client.patch(
        LEASES, "kube-system", "vsched", lambda lease: {**lease, "spec": {**lease["spec"], "holderIdentity": holder}}
    )


async def test_one_leads_the_other_stands_by_and_takes_over_when_the_first_ends(cluster: Cluster) -> None:
    async with taking_part(cluster.url) as first:
        await until(first.election.leading.is_set)
        async with taking_part(cluster.url) as standby:
            await until(lambda: standby.told.events == [words.WAITING_FOR_LEASE, "standby"])
            assert first.election.holds()
            assert not standby.election.holds()
            assert (first.election.role, standby.election.role) == ("leader", "standby")
            assert first.election.numbers()["vsched_leader"] == {"vsched": 1.0}
            assert standby.election.numbers()["vsched_leader"] == {"vsched": 0.0}
            assert standby.told.lines[1][1]["holder"] == first.election.identity
            await first.stop()
            assert not first.election.holds()
            await until(standby.election.holds)
            assert spec_of(cluster)["leaseTransitions"] == 1
            assert standby.election.numbers()["vsched_leader_transitions_total"] == {"vsched": 1.0}
    assert first.roles == standby.roles == ["leader", "released"]
    assert first.told.events == [words.WAITING_FOR_LEASE, "leading", "lease released"]
    assert spec_of(cluster)["holderIdentity"] == ""


async def test_a_daemon_that_lost_its_lease_writes_nothing_more_and_ends_with_an_error(cluster: Cluster) -> None:
    async with (
        faulty(cluster.url) as proxy,
        ApiClient(Connection(proxy.url)) as client,
        taking_part(cluster.url, lost=True) as party,
    ):
        writer = Writer(client, TokenBucket(1e6, 1e6), permit=party.election.holds)
        write = Write("queue", "POST", "/api/v1/namespaces", b'{"metadata": {"name": "made"}}')
        assert (await writer.send(write, Attempts())).code == NOT_PERMITTED
        await until(party.election.leading.is_set)
        assert (await writer.send(write, Attempts())).code == 201
        take(cluster, "another")
        await asyncio.wait_for(party.lost.wait(), PATIENCE_SECONDS)
        assert (await writer.send(write, Attempts())).code == NOT_PERMITTED
        assert proxy.writes() == 1
        await asyncio.wait_for(party.task, PATIENCE_SECONDS)
        assert party.roles == ["leader", "lost"]
        assert party.told.lines[-1][1]["problem"] == "taken by another"
        with pytest.raises(LeaseLost, match=r"^lease kube-system/vsched is lost: taken by another$"):
            await party.election.end()
    assert spec_of(cluster)["holderIdentity"] == "another"


async def test_a_daemon_whose_lease_is_taken_ends_and_the_next_leader_goes_on() -> None:
    quiet = Options(listen_address="", healthz_address="", leader_elect=True, lease=OFTEN)
    async with Cluster([node("n1")]) as cluster, ApiClient(Connection(cluster.url)) as client:
        daemon = Daemon(quiet, client, REGISTRY)
        running = asyncio.create_task(daemon.run())
        await until(daemon.election.leading.is_set)
        cluster.apply(gang("a", 2))
        await until(lambda: len(nodes_of(cluster, "a")) == 2)
        take(cluster, "another")
        with pytest.raises(LeaseLost, match="taken by another"):
            await asyncio.wait_for(running, PATIENCE_SECONDS)
        assert spec_of(cluster)["holderIdentity"] == "another"
        cluster.apply(gang("b", 2))
        async with scheduling(cluster.url, leader_elect=True, lease=OFTEN) as standby:
            await until(lambda: has_listed(standby))
            assert standby.health.ready().details["role"] == "standby"
            assert not nodes_of(cluster, "b")
            take(cluster, "")
            await until(lambda: len(nodes_of(cluster, "b")) == 2)
            assert standby.health.ready().details["role"] == "leader"


async def test_trouble_is_told_and_so_is_its_end(cluster: Cluster) -> None:
    async with faulty(cluster.url) as proxy, taking_part(proxy.url) as party:
        await until(party.election.leading.is_set)
        await proxy.down()
        await until(lambda: words.LEASE_ATTEMPT_FAILED in party.told.events)
        assert party.election.holds()
        assert party.election.numbers()["vsched_leader_failures_total"]["vsched"] >= 1.0
        await proxy.up()
        await until(lambda: party.told.events[-1:] == ["leading"])
    assert party.roles == ["leader", "released"]


async def test_what_acts_begins_when_this_daemon_leads(cluster: Cluster) -> None:
    begun = asyncio.Event()

    async def act() -> None:
        begun.set()

    cluster.client.create(
        LEASES,
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "vsched", "namespace": "kube-system"},
            "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600},
        },
    )
    async with taking_part(cluster.url) as party:
        acting = asyncio.create_task(led(party.election, act)())
        await until(lambda: party.told.events[-1:] == ["standby"])
        assert not begun.is_set()
        take(cluster, "")
        await asyncio.wait_for(begun.wait(), PATIENCE_SECONDS)
        assert party.election.holds()
        await acting


async def test_a_daemon_without_an_election_always_leads() -> None:
    alone: Election = NoElection()
    assert alone.leading.is_set()
    assert alone.holds()
    assert alone.role == "leader"
    assert alone.numbers() == {"vsched_leader": {"": 1.0}}
    task = asyncio.create_task(alone.run(at_once))
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    await asyncio.wait((task,))
    await alone.end()


@pytest.mark.parametrize(
    ("connection", "namespace"),
    [
        pytest.param(Connection("https://10.0.0.1:443", namespace="batch", source=IN_CLUSTER), "batch", id="in-a-pod"),
        pytest.param(Connection("https://k:6443", namespace="mine", source="kubeconfig"), "kube-system", id="outside"),
    ],
)
def test_where_the_lease_is_unless_said(connection: Connection, namespace: str) -> None:
    assert home_of(connection) == namespace


async def test_a_lease_that_must_not_be_watched_is_told_once_and_polled(cluster: Cluster) -> None:
    held = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "vsched", "namespace": "kube-system"},
        "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600},
    }
    cluster.client.create(LEASES, held)
    async with faulty(cluster.url) as proxy:
        proxy.spoil("GET", ".*/leases", 403, times=1_000_000, message="not for you")
        async with taking_part(proxy.url) as party:
            await until(lambda: words.LEASE_NOT_WATCHED in party.told.events)
            take(cluster, "")
            await until(party.election.holds)
    [told] = [fields for event, fields in party.told.lines if "polling" in event]
    assert "not for you" in str(told["problem"])


async def test_a_lease_is_kept_to_its_end_by_a_daemon_that_may_still_have_writes_on_their_way(cluster: Cluster) -> None:
    async with taking_part(cluster.url) as party:
        await until(party.election.leading.is_set)
        party.task.cancel()
        await asyncio.wait((party.task,))
        await party.election.end(release=False)
        assert spec_of(cluster)["holderIdentity"] == party.election.identity
