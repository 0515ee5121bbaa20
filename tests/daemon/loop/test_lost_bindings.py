"""Bindings that the API server accepted and did not keep: their pods are placed again, and their room is free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
import pytest

from tests.support.fault_proxy import FaultProxy, faulty
from tests.support.plans import NOW, manifests
from tests.support.running import gang, node, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched import api
from vsched.clock import SystemClock
from vsched.daemon.app import Daemon
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.mirror.events import MirrorEvents
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.plan import Bind, CycleReport
from vsched.sim.api.fault_plan import FaultInjector, plan_of
from vsched.sim.cluster import Cluster
from vsched.writes.confirmations import MOST_LOOKS, Confirmations, ConfirmationSettings

SOON = ConfirmationSettings(unconfirmed_seconds=0.3)
FOREVER = ConfirmationSettings(unconfirmed_seconds=3600.0)
BINDINGS = ".*/binding"


def lost(daemon: Daemon) -> float:
    found = daemon.telemetry.registry.get_sample_value("vsched_lost_bindings_total")
    assert found is not None
    return found


async def test_an_accepted_binding_that_is_not_there_is_not_believed_for_long() -> None:
    async with Cluster([node("n1", cpu="2")]) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("POST", BINDINGS, 201, times=2)
        async with scheduling(proxy.url, confirmations=SOON) as daemon:
            cluster.apply(gang("g", 2))
            await until(lambda: len(nodes_of(cluster, "g-")) == 2)
            await until(lambda: daemon.mirror.describe()["assumed_tasks"] == 0)
            assert lost(daemon) == 2


SILENT = {"fault": "watch-silent", "percent": 100, "resources": ["pods"], "delay_ms": 0}
UNKNOWN = {
    "a conflict": [{"fault": "drop-after"}, {"fault": "conflict"}],
    "no other answer": [{"fault": "drop-after"}, {"fault": "drop-before", "limit": 3}],
    "that it takes too long": [{"fault": "timeout", "delay_ms": 10}, {"fault": "unavailable", "limit": 3}],
}


@pytest.mark.parametrize("rules", UNKNOWN.values(), ids=UNKNOWN)
async def test_a_place_is_not_given_away_where_a_lost_answer_was_a_yes(rules: list[dict[str, Any]]) -> None:
    """The watch of pods says nothing at all: only who reads the pod knows that the first attempt bound it."""
    bindings = [{"percent": 100, "limit": 1, "resources": ["pods/binding"], **rule} for rule in rules]
    faults = FaultInjector(plan_of({"seed": 1, "rules": [*bindings, SILENT]}, "test"))
    waiting = [*gang("a", 1), *gang("b", 1)]
    async with (
        Cluster([node("n1", cpu="1")], manifests=waiting, faults=faults) as cluster,
        scheduling(cluster.url, period_seconds=0.02, confirmations=FOREVER) as daemon,
    ):
        bound = partial(daemon.telemetry.registry.get_sample_value, "vsched_pods_bound_total")
        await until(lambda: bound() == 1)
        sessions = daemon.telemetry.findings.cycles
        await until(lambda: daemon.telemetry.findings.cycles > sessions + 5)
        assert len(nodes_of(cluster)) == 1


def test_a_pod_that_somebody_else_bound_is_taken_to_be_there() -> None:
    changes = list[str]()
    cache = Mirror(MirrorSettings(frozenset({"vsched"})), MirrorEvents(lambda: changes.append("room")))
    for found in manifests("node n1 cpu=1\nnode n2 cpu=1\njob ns/a pods=1 cpu=1"):
        cache.intake.apply(found["kind"], "ADDED", api.decode(found["kind"], orjson.dumps(found)))
    (uid,) = (uid for job in cache.snapshot(NOW).jobs.values() for uid in job.tasks)

    def idle() -> dict[str, int]:
        nodes = cache.snapshot(NOW).nodes
        return {name: int(nodes.idle[0, row]) for name, row in nodes.statics.row.items()}

    cache.assumptions.assume(CycleReport(binds=(Bind(uid, "ns", "a", "n1", "ns/a"),)))
    assert idle() == {"n1": 0, "n2": 1000}
    changes.clear()
    cache.assumptions.found_bound(uid, "n2")
    assert (idle(), changes) == ({"n1": 1000, "n2": 0}, ["room"])
    assert cache.assumptions.awaits(uid), "the watch has not shown it"


def test_a_pod_on_any_node_that_was_tried_before_is_bound_by_nobody_else() -> None:
    """What was forgotten may have been done: the watch shows it late."""
    events, foreign, tried = MirrorEvents(), list[str](), list[str]()
    events.on_foreign.add(lambda task: foreign.append(tried[-1]))
    cache = Mirror(MirrorSettings(frozenset({"vsched"})), events)
    cluster = manifests("node n1 cpu=1\nnode n2 cpu=1\nnode n3 cpu=1\njob ns/a pods=1 cpu=1")
    for found in cluster:
        cache.intake.apply(found["kind"], "ADDED", api.decode(found["kind"], orjson.dumps(found)))
    (uid,) = (uid for job in cache.snapshot(NOW).jobs.values() for uid in job.tasks)
    for node_name in ("n1", "n2"):
        cache.assumptions.assume(CycleReport(binds=(Bind(uid, "ns", "a", node_name, "ns/a"),)))
        cache.assumptions.forget(uid)

    for found_on in ("n1", "n3"):
        tried.append(found_on)
        cache.assumptions.found_bound(uid, found_on)

    assert foreign == ["n3"]


async def test_a_pod_that_is_gone_is_not_bound_again_in_every_session() -> None:
    """The watch of pods says nothing at all: the API server alone knows."""
    faults = FaultInjector(plan_of({"seed": 1, "rules": [SILENT]}, "test"))
    async with (
        Cluster([], manifests=gang("a", 1), faults=faults) as cluster,
        scheduling(cluster.url, period_seconds=0.02) as daemon,
    ):
        gone = partial(daemon.telemetry.registry.get_sample_value, "vsched_bindings_total", {"verdict": "gone"})
        await until(lambda: daemon.health.ready().ok)
        cluster.client.delete("pods", "default", "a-0", grace_seconds=0)
        cluster.apply([node("n1")])
        await until(lambda: gone() == 2)
        sessions = daemon.telemetry.findings.cycles
        await until(lambda: daemon.telemetry.findings.cycles > sessions + 8)
        assert gone() == 2


def relist(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.expire_watches("pods")


def edit(cluster: Cluster, proxy: FaultProxy) -> None:
    def labelled(found: dict[str, Any]) -> dict[str, Any]:
        metadata = dict(found["metadata"])
        return {**found, "metadata": {**metadata, "labels": {"a": "b"}}}

    cluster.client.patch("pods", "default", "g-0", labelled)
    cluster.expire_watches("pods")


@pytest.mark.parametrize("happens", [relist, edit], ids=["as it was", "in a newer version"])
async def test_a_list_that_shows_the_pod_without_a_node_ends_the_belief(
    happens: Callable[[Cluster, FaultProxy], None],
) -> None:
    async with Cluster([node("n1", cpu="1")]) as cluster, faulty(cluster.url) as proxy:
        proxy.spoil("POST", BINDINGS, 201)
        async with scheduling(proxy.url, confirmations=FOREVER) as daemon:
            cluster.apply(gang("g", 1))
            await until(lambda: daemon.telemetry.registry.get_sample_value("vsched_pods_bound_total") == 1)
            assert not nodes_of(cluster)
            happens(cluster, proxy)
            await until(lambda: nodes_of(cluster) == {"g-0": "n1"})


async def test_what_is_bound_and_only_shown_late_stays_believed() -> None:
    """The watch says nothing: who is asked for decides, and room that is taken is not given away.

    A pod that is gone may just have been deleted: that is no lost binding.
    """
    late, gone, unbound = pod("late"), pod("gone"), pod("unbound")
    late["spec"]["nodeName"] = "n1"
    cache, told = Mirror(MirrorSettings(frozenset({"vsched"}))), list[str]()
    async with (
        Cluster([node("n1")], manifests=[late, unbound]) as cluster,
        ApiClient(Connection(cluster.url)) as client,
    ):
        uids = {found["metadata"]["name"]: found["metadata"]["uid"] for found in cluster.client.list("pods")}
        uids["gone"] = "uid-gone"
        confirmations = Confirmations(
            client, cache.assumptions, SystemClock(), lambda bind: told.append(bind.name), SOON
        )
        for name, uid in uids.items():
            seen = {"metadata": {"name": name, "namespace": "default", "uid": uid}, "spec": gone["spec"]}
            cache.intake.apply("Pod", "ADDED", api.read("Pod", orjson.dumps(seen)))
            bind = Bind(uid, "default", name, "n1", "default/g")
            cache.assumptions.assume(CycleReport(binds=(bind,)))
            confirmations.accepted(bind)
        looking = asyncio.create_task(confirmations.run())
        await until(lambda: told == ["unbound"])
        assert {name for name, uid in uids.items() if cache.assumptions.awaits(uid)} == {"late", "gone"}
        looking.cancel()
        await asyncio.wait((looking,))


async def test_one_that_is_lost_is_found_behind_many_that_the_watch_has_shown() -> None:
    cache, told = Mirror(MirrorSettings(frozenset({"vsched"}))), list[str]()
    names = [f"p{number}" for number in range(2 * MOST_LOOKS + 5)]
    async with (
        Cluster([node("n1")], manifests=[pod(names[-1])]) as cluster,
        ApiClient(Connection(cluster.url)) as client,
    ):
        (unbound,) = cluster.client.list("pods")
        uids = dict(zip(names, names, strict=True)) | {names[-1]: unbound["metadata"]["uid"]}
        confirmations = Confirmations(
            client, cache.assumptions, SystemClock(), lambda bind: told.append(bind.name), SOON
        )

        def seen(name: str, version: str, **spec: str) -> api.Object:
            metadata = {"name": name, "namespace": "default", "uid": uids[name], "resourceVersion": version}
            return api.read("Pod", orjson.dumps({"metadata": metadata, "spec": {**pod(name)["spec"], **spec}}))

        for name in names:
            cache.intake.apply("Pod", "ADDED", seen(name, "1"))
            bind = Bind(uids[name], "default", name, "n1", "default/g")
            cache.assumptions.assume(CycleReport(binds=(bind,)))
            confirmations.accepted(bind)
        for name in names[:-1]:
            cache.intake.apply("Pod", "MODIFIED", seen(name, "2", nodeName="n1"))
        looking = asyncio.create_task(confirmations.run())
        await until(lambda: told == names[-1:])
        looking.cancel()
        await asyncio.wait((looking,))


def test_a_list_that_began_before_the_binding_was_accepted_proves_nothing() -> None:
    cache = Mirror(MirrorSettings(frozenset({"vsched"})))
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "5"}
    seen = api.read("Pod", orjson.dumps({"metadata": metadata, "spec": pod("p")["spec"]}))
    cache.intake.replace("Pod", [seen])
    cache.assumptions.assume(CycleReport(binds=(Bind("u", "ns", "p", "n1", "ns/g"),)))
    cache.intake.replace("Pod", [seen])
    assert cache.assumptions.awaits("u"), "nobody has said yet that it is bound"
    cache.intake.restart("Pod")
    cache.assumptions.accepted("u")
    cache.intake.include("Pod", seen)
    list(cache.intake.finish("Pod"))
    assert cache.assumptions.awaits("u"), "the list may be older than the binding"
    cache.intake.replace("Pod", [seen])
    assert not cache.assumptions.awaits("u"), "the list would show it"
