"""Edits of the pods of a job: what they ask for, whether they may start, and how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from vsched.errors import BadInput
from vsched.explain.edits.base import Before, JobEdit
from vsched.explain.edits.jobs import known_job, restate
from vsched.explain.words import edits as words
from vsched.explain.words.lines import PODS_MAX, as_json, from_manifest, is_plain, patch
from vsched.explain.words.phrases import with_less
from vsched.mirror.whatif import words as refusals
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.amounts.resources import ResourceAxis, format_amount, scale_of, without_zeros
from vsched.model.deviceshare.asking import DeviceAmount, capped, most_asked, resources_of, sums_of
from vsched.model.jobs.job import Job
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.quota import asked_by, exceeded
from vsched.model.snapshot import Snapshot

GATED_MAX = 16
"""The most gated pods for which commands are made, one command for each pod."""
ROLE = "volcano.sh/task-spec"


def reshape(cluster: EditableMirror, job: Job, edit: Callable[[Shape], Shape]) -> None:
    """Edit the shapes of pending pods; pods that share a shape share the edited one."""
    shapes: dict[Shape, Shape] = {}
    for task in job.pending.values():
        if task.shape not in shapes:
            shapes[task.shape] = edit(task.shape)
    cluster.put_tasks([replace(task, shape=shapes[task.shape]) for task in job.pending.values()])


# -- what they ask for -------------------------------------------------------------------------------------------------


class SetRequest(JobEdit, frozen=True, tag="request"):
    """Cap the request of each pending pod of a job for a resource; ``minResources`` goes down accordingly."""

    resource: str
    amount: int

    def apply(self, cluster: EditableMirror) -> None:
        job, column, most = known_job(cluster, self.job), cluster.axis.find(self.resource), self.amount
        if column is None:
            return
        stated = self._lowered(job, column)
        reshape(cluster, job, lambda shape: with_request(shape, column, min(most, dict(shape.request).get(column, 0))))
        if dict(job.spec.min_resources or ()).get(column):
            restate(cluster, job, min_resources=tuple(stated.items()))

    def _lowered(self, job: Job, column: int) -> dict[int, int]:
        """The ``minResources`` of the job, lowered by what the pods of the minimum ask less."""
        stated = dict(job.spec.min_resources or ())
        if stated.get(column):
            asked = sorted((dict(task.shape.request).get(column, 0) for task in job.pending.values()), reverse=True)
            less = sum(max(0, one - self.amount) for one in asked[: max(1, job.spec.min_member)])
            stated[column] = max(0, stated[column] - less)
        return stated

    def sentence(self, before: Before) -> str:
        job, column = before.snapshot.jobs[self.job], before.snapshot.axis.find(self.resource)
        asked, overhead = max(
            (dict(shape.request).get(column or 0, 0), dict(shape.overhead).get(column or 0, 0))
            for shape in {task.shape for task in job.pending.values()}
        )
        now, then = (format_amount(self.resource, amount - overhead) for amount in (asked, self.amount))
        less = (dict(job.spec.min_resources or ()) if column is None else self._lowered(job, column)).get(column or 0)
        with_it = {} if less is None else {self.resource: less}
        return words.request_of_pods(then, self.resource, now) + with_less(job.spec, with_it)


def with_request(shape: Shape, column: int, amount: int) -> Shape:
    """The shape with one amount of its request replaced."""
    asked = {**dict(shape.request), column: amount}
    cpu, memory = shape.scoring_cpu, shape.scoring_memory
    return replace(
        shape,
        request=without_zeros(asked),
        scoring_cpu=min(cpu, amount) if column == 0 else cpu,
        scoring_memory=min(memory, amount) if column == 1 else memory,
    )


class SetDeviceAmount(JobEdit, frozen=True, tag="deviceAmount"):
    """Cap what each container of the pending pods of a job asks of shared devices; ``minResources`` goes down, too."""

    what: DeviceAmount
    amount: int
    """Devices; MiB or per cent of each device."""

    def apply(self, cluster: EditableMirror) -> None:
        job, axis = known_job(cluster, self.job), cluster.axis
        before = [task.shape for task in job.pending.values()]
        reshape(cluster, job, lambda shape: self.capped(shape, axis))
        after = [task.shape for uid in job.pending if (task := cluster.task(uid)) is not None]
        spec, stated = job.spec, dict(job.spec.min_resources or ())
        for column in [column for column in stated if stated[column]]:
            less = sorted(
                (
                    dict(old.request).get(column, 0) - dict(new.request).get(column, 0)
                    for old, new in zip(before, after, strict=True)
                ),
                reverse=True,
            )
            stated[column] = max(0, stated[column] - sum(less[: max(1, spec.min_member)]))
        if tuple(stated.items()) != (spec.min_resources or ()):
            restate(cluster, job, min_resources=tuple(stated.items()))

    def capped(self, shape: Shape, axis: ResourceAxis) -> Shape:
        """The shape where no container asks for more of shared devices."""
        request = shape.devices
        if request is None:
            return shape
        less = capped(request, self.what, self.amount)
        sums, asked = dict(sums_of(request)), dict(shape.request)
        for resource, amount in sums_of(less):
            column = axis.find(resource)
            if column in asked:
                asked[column] = max(0, asked[column] - (sums[resource] - amount) * scale_of(resource))
        return replace(shape, devices=less, request=without_zeros(asked))

    def sentence(self, before: Before) -> str:
        shapes = (task.shape for task in before.snapshot.jobs[self.job].pending.values())
        requests = [shape.devices for shape in shapes if shape.devices is not None]
        able = [one for one in requests if self.what in resources_of(one)]
        asked = max((most_asked(one, self.what) for one in able), default=0)
        resource = next((resources_of(one)[self.what] for one in able), self.what)
        return words.request_of_containers(self.amount, resource, asked)


# -- whether they may start, and how many there are --------------------------------------------------------------------


class RemoveGates(JobEdit, frozen=True, tag="removeGates"):
    """Remove the scheduling gates from the pods of a job; a pod that waits at the gate of its queue keeps them."""

    def apply(self, cluster: EditableMirror) -> None:
        pending = known_job(cluster, self.job).pending.values()
        cluster.put_tasks([replace(task, gated=False) if _is_shut(task) else task for task in pending])

    def sentence(self, before: Before) -> str:
        return words.GATES_REMOVED

    def lines(self, snapshot: Snapshot) -> list[str]:
        job = snapshot.jobs[self.job]
        gated = sorted(task.name for task in job.pending.values() if _is_shut(task))
        if len(gated) > GATED_MAX or not is_plain(tuple(gated)):
            return []
        return [patch("pod", f"{job.spec.namespace}/{name}", {"spec": {"schedulingGates": None}}) for name in gated]


def _is_shut(task: Task) -> bool:
    return task.at_gate and not task.awaits_queue


class LetIn(msgspec.Struct, frozen=True):
    """Open the queue's gate for all pending pods of a job.

    A cycle decides this once there is room; it is never proposed as a change.
    """

    job: str

    def apply(self, cluster: EditableMirror) -> None:
        """Make the change; raises BadInput if the job does not exist."""
        pending = known_job(cluster, self.job).pending.values()
        opened = {"gated": False, "awaits_queue": False, "reserves": True}
        cluster.put_tasks([replace(task, **opened) if task.awaits_queue else task for task in pending])


class AddPods(JobEdit, frozen=True, tag="addPods"):
    """Create more pods of a job, copied from one of its pods, as many as quotas allow."""

    like: str
    """Name of the pod to copy."""
    count: int
    role: str = ""
    """The role of the new pods."""

    def apply(self, cluster: EditableMirror) -> None:
        job = known_job(cluster, self.job)
        like = self._like(job)
        if like is None:
            raise BadInput(refusals.no_pod_in_job(job.spec.namespace, self.like, job.key))
        fresh = []
        for number in range(_allowed(cluster, like, self.count)):
            uid, name = (f"{whose}-more{self.role and '-'}{self.role}-{number}" for whose in (like.uid, like.name))
            one = like.moved(Status.PENDING, "")
            new = replace(one, uid=uid, name=name, role=self.role, nominated="", condition="")
            fresh.append(new if like.claims is None else cluster.with_own_claims(new, like))
        cluster.put_tasks(fresh)

    def _like(self, job: Job) -> Task | None:
        return next((task for task in job.tasks.values() if task.name == self.like), None)

    def sentence(self, before: Before) -> str:
        parts = before.snapshot.jobs[self.job].spec.sub_groups
        return words.more_pods(self.count, role=self.role, like=self.like if parts else "")

    def lines(self, snapshot: Snapshot) -> list[str]:
        """Create copies of the pod under new names."""
        job = snapshot.jobs[self.job]
        like = self._like(job)
        if like is None or like.owned or self.count > PODS_MAX:
            return []
        names = {task.name for task in job.tasks.values()}
        numbers = range(self.count + len(names))
        fresh = (f"{like.name}-more{self.role and '-'}{self.role}-{number}" for number in numbers)
        lines = []
        for name in [name for name in fresh if name not in names][: self.count]:
            metadata: dict[str, Any] = {"name": name, "uid": None, "resourceVersion": None}
            if self.role and self.role != like.role:
                metadata["annotations"] = {ROLE: self.role}
            body = as_json({"metadata": metadata, "spec": {"nodeName": None}})
            lines.append(from_manifest(like.name, like.namespace, ("--type=merge", "-p", body), "create"))
        return lines


def _allowed(cluster: EditableMirror, like: Task, count: int) -> int:
    """How many more pods like one the API server lets anybody make, ``count`` at most."""
    quotas, names = cluster.quotas(like.namespace), cluster.axis.names
    while count and any(exceeded(quotas, asked_by(like.shape, names, count))):
        count -= 1
    return count
