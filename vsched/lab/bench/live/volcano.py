"""What Volcano's scheduler writes for the pods of a gang, so that a plain loop can send the same.

From its source (github.com/volcano-sh/volcano, ``pkg/scheduler``):

- ``cache/cache.go``, ``DefaultBinder.Bind``: a POST to ``pods/binding`` for each pod, with the pod's annotations in it;
  ``SchedulerCache.Bind``: then an Event ``Scheduled`` about each pod.
- ``framework/job_updater.go``, ``updateJob``: at the end of each session that changed a job's status, the PodGroup is
  written as a whole (``defaultStatusUpdater.UpdatePodGroup``). A gang that is placed at once changes twice: it is
  scheduled, and in a later session its pods run.
- ``cache/cache.go``, ``RecordJobStatusEvent``: in each of these sessions an Event about the PodGroup (``Scheduled`` or
  ``Unschedulable``); client-go's recorder sends an equal one again as a patch of its count.
- ``cache/cache.go``, ``taskUnschedulable``: a pod that a session saw and did not place, as its gang was not complete or
  there was no room, gets an Event ``FailedScheduling``, and the whole pod is written to ``pods/status`` for the
  condition ``PodScheduled=False``. The PodGroup is told of that session as well: its status, and an Event.

Sessions after these change nothing of such a gang but the count of its Event, which is left out here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson

from vsched.api.resources import EVENTS, PODGROUPS, PODS
from vsched.lab.bench.live.posts import Job, Send
from vsched.lab.bench.words import live as words
from vsched.lab.sender import Obj

MOMENT = "2026-01-01T00:00:00Z"
SCHEDULER = "volcano"


class PlacedGang(NamedTuple):
    """A gang as the API server has it, and a node for each of its pods."""

    group: Obj
    pods: Sequence[Obj]
    nodes: Sequence[str]


def jobs(gangs: Sequence[PlacedGang], *, waited: bool) -> Iterator[Job]:
    """The writes for these gangs, as jobs whose writes follow each other; ``waited`` with those of a session before."""
    for gang in gangs:
        for pod, node in zip(gang.pods, gang.nodes, strict=True):
            yield _PodWrites(pod, node, waited)
        yield _GroupWrites(gang.group, len(gang.pods), waited)


class _PodWrites:
    """Of one pod."""

    def __init__(self, pod: Obj, node: str, waited: bool) -> None:
        self._pod, self._node, self._waited = pod, node, waited

    async def __call__(self, send: Send) -> None:
        pod, metadata = self._pod, self._pod["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        if self._waited:
            why = words.TASKS_UNSCHEDULABLE
            await send("POST", EVENTS.path(namespace), _event(pod, "Warning", "FailedScheduling", why))
            await send("PUT", PODS.path(namespace, name, "status"), orjson.dumps(_refused(pod, why)))
        await send("POST", PODS.path(namespace, name, "binding"), binding(pod, self._node))
        assigned = words.assigned(namespace, name, self._node)
        await send("POST", EVENTS.path(namespace), _event(pod, "Normal", "Scheduled", assigned))


class _GroupWrites:
    """Of one PodGroup."""

    def __init__(self, group: Obj, pods: int, waited: bool) -> None:
        self._group, self._pods, self._waited = group, pods, waited

    async def __call__(self, send: Send) -> None:
        if self._waited:
            await self._status(
                send, {"phase": "Inqueue", "conditions": [_condition("Unschedulable", "NotEnoughTasks")]}
            )
            await self._event(send, "Warning", "Unschedulable")
        scheduled = {"phase": "Running", "conditions": [_condition("Scheduled", words.TASKS_READY)]}
        await self._status(send, scheduled)
        told = await self._event(send, "Normal", "Scheduled")
        await self._status(send, {**scheduled, "running": self._pods})
        again = EVENTS.path(told["metadata"]["namespace"], told["metadata"]["name"])
        await send("PATCH", again, orjson.dumps({"count": 2, "lastTimestamp": MOMENT}))

    async def _status(self, send: Send, status: Obj) -> None:
        metadata = self._group["metadata"]
        path = PODGROUPS.path(metadata["namespace"], metadata["name"])
        self._group = orjson.loads(await send("PUT", path, orjson.dumps({**self._group, "status": status})))

    async def _event(self, send: Send, kind: str, reason: str) -> Obj:
        path = EVENTS.path(self._group["metadata"]["namespace"])
        told: Obj = orjson.loads(await send("POST", path, _event(self._group, kind, reason, words.GROUP_READY)))
        return told


def binding(pod: Obj, node: str) -> bytes:
    """The body that binds a pod."""
    metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "uid")}
    target = {"kind": "Node", "name": node}
    found = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    found["metadata"] = {**metadata, "annotations": pod["metadata"].get("annotations") or {}}
    return orjson.dumps(found)


def _refused(pod: Obj, why: str) -> Obj:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
    status = pod.get("status") or {}
    return {**pod, "status": {**status, "conditions": [{**condition, "lastTransitionTime": MOMENT}]}}


def _condition(kind: str, reason: str) -> Obj:
    transition = "8b5a7b0e-2f1c-4e0a-9d57-0c6b6f0a4a11"
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "transitionID": transition,
        "lastTransitionTime": MOMENT,
    }


def _event(about: Obj, kind: str, reason: str, message: str) -> bytes:
    metadata = about["metadata"]
    involved = {
        "kind": about["kind"],
        "apiVersion": about["apiVersion"],
        **{key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion")},
    }
    return orjson.dumps(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata['name']}.", "namespace": metadata["namespace"]},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": SCHEDULER},
            "firstTimestamp": MOMENT,
            "lastTimestamp": MOMENT,
            "count": 1,
            "type": kind,
            "reportingComponent": SCHEDULER,
        }
    )
