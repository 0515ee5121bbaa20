"""Gangs whose names are used again at once, by other gangs: what was meant for one must not reach another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from random import Random

from vsched.apimachinery.meta.api_errors import Failure
from vsched.lab.sender import Obj
from vsched.lab.soak import words as soak_words
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.misfortunes.tenants import PODGROUPS
from vsched.lab.soak.churn import PRIORITY_CLASS, QUEUES
from vsched.lab.soak.claims import key_of
from vsched.sim.client import LocalClient
from vsched.sim.controllers.pod_lifecycle import DURATION
from vsched.sim.fleet.sample_gangs import GROUP_NAME

NAMESPACE = "namesakes"
NAMES = ("one", "two", "three")
ALREADY_THERE = 409
EVERY_SECONDS = 0.5
MOST_PODS, CPUS = 4, (1, 4, 8)
LASTS_SECONDS = (2.0, 20.0)
LOWEST = "soak-lowest"
RESIDENTS, FOR_EVER = "residents", 1e6
"""A gang that has most of a small cluster, runs for ever, needs only one of its pods, and gives way to all others."""
MANY, LARGE = 18, 4
"""So many pods of so many cpus."""


class Namesakes:
    """Whoever creates gangs, deletes them at any moment, and creates others with the same names."""

    def __init__(self, client: LocalClient, random: Random) -> None:
        self._client, self._random = client, random

    def settle_in(self) -> None:
        """Create the namespace, and a priority that gives way to all others."""
        self._client.create("namespaces", {"metadata": {"name": NAMESPACE}})
        lowest = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": LOWEST}}
        self._client.create("scheduling.k8s.io/priorityclasses", {**lowest, "value": -10})

    async def run(self, stop: asyncio.Event) -> None:
        """Fill the cluster with what others have to take back, and replace gangs until told to stop."""
        spec = {"minMember": 1, "queue": QUEUES[0], "priorityClassName": LOWEST}
        self._create(PODGROUPS, _group(RESIDENTS, spec))
        for index in range(MANY):
            self._create("pods", _pod(RESIDENTS, index, LARGE, FOR_EVER, priorityClassName=LOWEST))
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._random.expovariate(1.0 / EVERY_SECONDS)):
                    await stop.wait()
                return
            self._replace(self._random.choice(NAMES))

    def _replace(self, name: str) -> None:
        random, size = self._random, self._random.randint(1, MOST_PODS)
        if random.random() < 0.5:  # else the new pods join the group that is there
            self._delete(PODGROUPS, name)
        for index in range(MOST_PODS):
            self._delete("pods", f"{name}-{index}")
        cpus, seconds = random.choice(CPUS), round(random.uniform(*LASTS_SECONDS), 1)
        spec = {"minMember": random.randint(1, size), "queue": random.choice(QUEUES)}
        spec |= {"priorityClassName": PRIORITY_CLASS} if random.random() < 0.5 else {}
        self._create(PODGROUPS, _group(name, spec))
        for index in range(size):
            self._create("pods", _pod(name, index, cpus, seconds))

    def _create(self, resource: str, obj: Obj) -> None:
        try:
            self._client.create(resource, obj)
        except Failure as failure:
            if failure.code != ALREADY_THERE:
                raise

    def _delete(self, resource: str, name: str) -> None:
        if self._client.get(resource, NAMESPACE, name) is not None:
            self._client.delete(resource, NAMESPACE, name, grace_seconds=0)

    def unsettled(self) -> Iterator[tuple[str, str]]:
        """What is not yet as it has to be in the end: gangs that wait, or have a part of their minimum."""
        pods = self._client.list("pods", NAMESPACE)
        for group in self._client.list(PODGROUPS, NAMESPACE):
            mine = [pod for pod in pods if pod["metadata"]["annotations"][GROUP_NAME] == group["metadata"]["name"]]
            placed = sum(bool(pod["spec"].get("nodeName")) for pod in mine)
            if placed < len(mine) and len(mine) >= group["spec"]["minMember"]:
                yield soak_words.UNBOUND, words.waits(key_of(group))


def _named(name: str) -> Obj:
    return {"name": name, "namespace": NAMESPACE}


def _group(name: str, spec: Obj) -> Obj:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": _named(name), "spec": spec}


def _pod(group: str, index: int, cpus: int, seconds: float, **spec: str) -> Obj:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": f"{cpus}", "memory": "1Gi"}}}
    annotations = {GROUP_NAME: group, DURATION: f"{seconds}s"}
    return {
        "metadata": {**_named(f"{group}-{index}"), "annotations": annotations},
        "spec": {"schedulerName": "vsched", "restartPolicy": "Never", "containers": [container], **spec},
    }
