"""The largest objects of every kind: none costs others much, and a gang beside them is bound within a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.support.blown_up import LARGEST, blown_up
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched import api
from vsched.clock import FakeClock
from vsched.controllers.flows.cronjobs import CronJob, decide
from vsched.controllers.flows.jobflows import FlowRecord
from vsched.controllers.flows.progress import proceed
from vsched.controllers.flows.records import MakerRecords
from vsched.controllers.vcjobs.reconcile import reconcile
from vsched.controllers.vcjobs.records import JobRecords
from vsched.controllers.vcjobs.spec import VcJob
from vsched.controllers.vcjobs.view import VcjobView
from vsched.framework.cycle import run_cycle
from vsched.kube.watch.deltas import Delta
from vsched.settings.built_in import REGISTRY
from vsched.settings.workloads import built_in_table
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
SECONDS = 1.0
"""Of processor time for one object: several times what it takes."""
CHOSEN = 3
"""About so many of the largest objects of a kind are tried."""


def work(kind: str, data: bytes) -> None:
    """What a daemon does with an object on its event loop, and a session with it in it."""
    known = kind in api.KINDS or kind in api.HEEDED
    found = api.read(kind, data) if known else api.read_workload(kind, data)
    if kind not in api.HEEDED:
        cache = mirror(manifests("node n1 cpu=64"))
        cache.intake.use_workloads(built_in_table())
        cache.intake.apply(kind, "ADDED", found)
        run_cycle(cache.snapshot(NOW), DEFAULT_POLICY, REGISTRY)
    jobs = JobRecords(("vsched",), lambda key: None, lambda about, why: None, FakeClock())
    for feeds in (jobs.feeds, MakerRecords(lambda key: None, FakeClock()).feeds):
        if kind in feeds:
            feeds[kind].apply(Delta.ADDED, found)
            for each in feeds[kind].found.values():
                match each:
                    case VcJob():
                        reconcile(VcjobView(each, {}), None, NOW)
                    case CronJob():
                        decide(each, [], NOW)
                    case FlowRecord():
                        proceed(each, [], {}, NOW)


def test_every_kind_that_is_read_is_tried() -> None:
    assert {*api.KINDS, *api.HEEDED} <= LARGEST.keys()


@pytest.mark.parametrize("kind", LARGEST)
def test_the_largest_objects_cost_no_more_than_a_second(kind: str) -> None:
    tried = 0
    for where, obj in blown_up(kind, CHOSEN):
        data = orjson.dumps(obj)
        began = time.process_time()
        work(kind, data)
        took = time.process_time() - began
        assert took < SECONDS, f"{where}: {took:.2f} s"
        tried += 1
    assert tried


TEMPLATE: Obj = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "10m"}}}],
    }
}


def vcjob(replicas: int = 1, **spec: Any) -> Obj:
    tasks = [{"name": "w", "replicas": replicas, "template": TEMPLATE}]
    return {"schedulerName": "vsched", "minAvailable": 1, "tasks": tasks, **spec}


def of(version: str, kind: str, spec: Obj) -> Obj:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "big", "namespace": "tenant"}, "spec": spec}


def batch(kind: str, spec: Obj) -> Obj:
    return of("batch.volcano.sh/v1alpha1", kind, spec)


def flow(flows: list[Obj]) -> Obj:
    return of("flow.volcano.sh/v1alpha1", "JobFlow", {"flows": flows})


def cron(schedule: str = "* * * * *", **spec: Any) -> Obj:
    return batch("CronJob", {"schedule": schedule, "jobTemplate": {"spec": vcjob()}, **spec})


def claim(*expressions: str) -> Obj:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    exactly = {"deviceClassName": "gpu", "count": 1, "selectors": selectors}
    return of("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": [{"name": "r", "exactly": exactly}]}})


INT32_MAX = 2**31 - 1
LETTERS = "a" * 2000
SPLITTING = f"'{LETTERS}'.split('').map(x, '{LETTERS}'.split('').size()).size() > 0"
PARTED: Obj = {
    "name": "w",
    "replicas": INT32_MAX - 1,
    "template": TEMPLATE,
    "partitionPolicy": {"totalPartitions": INT32_MAX // 2, "partitionSize": 2},
}
MANY = [{"name": f"f{number}"} for number in range(75_000)]
HOSTILE: dict[str, tuple[Callable[[], Obj], str]] = {
    "a vcjob of two billion pods": (lambda: batch("Job", vcjob(INT32_MAX)), "2,147,483,647 pods"),
    "the same with svc": (lambda: batch("Job", vcjob(INT32_MAX, plugins={"svc": []})), "2,147,483,647 pods to list"),
    "the same with ssh": (lambda: batch("Job", vcjob(INT32_MAX, plugins={"ssh": []})), "2,147,483,647 pods to list"),
    "the same with pytorch": (
        lambda: batch("Job", vcjob(INT32_MAX, plugins={"pytorch": ["--master=w"]})), "2,147,483,647 pods"),
    "the same in partitions": (lambda: batch("Job", vcjob(tasks=[PARTED])), "2,147,483,646 pods"),
    "a JobFlow of 75,000 flows": (lambda: flow(MANY), "spec.flows: 75,000 entries"),
    "a JobFlow of as many flows as are read, without templates": (lambda: flow(MANY[:1024]), "JobTemplate f0 does not"),
    "a CronJob whose schedule is as long as an object": (
        lambda: cron(",".join(["1"] * 700_000) + " * * * *"), "spec.schedule: 1,400,007 letters"),
    "a CronJob of every nanosecond": (lambda: cron("@every 1ns"), "shorter than a second"),
    "a claim whose selector splits literals": (lambda: claim(*[SPLITTING] * 8), "8,830,413 steps"),
}  # fmt: skip
"""Objects that a real API server takes, and what their owners are told of them."""


@pytest.mark.parametrize(("made", "said"), HOSTILE.values(), ids=HOSTILE)
async def test_a_gang_is_bound_within_a_second_beside(made: Callable[[], Obj], said: str) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tenant"}}
    async with Cluster([node("n1", cpu="64")], manifests=[namespace]) as cluster, scheduling(cluster.url):
        cluster.apply(gang("before", 4))
        await until(lambda: len(nodes_of(cluster, "before-")) == 4)
        cluster.apply([made()])
        began = asyncio.get_running_loop().time()
        cluster.apply(gang("beside", 4))
        await until(lambda: len(nodes_of(cluster, "beside-")) == 4)
        assert asyncio.get_running_loop().time() - began < 1.0
        await until(lambda: any(said in event["message"] for event in cluster.client.list("events", "tenant")))
        stopping = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - stopping < 5.0
