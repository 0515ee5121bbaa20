"""Workloads over HTTP: an embedded cluster and a daemon in processes of their own, and this one, the user.

The time is that of the clock on the wall, from the first pod that is measured to the last one that a watch of this
process shows on a node.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from time import perf_counter

import msgspec
import orjson

from vsched.api.resources import PODS
from vsched.errors import VschedError
from vsched.kube.errors import NotFound
from vsched.kube.paths import ApiResource
from vsched.kube.watch.deltas import BrokenObject, Delta
from vsched.kube.watch.reflector import Reflector, WatchedKind
from vsched.lab.children import Stage, beside, cpu_seconds_of, daemon_child, scratch, stage
from vsched.lab.outcomes import PodSeen
from vsched.lab.suites import words
from vsched.lab.suites.objects import CLUSTER_WIDE
from vsched.lab.suites.operations import Workload
from vsched.lab.suites.perform import Performer
from vsched.lab.suites.place import Action, LeftOut, NotPlaced, PlacementMeter, SuiteCluster, UnclaimedDevices
from vsched.lab.suites.run import Perform
from vsched.lab.suites.templates import Obj

PATIENCE_SECONDS = 120.0
"""Pods that got no node in so long never will."""
POLL_SECONDS = 0.2
PLAIN = ("--no-podgroup-controller",)
"""Arguments of the daemon: pods without a PodGroup get none, as with kube-scheduler."""
AT_ONCE = orjson.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
"""How pods are deleted: no kubelet is there to end them."""
CLAIM = "PersistentVolumeClaim"
ON_NODES = {"fieldSelector": "spec.nodeName!="}
"""Pods that have a node: the user looks for no others."""
COUNT_SECONDS = 1e-5
"""The pause for each pod that waits before they are counted again, which takes the processor from what is measured."""


def resource_of(kind: str, api_version: str) -> ApiResource:
    """Where the API server has objects of a kind."""
    group, _, version = api_version.rpartition("/")
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    return ApiResource(group, version, plural, namespaced=kind not in CLUSTER_WIDE)


class LiveCluster(SuiteCluster):
    """An embedded cluster whose pods a daemon places."""

    def __init__(self, stage: Stage, processes: Mapping[str, int]) -> None:
        """``processes`` are the numbers of those whose processor time is told."""
        super().__init__()
        self._stage = stage
        self._processes = processes
        self._moved = asyncio.Event()
        self._resources: dict[str, ApiResource] = {}
        """By kind, of what was created."""
        self._devices = UnclaimedDevices()
        self._tasks: dict[Action, asyncio.Task[None]] = {}
        decode = msgspec.json.Decoder(PodSeen).decode
        self.watch: Reflector[PodSeen] = Reflector(stage.client, WatchedKind(PODS, decode, selectors=ON_NODES), self)

    def now(self) -> float:
        return perf_counter()

    def used(self) -> dict[str, float]:
        return cpu_seconds_of(self._processes)

    # Objects

    async def create(self, objects: Iterable[Obj]) -> None:
        for _, found in groupby(objects, _goes_with):
            await self._stage.sender.send_all("POST", (self._posted(each) for each in found))

    def _posted(self, found: Obj) -> tuple[str, bytes]:
        """The path and the body that create an object."""
        kind, metadata = found["kind"], found["metadata"]
        self._devices.see(found)
        if kind == "Pod":
            self.pods.add(found)
        if kind not in self._resources:
            self._resources[kind] = resource_of(kind, found["apiVersion"])
        if kind == CLAIM:
            # A claim that says so before its volume knows of it lost its volume.
            metadata.get("annotations", {}).pop("pv.kubernetes.io/bind-completed", None)
        return self._resources[kind].path(metadata.get("namespace", "")), orjson.dumps(found)

    async def update(self, found: Obj) -> None:
        raise LeftOut(words.IN_CORE_ALONE)

    async def delete(self, kind: str, keys: Iterable[str]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for key in list(keys):
                if kind == "Pod":
                    self.pods.known.pop(key, None)
                namespace, _, name = key.rpartition("/")
                tasks.create_task(self._delete(self._resources[kind].path(namespace, name)))

    async def _delete(self, path: str) -> None:
        try:
            await self._stage.sender.send("DELETE", path, AT_ONCE)
        except NotFound:
            return

    async def allocate(self, namespace: str) -> None:
        resource = self._resources.get("ResourceClaim")
        if resource is None:
            return  # no claim was created
        for claim in (await self._stage.client.list(resource.path(namespace)))["items"]:
            named = {"apiVersion": resource.api_version, "kind": "ResourceClaim"}
            body = orjson.dumps({**named, **claim, "status": self._devices.give(claim)})
            path = resource.path(namespace, claim["metadata"]["name"], "status")
            await self._stage.sender.send("PUT", path, body)

    # Time

    async def until_placed(self, keys: Sequence[str], at_least: int) -> None:
        allowed = len(keys) - at_least
        left = self.pods.unbound(keys)
        while len(left) > allowed:
            self._moved.clear()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._moved.wait()
            except TimeoutError:
                raise NotPlaced(words.not_placed(len(left) - allowed, len(keys))) from None
            await asyncio.sleep(COUNT_SECONDS * len(left))
            left = self.pods.unbound(left)

    async def until_attempted(self, keys: Sequence[str]) -> None:
        left = set(keys)
        deadline = self.now() + PATIENCE_SECONDS
        while left:
            for pod in (await self._stage.client.list(PODS.path()))["items"]:
                if _attempted(pod):
                    left.discard(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
            if left and self.now() > deadline:
                raise NotPlaced(words.not_tried(len(left), len(keys)))
            await asyncio.sleep(POLL_SECONDS if left else 0)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def every(self, seconds: float, action: Action) -> None:
        self._tasks[action] = asyncio.get_running_loop().create_task(_repeated(seconds, action))

    async def until_over(self, action: Action) -> None:
        await self._tasks[action]

    async def close(self) -> None:
        """Stop what happens at intervals; raises what went wrong with it."""
        for task in self._tasks.values():
            task.cancel()
        for ended in await asyncio.gather(*self._tasks.values(), return_exceptions=True):
            if isinstance(ended, VschedError):
                raise ended

    # What the watch shows

    def replace(self, items: list[PodSeen], resource_version: str) -> None:
        for item in items:
            self._see(item)

    def apply(self, delta: Delta, item: PodSeen) -> None:
        if delta is Delta.DELETED:
            self.pods.known.pop(item.key, None)
            self._moved.set()
        else:
            self._see(item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """A pod without a name or a namespace is not one of ours."""

    def _see(self, pod: PodSeen) -> None:
        if pod.spec.node_name and self.pods.bind(pod.key, self.now()):
            self._moved.set()


def _goes_with(found: Obj) -> str:
    """Objects in a row with the same word are created at once. Claims are bound to their volumes by a controller."""
    return CLAIM if found["kind"] == "PersistentVolume" else str(found["kind"])


async def _repeated(seconds: float, action: Action) -> None:
    due = perf_counter()
    while True:
        due += seconds
        await asyncio.sleep(max(0.0, due - perf_counter()))
        if not await action():
            return


def _attempted(pod: Obj) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    tried = any(each["type"] == "PodScheduled" for each in conditions)
    return bool(tried or pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"))


def live_of(policy: str) -> Perform:
    """Workloads on clusters of their own, under the policy of this text."""

    async def perform(workload: Workload) -> list[PlacementMeter]:
        return await _performed(workload, policy)

    return perform


async def _performed(workload: Workload, policy: str) -> list[PlacementMeter]:
    async with scratch() as directory:
        file = directory / "policy.yaml"
        file.write_text(policy, encoding="utf-8")
        async with (
            stage(0, directory, "--no-kubelets") as found,
            daemon_child(found.cluster.kubeconfig, directory, policy=file, further=PLAIN) as daemon,
        ):
            children = {"server": found.cluster.child, "daemon": daemon.child}
            processes = {name: each.process.pid for name, each in children.items()} | {"user": os.getpid()}
            place = LiveCluster(found, processes)
            running = found.cluster.child.ended(), daemon.child.ended(), place.watch.run()
            async with beside(*running), _closing(place):
                await place.watch.synced.wait()
                return await Performer(place).run(workload)


@asynccontextmanager
async def _closing(place: LiveCluster) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await place.close()
