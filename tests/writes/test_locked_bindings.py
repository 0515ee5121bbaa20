"""Bindings that lock their node, against an API server: in turn, node by node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from tests.support.recording_server import writer_to
from tests.support.running import node
from tests.support.waiting import until
from vsched.apimachinery.meta.kinds import Obj
from vsched.clock import FakeClock
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.model.plan import Bind
from vsched.sim.api.fault_plan import FaultInjector, plan_of
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.writes import words
from vsched.writes.bindings import BindOutcome, DispatchSettings, Outcome
from vsched.writes.limits import Attempts
from vsched.writes.locked_bindings import LockingDispatcher, LockSettings

LOCK = "hamivgpu"
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
RECENT, OLD = "2027-01-15T07:59:00Z", "2027-01-15T07:50:00Z"
QUICK = LockSettings(look_seconds=0.01, look_most_seconds=0.02)
SENDING = DispatchSettings(attempts=Attempts(3, first_seconds=0.005, ceiling_seconds=0.02))


class Locking(NamedTuple):
    cluster: Cluster
    dispatcher: LockingDispatcher
    outcomes: list[Outcome]
    clock: FakeClock

    def submit(self, name: str, node: str = "n1", lock: str = LOCK) -> Bind:
        """Bind a pod that is made for it."""
        container = {"name": "c", "image": "busybox"}
        pod = self.cluster.client.create(
            "pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"schedulerName": "other", "containers": [container]},
            },
        )
        return self.again(Bind(pod["metadata"]["uid"], "default", name, node, "default/j", lock=lock))

    def again(self, bind: Bind) -> Bind:
        self.dispatcher.submit([bind])
        return bind

    def lock(self, node: str = "n1") -> str | None:
        """The lock of a node, None where it has none."""
        found = self.cluster.client.get("nodes", "", node)
        assert found is not None
        annotations: dict[str, str] = found["metadata"].get("annotations") or {}
        return annotations.get(LOCK)

    def set_lock(self, value: str | None, node: str = "n1") -> None:
        """What a device plugin or another scheduler does."""

        def changed(found: Obj) -> Obj:
            annotations = {**(found["metadata"].get("annotations") or {})}
            annotations.pop(LOCK, None)
            annotations |= {} if value is None else {LOCK: value}
            return {**found, "metadata": {**found["metadata"], "annotations": annotations}}

        self.cluster.client.patch("nodes", "", node, changed)

    @property
    def bound(self) -> list[str]:
        return [outcome.bind.name for outcome in self.outcomes if outcome.bound]


@asynccontextmanager
async def locking(locks: LockSettings = QUICK, faults: Sequence[Obj] = ()) -> AsyncIterator[Locking]:
    outcomes: list[Outcome] = []
    clock = FakeClock(NOW)
    machines = [node("n1", "8"), node("n2", "8")]
    async with (
        Cluster(
            machines,
            settings=ClusterSettings(controllers=None),
            faults=FaultInjector(plan_of({"seed": 1, "rules": [*faults]}, "test")) if faults else None,
        ) as cluster,
        ApiClient(Connection(cluster.url)) as client,
    ):
        dispatcher = LockingDispatcher(client, writer_to(client), outcomes.append, SENDING, clock, locks=locks)
        task = asyncio.create_task(dispatcher.run())
        try:
            yield Locking(cluster, dispatcher, outcomes, clock)
        finally:
            task.cancel()
            await asyncio.wait((task,))


async def test_a_pod_is_bound_under_a_lock_that_stays_for_the_device_plugin() -> None:
    async with locking() as found:
        found.submit("a")
        await until(lambda: found.bound == ["a"])
        assert found.lock() == "2027-01-15T08:00:00.000000Z"


async def test_the_next_pod_of_the_node_waits_until_the_device_plugin_removes_the_lock() -> None:
    async with locking() as found:
        found.submit("a")
        found.submit("b")
        found.submit("c", "n2")
        found.submit("d", lock="")
        await until(lambda: sorted(found.bound) == ["a", "c", "d"])
        assert found.dispatcher.depth == 1
        assert found.dispatcher.busy

        found.set_lock(None)
        await until(lambda: found.bound[-1] == "b")
        await until(lambda: not found.dispatcher.busy)


async def test_a_lock_of_others_is_waited_for() -> None:
    async with locking() as found:
        found.set_lock(RECENT)
        found.submit("a")
        found.submit("b", "n2")
        await until(lambda: found.bound == ["b"])
        found.set_lock(None)
        await until(lambda: found.bound == ["b", "a"])


async def test_an_old_lock_counts_no_more() -> None:
    async with locking() as found:
        found.set_lock(OLD)
        found.submit("a")
        await until(lambda: found.bound == ["a"])
        assert found.lock() == "2027-01-15T08:00:00.000000Z"


async def test_a_binding_that_fails_removes_its_lock() -> None:
    async with locking() as found:
        gone = found.submit("a")
        await until(lambda: found.bound == ["a"])
        found.set_lock(None)

        found.again(Bind("another-uid", "default", "a", "n1", "default/j", lock=LOCK))
        await until(lambda: len(found.outcomes) == 2)
        assert not found.outcomes[1].bound
        await until(lambda: found.lock() is None)
        assert gone.lock == LOCK


async def test_a_pod_that_waits_for_too_long_is_not_bound_and_is_told_why() -> None:
    async with locking() as found:
        found.set_lock(RECENT)
        found.submit("a")
        await until(lambda: found.dispatcher.depth == 1)
        found.clock.advance(61)
        await until(lambda: found.outcomes)
        (outcome,) = found.outcomes
        assert outcome.verdict is BindOutcome.REFUSED
        assert outcome.message == words.node_is_locked("hamivgpu", RECENT)
        assert found.lock() == RECENT


async def test_a_node_that_is_gone_ends_the_wait_in_time() -> None:
    async with locking(LockSettings(patience_seconds=0.0, look_seconds=0.01)) as found:
        found.submit("a", "n9")
        found.clock.advance(1)
        await until(lambda: found.outcomes)
        assert found.outcomes[0].verdict is BindOutcome.REFUSED
        assert "the node cannot be read" in found.outcomes[0].message


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"fault": "drop-after", "percent": 100, "verbs": ["patch"]}, id="locks are set, answers are lost"),
        pytest.param({"fault": "conflict", "percent": 60, "verbs": ["patch"]}, id="others write the node as well"),
        pytest.param({"fault": "error", "percent": 60, "verbs": ["get"]}, id="the node cannot be read"),
    ],
)
async def test_pods_are_bound_in_turn_whatever_fails_on_the_way(fault: Obj) -> None:
    async with locking(faults=[fault | {"resources": ["nodes"]}]) as found:
        found.submit("a")
        found.submit("b")
        await until(lambda: found.bound == ["a"])
        assert found.lock() is not None
        found.set_lock(None)
        await until(lambda: found.bound == ["a", "b"])
        assert len(found.outcomes) == 2


async def test_a_newer_decision_replaces_one_that_waits() -> None:
    async with locking() as found:
        found.set_lock(RECENT)
        bind = found.submit("a")
        found.again(Bind(bind.uid, "default", "a", "n2", "default/j", lock=LOCK))
        await until(lambda: found.bound == ["a"])
        assert found.outcomes[0].bind.node == "n2"
        found.set_lock(None)
        await until(lambda: not found.dispatcher.busy)
        assert len(found.outcomes) == 1
        assert found.lock() is None


async def test_what_waits_is_dropped_where_the_scheduler_stops() -> None:
    async with locking() as found:
        found.set_lock(RECENT)
        found.submit("a")
        assert await found.dispatcher.drain(1.0) == 0
        assert [outcome.verdict for outcome in found.outcomes] == [BindOutcome.DROPPED]
        found.submit("b")
        assert [outcome.verdict for outcome in found.outcomes] == [BindOutcome.DROPPED] * 2
