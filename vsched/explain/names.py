"""What a name that somebody asks about stands for: a job, a pod, or an object that jobs were made for."""

from __future__ import annotations

from vsched.model.jobs.job import Job
from vsched.model.jobs.native import keys_named
from vsched.model.jobs.spec import JobSpec
from vsched.model.plan import CycleReport
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

POD, POD_GROUP = "Pod", "PodGroup"


def kinds_of(snapshot: Snapshot, report: CycleReport, key: str) -> tuple[str, ...]:
    """The kinds of the objects that have this name, PodGroup before Pod."""
    kinds = (POD_GROUP,) if job_named(snapshot, key) is not None else ()
    return kinds if find_pod(snapshot, report, key) is None else (*kinds, POD)


def job_named(snapshot: Snapshot, key: str) -> Job | None:
    """The job of a key, or of ``namespace/name``, stray or not; a PodGroup of Volcano before Kubernetes' own."""
    for each in keys_named(key):
        found = snapshot.jobs.get(each) or snapshot.strays.get(each)
        if found is not None:
            return found
    return None


def jobs_made_for(snapshot: Snapshot, key: str) -> tuple[str, ...]:
    """The jobs that were made for the object of this name: a vcjob, a ReplicaSet, a LeaderWorkerSet or the like."""
    namespace, _, name = key.partition("/")
    return tuple(
        own
        for own, job in snapshot.jobs.items()
        if name and own.startswith(f"{namespace}/") and name in names_made_for(job.spec)
    )


def names_made_for(spec: JobSpec) -> tuple[str, ...]:
    """The names of the objects that a job was made for."""
    _, _, whole = spec.made_for.partition(" ")
    return whole, whole.partition(" ")[0], spec.gang.rpartition(" ")[2]


def find_pod(snapshot: Snapshot, report: CycleReport, key: str) -> Task | None:
    """The pod of a key: the report has an index of unschedulable pods, others need a walk over their namespace."""
    verdict = report.unschedulable.get(key)
    known = None if verdict is None else snapshot.jobs.get(verdict.job) or snapshot.strays.get(verdict.job)
    if verdict is not None and known is not None:
        return known.tasks.get(verdict.uid)
    namespace, _, name = key.partition("/")
    for jobs in (snapshot.jobs, snapshot.strays):
        for own, job in jobs.items():
            if own.startswith(f"{namespace}/"):
                for task in job.tasks.values():
                    if task.name == name:
                        return task
    return None
