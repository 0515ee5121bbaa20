"""Vcjobs that contend for one node: their controller, sessions and kubelets in virtual time, without a server."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.controllers.vcjobs.world import World
from tests.support import builders as make
from vsched import api
from vsched.controllers.vcjobs.podgroup import podgroup_of
from vsched.controllers.vcjobs.spec import VcJob
from vsched.controllers.vcjobs.view import VcjobPod
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.kube.times import time_stamp
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.settings.built_in import REGISTRY

Obj = dict[str, Any]
START = 1_000_000.0
GRACE_SECONDS = 3.0


class Contest:
    """One node, queues, and vcjobs that come one after the other. In each step, whoever acts does so in any order."""

    def __init__(self, policy: Policy, cpus: int, queues: Sequence[Obj], seed: int, *, seen: bool = True) -> None:
        """``seen``: whether the mirror sees the vcjobs, not only their pods and PodGroups."""
        self.policy = policy
        self._seen = seen
        self.now = START
        self.worlds: dict[str, World] = {}
        self.takings: list[tuple[float, str, str]] = []
        """When which job took from which, by name."""
        self.loops = 0
        self.cache = Mirror(MirrorSettings(frozenset({"volcano"})))
        self._random = random.Random(seed)
        self._shown: dict[tuple[str, str], Obj] = {}
        self._until: dict[tuple[str, str], float] = {}
        """By job and uid of a pod that is being deleted: when it is gone."""
        self._groups: dict[str, Obj] = {}
        self._version = 0
        node = make.node("n1", status={"allocatable": {"cpu": str(cpus), "memory": "64Gi", "pods": "110"}})
        self._show({("Node", "n1"): node} | {("Queue", each["metadata"]["name"]): each for each in queues})

    def add(self, job: VcJob) -> None:
        """A vcjob is made."""
        self.worlds[job.name] = World(job, self.now)
        self._groups[job.name] = make.merged(podgroup_of(job, {}), {"kind": "PodGroup"})

    def run(self, steps: int, seconds: float = 1.0) -> None:
        """So many steps of this length."""
        for _ in range(steps):
            self.now += seconds
            acts = [self._session, self._kubelet, *(lambda one=one: self._control(one) for one in self.worlds.values())]
            self._random.shuffle(acts)
            for act in acts:
                act()
                self._show(self._objects())

    def forget(self) -> None:
        """The daemon dies; another one lists all objects."""
        shown, self._shown, self.cache = self._shown, {}, Mirror(MirrorSettings(frozenset({"volcano"})))
        self._show(shown)

    def running(self) -> dict[str, int]:
        """How many pods of each job run."""
        return {
            name: sum(pod.phase == "Running" and not pod.deleting for pod in world.pods.values())
            for name, world in self.worlds.items()
        }

    # -- who acts

    def _control(self, world: World) -> None:
        world.now = self.now
        world.step()

    def _kubelet(self) -> None:
        for world in self.worlds.values():
            for name, pod in list(world.pods.items()):
                if not pod.deleting:
                    continue
                grace = GRACE_SECONDS if pod.bound else 0.0
                until = self._until.setdefault((world.job.name, pod.uid), self.now + grace)
                if until <= self.now:
                    world.now = self.now
                    world.evict(name)

    def _session(self) -> None:
        report = run_cycle(self.cache.snapshot(self.now), self.policy, REGISTRY)
        self.cache.assumptions.assume(report)
        owners = {world.job.podgroup: world for world in self.worlds.values()}
        for bind in report.binds:
            owners[bind.job.partition("/")[2]].set(bind.name, "Running", bound=True, ready=True)
        for eviction in report.evictions:
            taker, victim = (owners[key.partition("/")[2]] for key in (eviction.beneficiary, eviction.job))
            victim.pods[eviction.name] = replace(victim.pods[eviction.name], deleting=True)
            self.takings.append((self.now, taker.job.name, victim.job.name))
            self.loops += self.cache.assumptions.took(eviction.beneficiary, eviction.job, self.now) > 0
        for key, outcome in report.jobs.items():
            world = owners.get(key.partition("/")[2])
            if world is not None and world.group is not None:
                world.group = world.group._replace(phase=outcome.phase)

    # -- what the watch shows

    def _objects(self) -> dict[tuple[str, str], Obj]:
        found = {key: obj for key, obj in self._shown.items() if key[0] in ("Node", "Queue")}
        for world in self.worlds.values():
            job = world.job
            if self._seen:
                found[api.VCJOB, job.key] = _vcjob(world)
            if world.group is not None:
                told = {"metadata": {"uid": world.group.uid}, "status": {"phase": world.group.phase}}
                found["PodGroup", job.podgroup] = make.merged(self._groups[job.name], told)
            for pod in world.pods.values():
                found["Pod", f"{job.name} {pod.uid}"] = _pod(job.name, job.namespace, job.podgroup, pod)
        return found

    def _show(self, objects: dict[tuple[str, str], Obj]) -> None:
        for key in self._shown.keys() - objects.keys():
            self._tell(key[0], "DELETED", self._shown.pop(key))
        for key, obj in objects.items():
            if self._shown.get(key) != obj:
                self._shown[key] = obj
                self._tell(key[0], "MODIFIED", obj)

    def _tell(self, kind: str, change: str, obj: Obj) -> None:
        self._version += 1
        told = make.merged(obj, {"metadata": {"resourceVersion": str(self._version)}})
        self.cache.intake.apply(kind, change, api.read(kind, msgspec.json.encode(told)))


@cache
def _pod(job: str, namespace: str, group: str, pod: VcjobPod) -> Obj:
    metadata: Obj = {"uid": f"{job}-{pod.uid}", "annotations": {"volcano.sh/task-spec": pod.task}}
    if pod.deleting:
        metadata["deletionTimestamp"] = time_stamp(START)
    fields = {"metadata": metadata, "status": {"phase": pod.phase}}
    return make.pod(pod.name, namespace=namespace, node="n1" if pod.bound else "", group=group, **fields)


def _vcjob(world: World) -> Obj:
    job = world.job
    tasks = [{"name": each.name, "replicas": each.replicas, "template": each.template} for each in job.tasks]
    return {
        "kind": "Job",
        "metadata": {"namespace": job.namespace, "name": job.name, "uid": job.uid},
        "spec": {"schedulerName": "volcano", "queue": job.queue, "tasks": tasks},
        "status": world.status,
    }
