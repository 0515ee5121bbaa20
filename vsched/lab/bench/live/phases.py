"""Pods at a daemon: a burst, pods that wait already, and one at a time; what each took of time, writes and processor.

Latency counts from just before a pod's POST until a watch of this process shows the pod on a node. So it includes the
time for which the daemon waits for more changes, and the way back.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Mapping
from typing import Any

import orjson

from vsched.api.resources import PODS
from vsched.errors import Unavailable
from vsched.kube.client import ApiClient
from vsched.kube.watch.reflector import Reflector
from vsched.lab import words
from vsched.lab.bench.live.objects import as_real
from vsched.lab.bench.live.settings import LiveSettings
from vsched.lab.bench.observer import counter
from vsched.lab.children import DaemonChild, Stage, cpu_seconds_of
from vsched.lab.claiming import with_claims
from vsched.lab.gangs import as_gang, create, single_pod, submit
from vsched.lab.outcomes import PodOutcomes, SubmittedGang, pod_watch, spread_ms
from vsched.lab.sender import Obj
from vsched.sim.fleet.sample_gangs import SHAPES, gang

QUEUE, NAMESPACE = "default", "default"
GAP_SECONDS = (0.02, 0.06)
"""Range of the pause between two single pods; random, so that it is not in step with any timer."""
QUIET_SECONDS = 1.0
"""The cluster counts as idle once nothing has happened to pods for so long."""
SETTLED_SECONDS = 0.4
"""The same before a measurement."""
PATIENCE_SECONDS = 120.0
FOREVER_SECONDS = 86_400.0
SERVER, DAEMON = "cluster", "scheduler"
"""What they are called among the processes."""


class LiveBench:
    """Creates pods and waits until they are bound."""

    def __init__(
        self, stage: Stage, daemon: DaemonChild, settings: LiveSettings, processes: Mapping[str, int], profiled: bool
    ) -> None:
        """``processes`` are the numbers of those whose processor time is told; ``profiled`` is the daemon's burst."""
        self._client, self._sender = stage.client, stage.sender
        self._daemon = daemon
        self._settings = settings
        self._processes = processes
        self._profiled = profiled
        self._draw = random.Random(settings.seed)
        self._held: list[Obj] = []
        """The PodGroups of pods that wait."""
        self._moved = asyncio.Event()
        self._outcomes = PodOutcomes(self._gang_bound)
        self.watch: Reflector[Any] = pod_watch(stage.client, self._outcomes)

    def _gang_bound(self, gang: SubmittedGang) -> None:
        self._moved.set()

    async def run(self) -> dict[str, Any]:
        """Warm up, then the burst, the pods that wait already, and one pod at a time."""
        settings = self._settings
        await self.watch.synced.wait()
        await self._create_all("warm-up", settings.warm_up)
        await self._until_bound(settings.warm_up)
        await self._quiet(SETTLED_SECONDS)
        self._mark()
        burst = await self._measured(settings.pods, self._burst())
        size = await self._size_of("gang-0-0")
        waiting = None
        if settings.waiting:
            await self._create_waiting()
            waiting = await self._measured(settings.waiting, self._release())
        latencies = []
        for number in range(settings.singles):
            await asyncio.sleep(self._draw.uniform(*GAP_SECONDS))
            latencies.append(await self._single(f"single-{number}"))
        return {
            **burst,
            "pod_bytes": size,
            "waiting": waiting,
            "single_pods": settings.singles,
            "single_latency_ms": spread_ms(latencies),
        }

    async def _measured(self, pods: int, work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        """What the work took, until nothing happens to pods any more; figures a pod are by this number of pods."""
        before, cpu_before = await self._writes(), cpu_seconds_of(self._processes)
        result = await work
        await self._quiet()
        cpu = {name: used - cpu_before[name] for name, used in cpu_seconds_of(self._processes).items()}
        self._mark()
        writes = await self._writes() - before
        each = {name: round(seconds / pods * 1e3, 3) for name, seconds in cpu.items()}
        return {
            "pods": pods,
            **result,
            "api_writes_per_pod": {kind: round(count / pods, 3) for kind, count in sorted(writes.items())},
            "writes_per_pod": round(writes.total() / pods, 3),
            "cpu_seconds": {name: round(seconds, 3) for name, seconds in cpu.items()},
            "cpu_ms_per_pod": each,
            "daemon_cpu_ms_per_pod": each.get(DAEMON),
        }

    def _mark(self) -> None:
        """Tell the daemon that the part of the run which is profiled begins, or ends; later marks change nothing."""
        if self._profiled:
            self._daemon.child.process.send_signal(signal.SIGUSR2)

    # -- the burst: pods are placed while others are created

    async def _burst(self) -> dict[str, Any]:
        self._outcomes.latencies.clear()
        pods, before = self._settings.pods, self._outcomes.bound
        began = time.perf_counter()
        await self._create_all("gang", pods)
        created = time.perf_counter()
        await self._until_bound(before + pods)
        ended = self._last_bound()
        return {
            "seconds": round(ended - began, 3),
            "pods_per_second": round(pods / (ended - began), 1),
            "create_seconds": round(created - began, 3),
            "latency_ms": spread_ms(self._outcomes.latencies),
        }

    async def _create_all(self, prefix: str, pods: int) -> None:
        async with asyncio.TaskGroup() as group:
            for objects in self._singles(prefix, pods) if self._settings.gang == 1 else self._gangs(prefix, pods):
                group.create_task(submit(self._sender, self._outcomes, as_gang(objects, QUEUE, 1), objects))

    def _singles(self, prefix: str, pods: int) -> list[list[Obj]]:
        request = dict(SHAPES[0])
        return [
            self._dressed([single_pod(f"{prefix}-{number}", NAMESPACE, QUEUE, request, FOREVER_SECONDS)])
            for number in range(pods)
        ]

    def _gangs(self, prefix: str, pods: int) -> list[list[Obj]]:
        size, request = self._settings.gang, dict(SHAPES[0])
        return [
            self._dressed(
                gang(f"{prefix}-{first}", NAMESPACE, QUEUE, min(size, pods - first), request, FOREVER_SECONDS)
            )
            for first in range(0, pods, size)
        ]

    # -- pods that are all there before they may be placed, because their PodGroups come last

    async def _create_waiting(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for objects in self._gangs("waiting", self._settings.waiting):
                found = as_gang(objects, QUEUE, 1)
                self._held.append(objects[0])
                self._outcomes.expect(found)
                for pod in objects[1:]:
                    tasks.create_task(create(self._sender, pod))
        await self._quiet(SETTLED_SECONDS)

    async def _release(self) -> dict[str, Any]:
        pods, before = self._settings.waiting, self._outcomes.bound
        began = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for group in self._held:
                tasks.create_task(create(self._sender, group))
        await self._until_bound(before + pods)
        seconds = self._last_bound() - began
        return {"seconds": round(seconds, 3), "pods_per_second": round(pods / seconds, 1)}

    async def _size_of(self, pod: str) -> int:
        """The bytes of a pod as lists and watches show it."""
        shown = await self._client.list(PODS.path(NAMESPACE), {"fieldSelector": f"metadata.name={pod}"})
        return len(orjson.dumps(shown["items"][0]))

    # -- one at a time

    async def _single(self, name: str) -> float:
        """Create a single pod; returns the seconds until it was bound."""
        [pod] = self._dressed([single_pod(name, NAMESPACE, QUEUE, dict(SHAPES[0]), FOREVER_SECONDS)])
        lone = as_gang([pod], QUEUE, 1)
        expected = self._outcomes.bound + 1
        await submit(self._sender, self._outcomes, lone, [pod])
        await self._until_bound(expected)
        return lone.bound_at - lone.began

    def _dressed(self, objects: list[Obj]) -> list[Obj]:
        """The same objects, their pods of real size and with what they claim."""
        settings = self._settings
        for each in objects:
            if each["kind"] == "Pod" and settings.claims is not None:
                with_claims(each, {settings.claims})
        return [as_real(each) if settings.real and each["kind"] == "Pod" else each for each in objects]

    def _last_bound(self) -> float:
        return max(found.bound_at for found in self._outcomes.gangs.values())

    async def _until_bound(self, count: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while self._outcomes.bound < count:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            missing = count - self._outcomes.bound
            raise Unavailable(words.not_bound(missing, PATIENCE_SECONDS)) from None

    async def _quiet(self, seconds: float = QUIET_SECONDS) -> None:
        """Wait until nothing happens to pods any more."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            events = -1
            while events != self.watch.statistics.events:
                events = self.watch.statistics.events
                await asyncio.sleep(seconds)

    async def _writes(self) -> Counter[str]:
        """The number of the daemon's writes so far, by kind."""
        async with ApiClient(self._daemon.listening) as client:
            return await counter(client, "vsched_api_writes_total", "kind")
