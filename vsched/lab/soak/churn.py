"""The users of a soak: they create gangs and single pods at a steady rate, and delete some of them early."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from vsched.lab.claiming import with_claims
from vsched.lab.gangs import Submitter, as_gang, create, single_pod
from vsched.lab.outcomes import PodOutcomes, SubmittedGang
from vsched.lab.sender import Obj, Sender
from vsched.lab.soak import words
from vsched.lab.soak.outcomes import Violations
from vsched.mirror.ingest.metadata import SHARD
from vsched.sim.fleet.sample_gangs import DEFAULT_GANG_SIZES, SHAPES, gang

TURN_SECONDS = 0.05
SIZES = dict(zip(DEFAULT_GANG_SIZES, (30, 25, 20, 15, 10), strict=True))
"""Sizes of gangs, with how many of a hundred have them."""
REQUESTS = ((1, 50), (2, 30), (4, 20))
"""Cpus of a pod, with how many works of a hundred request them."""
ALONE = 0.2
"""The part of the works that are single pods without a PodGroup."""
ELASTIC = 0.3
"""The part of the gangs that need only half of their pods to start."""
URGENT = 0.1
"""The part of the works that have the higher priority."""
CANCELLED, CANCELLED_SECONDS = 0.04, 8.0
"""The part of the works that is deleted early, and within which time."""
LASTS_SECONDS = (4.0, 40.0)
QUEUES, NAMESPACES = ("soak-a", "soak-b"), ("soak-1", "soak-2", "soak-3")
PRIORITY_CLASS = "soak-urgent"
MEAN_CPUS = sum(cpus * share for cpus, share in REQUESTS) / 100
MEAN_SECONDS = sum(LASTS_SECONDS) / 2


def cpus_used(pods_per_minute: float) -> float:
    """Cpus that such a stream of pods uses on average at a time."""
    return pods_per_minute / 60 * MEAN_SECONDS * MEAN_CPUS


@dataclass(slots=True)
class Rate:
    """How many pods to create, and the seed of the draw."""

    pods_per_minute: float
    seed: int


class SoakUsers(Submitter):
    """Users who create work at a steady rate, delete some of it early, and delete what is done."""

    def __init__(
        self, sender: Sender, outcomes: PodOutcomes, rate: Rate, *, claims: bool = False, shards: int = 1
    ) -> None:
        """With ``claims``, every pod has a volume and a device; the queues are dealt out to the shards."""
        super().__init__(sender, outcomes)
        self._shards = shards
        self._claims = claims
        self._rate = rate
        self._draw = random.Random(rate.seed)
        self._number = 0
        self.cancelled = 0

    async def settle_in(self) -> None:
        """Create the queues and namespaces."""
        for weight, name in enumerate(QUEUES, 1):
            metadata: Obj = {"name": name}
            if self._shards > 1:
                metadata["annotations"] = {SHARD: str((weight - 1) % self._shards)}
            queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata}
            await create(self._sender, {**queue, "spec": {"weight": weight}})
        for name in NAMESPACES:
            await create(self._sender, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        found: Obj = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1_000}
        await create(self._sender, {**found, "metadata": {"name": PRIORITY_CLASS}})

    async def run(self, stop: asyncio.Event) -> None:
        """Create work until told to stop; returns once all that was begun is done."""
        loop = asyncio.get_running_loop()
        began, drawn = loop.time(), 0
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                due = (loop.time() - began) * self._rate.pods_per_minute / 60
                while drawn < due:
                    work, objects = self._next()
                    drawn += len(work.pods)
                    group.create_task(self._live(work, objects, stop))
                await self._delete_done()
                await asyncio.sleep(TURN_SECONDS)

    def judge(self, violations: Violations) -> None:
        """Note requests that failed."""
        if self.problems:
            violations.add(words.REQUEST_FAILED, words.requests_failed(self.problems, self.last_problem))

    async def delete_done(self) -> None:
        """Delete what gets done, until cancelled."""
        while True:
            await self._delete_done()
            await asyncio.sleep(TURN_SECONDS)

    async def _delete_done(self) -> None:
        while self._outcomes.done:
            await self.delete(self._outcomes.done.popleft())

    def _next(self) -> tuple[SubmittedGang, list[Obj]]:
        self._number += 1
        name, draw = f"work-{self._number}", self._draw
        cpus = draw.choices([cpus for cpus, _ in REQUESTS], [share for _, share in REQUESTS])[0]
        request = {"cpu": str(cpus), "memory": SHAPES[0]["memory"]}
        namespace, queue, seconds = draw.choice(NAMESPACES), draw.choice(QUEUES), round(draw.uniform(*LASTS_SECONDS), 1)
        if draw.random() < ALONE:
            objects = [single_pod(name, namespace, queue, request, seconds)]
        else:
            size = draw.choices(list(SIZES), list(SIZES.values()))[0]
            minimum = (size + 1) // 2 if draw.random() < ELASTIC else size
            objects = gang(name, namespace, queue, size, request, seconds, minimum=minimum)
        for found in objects if draw.random() < URGENT else ():
            found["spec"]["priorityClassName"] = PRIORITY_CLASS
        for found in objects if self._claims else ():
            if found["kind"] == "Pod":
                with_claims(found)
        return as_gang(objects, queue, cpus), objects

    async def _live(self, work: SubmittedGang, objects: list[Obj], stop: asyncio.Event) -> None:
        """Create a piece of work; now and then delete it soon."""
        cancelled, seconds = self._draw.random() < CANCELLED, self._draw.uniform(0, CANCELLED_SECONDS)
        if await self.submit(work, objects) and cancelled and not stop.is_set():
            await asyncio.sleep(seconds)
            self.cancelled += 1
            work.cancelled = True
            await self.delete(work)
