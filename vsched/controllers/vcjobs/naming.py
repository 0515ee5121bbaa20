"""How the objects of a vcjob are named, labelled and owned: the same as Volcano's controllers do it."""

from __future__ import annotations

import hashlib
from typing import Any

from vsched.api.resources import VCJOBS
from vsched.controllers.podgroups import PodGroupOwner
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob
from vsched.writes.bodies import ObjectReference

Body = dict[str, Any]
"""An API object as JSON data."""

TASK_INDEX = "volcano.sh/task-index"
TASK_SPEC = "volcano.sh/task-spec"
JOB_NAME = "volcano.sh/job-name"
JOB_NAMESPACE = "volcano.sh/job-namespace"
QUEUE_NAME = "volcano.sh/queue-name"
JOB_VERSION = "volcano.sh/job-version"
JOB_RETRY_COUNT = "volcano.sh/job-retry-count"
TEMPLATE_UID = "volcano.sh/template-uid"
PARTITION_ID = "volcano.sh/partition-id"

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SUFFIX = 12
_LABEL = 63
"""The most characters that the name of a volume may have."""


def owner_of(job: VcJob) -> Body:
    """The reference to a vcjob in the metadata of what it owns."""
    return PodGroupOwner(VCJOBS.api_version, "Job", job.name, job.uid).as_object()


def job_reference(job: VcJob) -> ObjectReference:
    """A vcjob in Events about it."""
    return ObjectReference(VCJOBS.api_version, "Job", job.namespace, job.name, job.uid)


def is_controlled_by(found: Body, uid: str) -> bool:
    """Whether the object of this uid controls another one."""
    owners = found["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == uid and owner.get("controller") for owner in owners)


def owned(api_version: str, kind: str, job: VcJob, name: str, **fields: Any) -> Body:
    """An object of the vcjob, in its namespace and owned by it, with further top-level fields."""
    metadata = {"name": name, "namespace": job.namespace, "ownerReferences": [owner_of(job)]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def of_pods(job: VcJob) -> dict[str, str]:
    """The labels that select all pods of a vcjob."""
    return {JOB_NAME: job.name, JOB_NAMESPACE: job.namespace}


def pod_name(job: VcJob, task: str, index: int) -> str:
    """The name of a pod of a task."""
    return f"{job.name}-{task}-{index}"


def spec_of(task: TaskSpec) -> Body:
    """The spec in the template of a task, empty where it has none."""
    return task.template.get("spec") or {}


def partition_of(task: TaskSpec, index: int) -> str:
    """The partition of a pod, empty where the task has none."""
    if task.partitions is None:
        return ""
    return str(index // task.partitions.size if task.partitions.size > 0 else 0)


def hosts_of(job: VcJob, task: TaskSpec) -> tuple[str, ...]:
    """The names in DNS of a task's pods, as ``hostname.subdomain``; one where the template fixes the host name."""
    alone = 1 if spec_of(task).get("hostname") else task.replicas
    return tuple(host_of(job, task, index) for index in range(min(alone, task.replicas)))


def host_of(job: VcJob, task: TaskSpec, index: int) -> str:
    """The name in DNS of a pod, as ``hostname.subdomain``."""
    return ".".join(host_parts(job, task, index))


def host_parts(job: VcJob, task: TaskSpec, index: int) -> tuple[str, str]:
    """The host name and the subdomain of a pod: those of the template, else the names of the pod and of the job."""
    spec = spec_of(task)
    return spec.get("hostname") or pod_name(job, task.name, index), spec.get("subdomain") or job.name


def task_named(job: VcJob, name: str) -> TaskSpec | None:
    """The task of a vcjob with this name."""
    return next((task for task in job.tasks if task.name == name), None)


def claim_name(job: VcJob, position: int) -> str:
    """The name of the claim of a volume: as written, else made from the job's uid.

    Volcano draws the last part at random. Here it follows from the uid, so that a repeat never makes a second claim.
    """
    return job.volumes[position].claim_name or f"{job.name}-pvc-{suffix(f'{job.uid}/{position}')}"


def volume_name(job: VcJob, claim: str) -> str:
    """The name of the volume for a claim in the pods of a job."""
    stem = job.name.replace(".", "-")[: _LABEL - _SUFFIX - 1].rstrip("-")
    return f"{stem}-{suffix(f'{job.uid}/{claim}')}"


def suffix(text: str) -> str:
    """Twelve digits and small letters that follow from a text."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
    digits = []
    for _ in range(_SUFFIX):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(digits)
