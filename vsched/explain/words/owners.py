"""What is said of jobs whose pods are those of an owner, and which of its annotations changes them."""

from __future__ import annotations

from typing import NamedTuple

from vsched.explain.words import reasons
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Phase


def found_by(spec: JobSpec) -> str:
    """By which owner a gang was found, and how many of its pods start together; empty for other jobs."""
    if not spec.gang:
        return ""
    roles = ", ".join(f"{minimum} {role}" for role, minimum in spec.min_task_member)
    return reasons.grouped_by_owner(spec.gang, spec.min_member, roles)


def pods_to_come(job: Job) -> str:
    """When a vcjob gets its pods, where it has none yet because it is not admitted; empty for other jobs."""
    if not job.spec.written_for or job.tasks or job.spec.phase != Phase.PENDING:
        return ""
    return reasons.pods_follow_admission(f"{job.spec.namespace}/{job.spec.written_for}")


# -- what a job takes from its owner -----------------------------------------------------------------------------------


WORKLOADS = ("Job", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")
"""Controllers of plain pods whose annotations count."""


class JobAnnotation(NamedTuple):
    """An annotation that changes a job whose PodGroup follows from pods and their owner."""

    annotation: str
    value: str
    owner: str
    """The object that is to have it, as ``ReplicaSet web-5d9``; empty for the pods, which have it already."""


def annotation_of(spec: JobSpec, annotation: str, value: str) -> JobAnnotation | None:
    """Where an annotation belongs that makes an edit; None where the PodGroup is to be changed, or none does."""
    if not spec.follows or not annotation:
        return None
    maker = spec.gang or spec.made_for
    of_owner = annotation not in spec.said_by_pods and (bool(spec.gang) or maker.partition(" ")[0] in WORKLOADS)
    return JobAnnotation(annotation, value, maker.partition(" (")[0] if of_owner else "")


def told_of(noted: JobAnnotation, namespace: str) -> str:
    """The annotation and where it belongs: ``annotation a/b: 2 on ReplicaSet default/web-5d9``."""
    kind, _, name = noted.owner.partition(" ")
    return f"annotation {noted.annotation}: {noted.value} on {f'{kind} {namespace}/{name}' if name else 'its pods'}"
