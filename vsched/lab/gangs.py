"""Gangs and single pods at an embedded cluster, over HTTP: created, and deleted once they are done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import orjson

from vsched.api.resources import PODGROUPS, PODS, RESOURCES
from vsched.errors import VschedError
from vsched.kube.errors import NotFound
from vsched.lab.outcomes import PodOutcomes, SubmittedGang
from vsched.lab.sender import Obj, Sender
from vsched.mirror.ingest.metadata import QUEUE_NAME
from vsched.sim.controllers.pod_lifecycle import DURATION
from vsched.sim.fleet.sample_gangs import gang
from vsched.together import first_error


async def create(sender: Sender, obj: Obj) -> Obj:
    """POST an object; returns it as the server made it."""
    path = RESOURCES[obj["kind"]].path(obj["metadata"].get("namespace", ""))
    made: Obj = orjson.loads(await sender.send("POST", path, orjson.dumps(obj)))
    return made


async def submit(sender: Sender, outcomes: PodOutcomes, gang: SubmittedGang, objects: Sequence[Obj]) -> None:
    """Create a gang's PodGroup, where it has one, then all its pods at once; raises ExceptionGroup of refusals."""
    outcomes.expect(gang)
    pods = [found for found in objects if found["kind"] == "Pod"]
    async with asyncio.TaskGroup() as tasks:
        for group in objects:
            if group["kind"] == "PodGroup":
                _set_owner(pods, await create(sender, group))
        for pod in pods:
            tasks.create_task(_create_pod(sender, outcomes, pod))


async def _create_pod(sender: Sender, outcomes: PodOutcomes, pod: Obj) -> None:
    path, body = PODS.path(pod["metadata"]["namespace"]), orjson.dumps(pod)
    await sender.send("POST", path, body, lambda: outcomes.sending(key_of(pod)))


def _set_owner(pods: Iterable[Obj], group: Obj) -> None:
    """Make the PodGroup the owner of the pods, so that they are deleted with it."""
    metadata = group["metadata"]
    reference = {key: group[key] for key in ("apiVersion", "kind")} | {key: metadata[key] for key in ("name", "uid")}
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [reference]


def key_of(obj: Obj) -> str:
    """``namespace/name``."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def as_gang(objects: Sequence[Obj], queue: str, cpus: int) -> SubmittedGang:
    """The gang that these objects are: a PodGroup and its pods, or a pod alone."""
    pods = tuple(key_of(found) for found in objects if found["kind"] == "Pod")
    minimum = next((found["spec"]["minMember"] for found in objects if found["kind"] == "PodGroup"), 1)
    return SubmittedGang(key_of(objects[0]), queue, pods, minimum, cpus)


def single_pod(name: str, namespace: str, queue: str, request: dict[str, str], seconds: float) -> Obj:
    """A pod without a PodGroup, in a queue, that runs for so many seconds."""
    pod = gang(name, namespace, queue, 1, request, seconds)[1]
    pod["metadata"]["annotations"] = {QUEUE_NAME: queue, DURATION: f"{seconds}s"}
    return pod


class Submitter:
    """Creates and deletes gangs for simulated users; notes requests that fail instead of raising."""

    def __init__(self, sender: Sender, outcomes: PodOutcomes) -> None:
        self._sender = sender
        self._outcomes = outcomes
        self.problems = 0
        self.last_problem = ""

    async def submit(self, gang: SubmittedGang, objects: Sequence[Obj]) -> bool:
        """Create a gang; False where the server refused a part of it."""
        try:
            await submit(self._sender, self._outcomes, gang, objects)
        except* VschedError as errors:
            self._note(first_error(errors))
            gang.cancelled = True
        return not gang.cancelled

    async def delete(self, gang: SubmittedGang) -> None:
        """Delete a gang's PodGroup, and with it its pods, or its only pod; one that is gone already is no problem."""
        namespace, _, name = gang.key.partition("/")
        resource = PODS if gang.alone else PODGROUPS
        try:
            await self._sender.send("DELETE", resource.path(namespace, name))
        except NotFound:
            return
        except VschedError as error:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        self.problems += 1
        self.last_problem = str(error)
