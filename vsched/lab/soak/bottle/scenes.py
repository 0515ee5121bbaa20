"""The scenes whose orders are explored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import msgspec

from vsched.apimachinery.manifests.node_pools import PoolDescription
from vsched.daemon.lead.shards import shards_held
from vsched.daemon.options import Options
from vsched.kube.lease.record import LeaseSettings
from vsched.lab.claiming import fixtures, with_claims
from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.misfortunes.tenants import PODGROUPS
from vsched.lab.soak.bottle.scene import CLAIMS, DISKS, KILL, PODS, STOP, Scene, SceneDaemon, SceneRun
from vsched.lab.soak.bottle.vcjobs import RESOURCE as VCJOBS
from vsched.model.nodes.groups import GROUP
from vsched.model.pods.cooperation import COOPERATIVE_EVICTION, READY

PREEMPTING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: pdb}]
- plugins: [{name: predicates}, {name: proportion}]
"""
RECLAIMING = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: proportion}]
- plugins: [{name: predicates}]
"""
PROVISIONING = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: proportion}]
autoscaling: {provisioningRequest: true, retries: 1, backOff: 300ms, holdEvictions: 5m}
"""
BUDGETS, REQUESTS = "policy/poddisruptionbudgets", "autoscaling.x-k8s.io/provisioningrequests"
QUICK_LEASES = LeaseSettings(duration_seconds=3.0, renew_deadline_seconds=2.0, retry_seconds=0.5)
LASTING_LEASES = LeaseSettings(duration_seconds=20.0, renew_deadline_seconds=15.0, retry_seconds=1.0)


def node(name: str, cpus: int) -> Obj:
    amounts = {"cpu": str(cpus), "memory": "16Gi", "pods": "110"}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}, "status": status}


def gang(name: str, size: int, *, minimum: int | None = None, queue: str = "default", **spec: Any) -> list[Obj]:
    """A PodGroup and its pods of one cpu each."""
    meta = {"name": name, "namespace": "default"}
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": meta}
    group["spec"] = {"minMember": size if minimum is None else minimum, "queue": queue, **spec}
    return [group, *(pod(f"{name}-{number}", name) for number in range(size))]


def pod(name: str, group: str) -> Obj:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    annotations = {"scheduling.k8s.io/group-name": group}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"schedulerName": "vsched", "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def queue(name: str, **spec: Any) -> Obj:
    meta = {"name": name}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": meta,
        "spec": {"weight": 1, **spec},
    }


def urgent(*objects: Obj) -> list[Obj]:
    """The same with a higher priority."""
    for each in objects:
        each["spec"]["priorityClassName"] = "high"
    return list(objects)


HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}


class ClaimsScene(Scene):
    """A gang of two with claims comes, runs and goes."""

    name: ClassVar[str] = "claims"

    def nodes(self) -> Sequence[Obj]:
        return [node("n1", 2), node("n2", 2)]

    def objects(self) -> Sequence[Obj]:
        return [obj for _, obj in fixtures(("n1", "n2"), ("default",), 1)]

    async def play(self, stage: SceneRun) -> None:
        stage.open()
        made = gang("g", 2)
        for each in made[1:]:
            with_claims(each)
        stage.create(*made)
        await stage.at_rest(lambda: () if len(stage.placed("g-")) == 2 else (words.waits("g"),))
        for number in range(2):
            stage.delete(PODS, f"g-{number}")
        stage.delete(PODGROUPS, "g")

    def unsettled(self, stage: SceneRun) -> Iterator[str]:
        for resource in (PODS, CLAIMS, DISKS):
            for each in stage.client.list(resource):
                yield words.is_left(each["kind"], each["metadata"]["name"])


class OneLeaves(Scene):
    """Pods of ``old`` run, and one of them has to make room for ``new``."""

    policy: ClassVar[str] = RECLAIMING

    def nodes(self) -> Sequence[Obj]:
        return [node("n1", 2)]

    def objects(self) -> Sequence[Obj]:
        return [queue("a"), queue("b")]

    def unsettled(self, stage: SceneRun) -> Iterator[str]:
        if len(stage.placed("new-")) != 1:
            yield words.waits("new-0")
        if len(stage.placed("old-")) != 1:
            yield words.placed(stage.placed())

    def broken(self, stage: SceneRun) -> Iterator[str]:
        if len(stage.evicted) > 1:
            yield words.one_was_enough(stage.evicted.values())


class RestartScene(OneLeaves):
    """A vcjob that restarts when a pod is evicted, in a queue that is reclaimed."""

    name: ClassVar[str] = "restart"

    async def play(self, stage: SceneRun) -> None:
        template = pod("w", "")
        meta = {"name": "old", "namespace": "default"}
        task = {"name": "w", "replicas": 2, "template": {"metadata": {}, "spec": template["spec"]}}
        job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": meta}
        policies = [{"event": "PodEvicted", "action": "RestartJob"}]
        spec = {"schedulerName": "vsched", "queue": "a", "minAvailable": 1, "policies": policies, "tasks": [task]}
        stage.create({**job, "spec": spec})
        await stage.until(lambda: len(stage.placed("old-")) == 2)
        await asyncio.sleep(0.3)
        stage.open()
        stage.create(*gang("new", 1, queue="b"))

    def broken(self, stage: SceneRun) -> Iterator[str]:
        yield from ()

    def unsettled(self, stage: SceneRun) -> Iterator[str]:
        yield from super().unsettled(stage)
        status = (stage.client.get(VCJOBS, "default", "old") or {}).get("status") or {}
        if status.get("state", {}).get("phase") != "Running" or status.get("retryCount", 0) != 1:
            yield words.restarted(status.get("state"), status.get("retryCount"))


class BudgetScene(OneLeaves):
    """A preemption while the budget of the victims changes."""

    name: ClassVar[str] = "budget"
    policy: ClassVar[str] = PREEMPTING

    def objects(self) -> Sequence[Obj]:
        return [HIGH, self._budget(1)]

    @staticmethod
    def _budget(least: int) -> Obj:
        meta = {"name": "old", "namespace": "default"}
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": "old"}}}
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}

    async def play(self, stage: SceneRun) -> None:
        group, *pods = gang("old", 2, minimum=1)
        for each in pods:
            each["metadata"]["labels"] = {"app": "old"}
        stage.create(group, *pods)
        await stage.until(lambda: len(stage.placed("old-")) == 2)
        await asyncio.sleep(0.3)
        stage.open()
        stage.create(*urgent(*gang("new", 1)))
        await asyncio.sleep(0.012)
        stage.change(BUDGETS, "old", lambda found: {**found, "spec": {**found["spec"], "minAvailable": 2}})
        await asyncio.sleep(2.0)
        stage.change(BUDGETS, "old", lambda found: {**found, "spec": {**found["spec"], "minAvailable": 1}})


class HandoverScene(OneLeaves):
    """The lead changes hands in the middle of a reclaim."""

    name: ClassVar[str] = "handover"
    daemons: ClassVar[int] = 2
    strokes: ClassVar[tuple[str, ...]] = (KILL, STOP)

    def options(self) -> Options:
        return msgspec.structs.replace(super().options(), lease=QUICK_LEASES)

    async def play(self, stage: SceneRun) -> None:
        stage.create(*gang("old", 2, minimum=1, queue="a"))
        await stage.until(lambda: len(stage.placed("old-")) == 2)
        await asyncio.sleep(0.3)
        stage.open()
        stage.create(*gang("new", 1, queue="b"))


class CooperativeScene(OneLeaves):
    """A pod is asked to end by itself, and answers when its time is over."""

    name: ClassVar[str] = "cooperative"
    policy: ClassVar[str] = PREEMPTING

    def nodes(self) -> Sequence[Obj]:
        return [node("n1", 1)]

    def objects(self) -> Sequence[Obj]:
        return [HIGH]

    async def play(self, stage: SceneRun) -> None:
        group, old = gang("old", 1, minimum=0)
        old["metadata"]["annotations"][COOPERATIVE_EVICTION] = "2s"
        stage.create(group, old)
        await stage.until(lambda: any(each["status"].get("phase") == "Running" for each in stage.pods("old-")))
        await asyncio.sleep(0.3)
        stage.open()
        stage.create(*urgent(*gang("new", 1)))
        await asyncio.sleep(2.0)

        def answered(found: Obj) -> Obj:
            said = {**found["metadata"].get("annotations", {}), READY: "true"}
            return {**found, "metadata": {**found["metadata"], "annotations": said}}

        stage.change(PODS, "old-0", answered)

    def unsettled(self, stage: SceneRun) -> Iterator[str]:
        if stage.placed() != ["new-0"]:
            yield words.placed(stage.placed())


class ProvisioningScene(Scene):
    """A gang that has asked for nodes goes as they come, and another one comes."""

    name: ClassVar[str] = "provisioning"
    policy: ClassVar[str] = PROVISIONING
    pools: ClassVar[tuple[PoolDescription, ...]] = (PoolDescription("pool", (node("", 2),), delay=0.5),)

    def nodes(self) -> Sequence[Obj]:
        return []

    async def play(self, stage: SceneRun) -> None:
        stage.open()
        stage.create(*gang("a", 2))
        await stage.until(lambda: bool(stage.client.list("nodes")), 5.0)
        for number in range(2):
            stage.delete(PODS, f"a-{number}")
        stage.delete(PODGROUPS, "a")
        await asyncio.sleep(0.02)
        stage.create(*gang("b", 2))

    def unsettled(self, stage: SceneRun) -> Iterator[str]:
        if stage.placed() != ["b-0", "b-1"]:
            yield words.placed(stage.placed())
        for resource in (REQUESTS, "podtemplates"):
            for each in stage.client.list(resource):
                yield words.is_left(each["kind"], each["metadata"]["name"])


class ShardsScene(Scene):
    """Two shards fill one queue."""

    name: ClassVar[str] = "shards"
    daemons: ClassVar[int] = 2
    late_seconds: ClassVar[float] = 0.4

    def options(self) -> Options:
        return msgspec.structs.replace(super().options(), shards=2, shard_by="node-pool", lease=LASTING_LEASES)

    def nodes(self) -> Sequence[Obj]:
        found = [node(name, 2) for name in "ag"]
        for each in found:
            each["metadata"]["labels"] = {GROUP: each["metadata"]["name"]}
        return found

    def objects(self) -> Sequence[Obj]:
        return [queue("q", capability={"cpu": "3"})]

    async def play(self, stage: SceneRun) -> None:
        await stage.until(lambda: sorted(map(len, map(_shards_of, stage.casts))) == [1, 1])
        await asyncio.sleep(1.0)
        stage.open()
        for name in "ag":
            group, *pods = gang(name, 2, queue="q")
            for each in pods:
                each["spec"]["nodeSelector"] = {GROUP: name}
            stage.create(group, *pods)

    def unsettled(self, stage: SceneRun) -> Iterator[str]:
        if len(stage.placed()) != 2:
            yield words.placed(stage.placed())

    def broken(self, stage: SceneRun) -> Iterator[str]:
        if len(stage.placed()) > 3:
            yield words.over_capability("q")


def _shards_of(daemon: SceneDaemon) -> Sequence[int]:
    told: Any = {"held": ()} if daemon.daemon is None else shards_held(daemon.daemon.election)
    found: Sequence[int] = told["held"]
    return found


SCENES: dict[str, type[Scene]] = {
    each.name: each
    for each in (
        ClaimsScene,
        RestartScene,
        ShardsScene,
        BudgetScene,
        HandoverScene,
        CooperativeScene,
        ProvisioningScene,
    )
}
