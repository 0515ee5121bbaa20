"""People who run vcjobs in a bottle, and what has to hold of vcjobs once nothing goes wrong any more."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from random import Random

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.objects import is_deleting, is_finished
from vsched.controllers.vcjobs.spec import JobAction, JobEvent, JobPhase
from vsched.controllers.vcjobs.states import FINISHED
from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.misfortunes.tenants import PODGROUPS
from vsched.lab.soak.churn import LASTS_SECONDS, QUEUES
from vsched.lab.soak.claims import key_of
from vsched.sim.client import LocalClient
from vsched.sim.controllers.pod_lifecycle import DURATION

NAMESPACE = "vcjobs"
RESOURCE = "batch.volcano.sh/jobs"
LOOK_SECONDS = 1.0
MOST_PODS = 3
"""Of a task."""
MAX_RETRY = 3
DONE = FINISHED | {JobPhase.ABORTED}  # nobody resumes them
POLICIES: Sequence[Sequence[Obj]] = (
    (),
    ({"event": JobEvent.POD_EVICTED, "action": JobAction.RESTART_JOB},),
    ({"event": JobEvent.POD_EVICTED, "action": JobAction.RESTART_TASK},),
    ({"events": [JobEvent.POD_EVICTED, JobEvent.POD_FAILED], "action": JobAction.RESTART_JOB},),
    ({"event": JobEvent.POD_FAILED, "action": JobAction.RESTART_POD},),
    ({"event": JobEvent.TASK_COMPLETED, "action": JobAction.COMPLETE_JOB},),
    ({"event": JobEvent.POD_FAILED, "action": JobAction.ABORT_JOB},),
    ({"event": JobEvent.ANY, "action": JobAction.RESTART_JOB},),
)
"""What people ask for when something happens to their pods."""


class VcjobUsers:
    """Creates vcjobs at times that are drawn, and deletes those that are done."""

    def __init__(self, client: LocalClient, random: Random, every_seconds: float) -> None:
        self._client, self._random = client, random
        self._every_seconds = every_seconds
        self._number = 0

    def settle_in(self) -> None:
        """Create the namespace."""
        self._client.create("namespaces", {"metadata": {"name": NAMESPACE}})

    async def run(self, stop: asyncio.Event) -> None:
        """Create vcjobs until told to stop, one every so many seconds on average."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._random.expovariate(1.0 / self._every_seconds)):
                    await stop.wait()
                return
            self._number += 1
            self._client.create(RESOURCE, _vcjob(f"vcjob-{self._number}", self._random))

    async def delete_done(self) -> None:
        """Delete what gets done, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for found in self._client.list(RESOURCE, NAMESPACE):
                if _phase(found) in DONE and not is_deleting(found):
                    self._delete(found["metadata"]["name"])

    def _delete(self, name: str) -> None:
        try:
            self._client.delete(RESOURCE, NAMESPACE, name)
        except Failure:
            return  # somebody else writes it at this moment

    def unsettled(self) -> Iterator[tuple[str, str]]:
        """What is not yet as it has to be in the end: the promise, and what breaks it."""
        yield from unsettled(*(self._client.list(each, NAMESPACE) for each in (RESOURCE, PODGROUPS, "pods")))


def unsettled(jobs: Collection[Obj], groups: Iterable[Obj], pods: Iterable[Obj]) -> Iterator[tuple[str, str]]:
    """Vcjobs that are not done, restarted too often, or have pods though they are done; what is left of others."""
    uids = {each["metadata"]["uid"]: each for each in jobs}
    for job in jobs:
        status = job.get("status") or {}
        if _phase(job) not in DONE:
            yield words.VCJOB_NOT_DONE, words.vcjob_is(key_of(job), _phase(job))
        if status.get("retryCount", 0) > job["spec"].get("maxRetry", MAX_RETRY):
            yield words.RETRIED_TOO_OFTEN, words.retried(key_of(job), status["retryCount"])
    for kind, found in (("PodGroup", groups), ("pod", pods)):
        for each in found:
            owners = [owner["uid"] for owner in each["metadata"].get("ownerReferences") or ()]
            owner = next((uids[uid] for uid in owners if uid in uids), None)
            if owner is None or (kind == "pod" and _phase(owner) in DONE and not is_finished(each)):
                yield words.LEFT_OF_A_VCJOB, words.is_left(kind, key_of(each))


def _phase(job: Obj) -> str:
    phase: str = ((job.get("status") or {}).get("state") or {}).get("phase", "")
    return phase


def _vcjob(name: str, random: Random) -> Obj:
    seconds, cpus = round(random.uniform(*LASTS_SECONDS), 1), random.randint(1, 2)
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": f"{cpus}", "memory": "1Gi"}}}
    template = {
        "metadata": {"annotations": {DURATION: f"{seconds}s"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    replicas = {task: random.randint(1, MOST_PODS) for task in ("master", "worker")[: random.randint(1, 2)]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "vsched",
            "queue": random.choice(QUEUES),
            "minAvailable": random.randint(1, sum(replicas.values())),
            "maxRetry": MAX_RETRY,
            "policies": list(random.choice(POLICIES)),
            "tasks": [{"name": task, "replicas": pods, "template": template} for task, pods in replicas.items()],
        },
    }
