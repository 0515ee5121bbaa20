"""The users of a soak: gangs of several sizes and single pods, at a steady rate, some of them taken back again."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from vsched.errors import VschedError
from vsched.kube.errors import NotFound
from vsched.lab.gangs import create, key_of, owned_by
from vsched.lab.sender import Obj, Sender
from vsched.lab.soak.ledger import Ledger, Work
from vsched.mirror.ingest.metadata import QUEUE_NAME
from vsched.mirror.resources import PODGROUPS, PODS
from vsched.sim.controllers.pods import DURATION
from vsched.sim.fleet.workload import DEFAULT_GANG_SIZES, SHAPES, gang
from vsched.together import first_error

TURN_SECONDS = 0.05
SIZES = dict(zip(DEFAULT_GANG_SIZES, (30, 25, 20, 15, 10), strict=True))
"""Gangs by their size: how many of a hundred."""
REQUESTS = ((1, 50), (2, 30), (4, 20))
"""The cpus of a pod, each with how many of a hundred works ask for them."""
ALONE = 0.2
"""Works that are single pods without a PodGroup."""
CANCELLED, CANCELLED_SECONDS = 0.04, 8.0
"""Works that are taken back, within this time of their creation."""
LASTS_SECONDS = (4.0, 40.0)
QUEUES, NAMESPACES = ("soak-a", "soak-b"), ("soak-1", "soak-2", "soak-3")
MEAN_CPUS = sum(cpus * share for cpus, share in REQUESTS) / 100
MEAN_SECONDS = sum(LASTS_SECONDS) / 2


def cpus_held(pods_per_minute: float) -> float:
    """What such a stream of pods holds at a time, on average."""
    return pods_per_minute / 60 * MEAN_SECONDS * MEAN_CPUS


@dataclass(slots=True)
class Rate:
    """How much to create, and drawn how."""

    pods_per_minute: float
    seed: int


class Churn:
    """Creates work, takes some of it back, and clears away what is done."""

    def __init__(self, sender: Sender, ledger: Ledger, rate: Rate) -> None:
        self._sender = sender
        self._ledger = ledger
        self._rate = rate
        self._draw = random.Random(rate.seed)
        self._number = 0
        self.cancelled = 0
        self.problems = 0
        self.last_problem = ""

    async def settle_in(self) -> None:
        """Create the queues and namespaces."""
        for weight, name in enumerate(QUEUES, 1):
            queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
            await create(self._sender, {**queue, "spec": {"weight": weight}})
        for name in NAMESPACES:
            await create(self._sender, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    async def run(self, stop: asyncio.Event) -> None:
        """Create at the rate until told to stop; ends when all that was begun is done."""
        loop = asyncio.get_running_loop()
        began, drawn = loop.time(), 0
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                due = (loop.time() - began) * self._rate.pods_per_minute / 60
                while drawn < due:
                    work, objects = self._next()
                    drawn += len(work.pods)
                    group.create_task(self._live(work, objects, stop))
                await self._clear_done()
                await asyncio.sleep(TURN_SECONDS)

    async def clear(self) -> None:
        """Clear away what gets done, until cancelled."""
        while True:
            await self._clear_done()
            await asyncio.sleep(TURN_SECONDS)

    async def _clear_done(self) -> None:
        while self._ledger.done:
            await self._delete(self._ledger.done.popleft())

    def _next(self) -> tuple[Work, list[Obj]]:
        self._number += 1
        draw = self._draw
        cpus = draw.choices([cpus for cpus, _ in REQUESTS], [share for _, share in REQUESTS])[0]
        request = {"cpu": str(cpus), "memory": SHAPES[0]["memory"]}
        namespace, queue, seconds = draw.choice(NAMESPACES), draw.choice(QUEUES), round(draw.uniform(*LASTS_SECONDS), 1)
        alone = draw.random() < ALONE
        size = 1 if alone else draw.choices(list(SIZES), list(SIZES.values()))[0]
        objects = gang(f"work-{self._number}", namespace, queue, size, request, seconds)
        if alone:
            objects = objects[1:]
            objects[0]["metadata"]["annotations"] = {QUEUE_NAME: queue, DURATION: f"{seconds}s"}
        pods = tuple(key_of(found) for found in objects if found["kind"] == "Pod")
        return Work(key_of(objects[0]), pods, cpus), objects

    async def _live(self, work: Work, objects: list[Obj], stop: asyncio.Event) -> None:
        """Create a piece of work; now and then take it back."""
        cancelled, seconds = self._draw.random() < CANCELLED, self._draw.uniform(0, CANCELLED_SECONDS)
        self._ledger.expect(work)
        try:
            await self._create(objects)
        except* VschedError as errors:
            self._ledger.refused(work)
            self._note(first_error(errors))
        if cancelled and not work.cancelled and not stop.is_set():
            await asyncio.sleep(seconds)
            self.cancelled += 1
            work.cancelled = True
            await self._delete(work)

    async def _create(self, objects: list[Obj]) -> None:
        pods = [found for found in objects if found["kind"] == "Pod"]
        for group in objects:
            if group["kind"] == "PodGroup":
                owned_by(await create(self._sender, group), pods)
        async with asyncio.TaskGroup() as tasks:
            for pod in pods:
                tasks.create_task(create(self._sender, pod))

    async def _delete(self, work: Work) -> None:
        """The pods of a PodGroup go with it."""
        namespace, _, name = work.key.partition("/")
        resource = PODS if work.alone else PODGROUPS
        try:
            await self._sender.send("DELETE", resource.path(namespace, name))
        except NotFound:
            return
        except VschedError as error:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        self.problems += 1
        self.last_problem = str(error)
