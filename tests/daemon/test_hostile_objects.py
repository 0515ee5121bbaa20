"""A daemon at an API server that lets everything in: objects that are none end no task and hold no good gang up."""

from __future__ import annotations

import logging

import orjson
import pytest

from tests.support.exemplars import EXEMPLARS
from tests.support.lenient import LenientServer
from tests.support.running import scheduling
from tests.support.spoiling import spoilt
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.daemon.watches import FOLLOWED
from vsched.kube.watch.deltas import WatchState

CHOSEN = {"Pod": 499}
"""One object of so many; of kinds with fewer fields one of 41."""
AMOUNTS = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
NAMES = (
    ".",
    "..",
    "",
    "?x=1",
    "a#b",
    "a/b",
    "../../x",
    "a%2Fb",
    "a\x01",
    "a\nb",
    "\U0001f4a5",
    'a"b',
    "x" * 9000,
    "a b",
)


def meta(name: str, namespace: str = "good", **more: object) -> dict[str, object]:
    return {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "resourceVersion": "7", **more}


async def bind_a_good_gang(server: LenientServer, daemon: Daemon, name: str) -> None:
    """A gang of two in a namespace of its own; raises where it is not bound."""
    group = {"metadata": meta(name), "spec": {"minMember": 2, "queue": "good"}, "status": {"phase": "Inqueue"}}
    server.put("PodGroup", f"good/{name}", orjson.dumps(group))
    containers = [{"name": "c", "resources": {"requests": {"cpu": "10m"}}}]
    members = [f"{name}-{number}" for number in range(2)]
    for member in members:
        annotated = meta(member, annotations={"scheduling.k8s.io/group-name": name})
        spec = {"schedulerName": "vsched", "priority": 9, "containers": containers}
        server.put("Pod", f"good/{member}", orjson.dumps({"metadata": annotated, "spec": spec}))
    await until(lambda: all(f"good/{member}" in server.bound for member in members))
    assert all(found.statistics.state is WatchState.WATCHING for found in daemon.reflectors.values())


def prepare(server: LenientServer) -> None:
    for number in range(3):
        node = {"metadata": meta(f"n{number}", "", labels={"zone": "a"}), "status": {"allocatable": AMOUNTS}}
        server.put("Node", f"n{number}", orjson.dumps(node))
    for name, weight in (("good", 60_000), ("default", 1), ("root", 1)):
        spec: dict[str, object] = {"weight": weight}
        if name == "good":  # whoever may make queues may guarantee them everything that nobody else is guaranteed
            spec |= {"guarantee": {"resource": {"cpu": "10", "memory": "10Gi"}}}
        queue = {"metadata": meta(name, ""), "spec": spec, "status": {"state": "Open"}}
        server.put("Queue", name, orjson.dumps(queue))


async def test_thousands_of_objects_that_are_none_beside_a_running_daemon(caplog: pytest.LogCaptureFixture) -> None:
    async with LenientServer() as server:
        prepare(server)
        async with scheduling(server.url, arbitrate=True, leader_elect=False) as daemon:
            count = 0
            for kind in [each for each in EXEMPLARS if each in FOLLOWED]:  # a daemon asks for no others
                put = []
                for at, (_, data) in enumerate(spoilt(kind, len(kind), CHOSEN.get(kind, 41))):
                    data = data.replace(b'"name":"x"', b'"name":"x-%d"' % at)
                    data = data.replace(b'"uid":"uid-x"', b'"uid":"uid-x-%d"' % at)
                    server.put(kind, f"bad-{at}", data)
                    put.append(f"bad-{at}")
                count += len(put)
                await bind_a_good_gang(server, daemon, f"after-{kind.lower()}")
                for key in put:
                    server.drop(kind, key)
            await bind_a_good_gang(server, daemon, "last")
            assert count > 1000
            assert daemon.telemetry.registry.get_sample_value("vsched_cycle_exceptions_total") == 0
            assert not [found for found in caplog.records if found.levelno >= logging.ERROR and found.exc_info]


async def test_names_that_cannot_stand_in_a_url_reach_neither_a_path_nor_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with LenientServer() as server:
        prepare(server)
        containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
        for at, name in enumerate(NAMES):
            spec = {"schedulerName": "vsched", "containers": containers}
            bare = {"metadata": meta(name, "ns"), "spec": spec}
            server.put("Pod", f"bare-{at}", orjson.dumps(bare))
            elsewhere = {"metadata": meta(f"p{at}", name), "spec": spec}
            server.put("Pod", f"elsewhere-{at}", orjson.dumps(elsewhere))
            gated = {**spec, "schedulingGates": [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]}
            noted = {"scheduling.volcano.sh/queue-allocation-gate": "true"}
            server.put(
                "Pod", f"gated-{at}", orjson.dumps({"metadata": meta(name, name, annotations=noted), "spec": gated})
            )
            owned = meta(
                f"o{at}", "ns", ownerReferences=[{"uid": name, "kind": "ReplicaSet", "name": name, "controller": True}]
            )
            server.put("Pod", f"ns/o{at}", orjson.dumps({"metadata": owned, "spec": spec}))
            grouped = meta(f"g{at}", "ns", annotations={"scheduling.k8s.io/group-name": name})
            server.put("Pod", f"ns/g{at}", orjson.dumps({"metadata": grouped, "spec": spec}))
            for kind in ("PodGroup", "Queue", "Node", "Consumer", "Bucket", "Allocation", "Namespace", "Command"):
                server.put(kind, f"bad-{at}", orjson.dumps({"metadata": meta(name, "ns"), "spec": {}}))
        async with scheduling(server.url, arbitrate=True, leader_elect=False) as daemon:
            await bind_a_good_gang(server, daemon, "first")
            told = {broken.kind for broken in daemon.mirror.broken.values()}
            assert {"Pod", "PodGroup", "Queue", "Node", "Consumer", "Bucket", "Allocation", "Namespace"} <= told
            await bind_a_good_gang(server, daemon, "second")
            assert daemon.telemetry.registry.get_sample_value("vsched_cycle_exceptions_total") == 0
        assert not [key for key in server.bound if key.startswith("ns//") or ".." in key]
        assert all("/../" not in path and "?x=1" not in path and "#" not in path for path in server.writes)
        assert not [found for found in caplog.records if found.levelno >= logging.ERROR]
