"""What is said of jobs whose pods are those of an owner."""

from __future__ import annotations

from vsched.model.jobs.job import Job, JobSpec
from vsched.model.pods.status import Phase


def found_by(spec: JobSpec) -> str:
    """By which owner a gang was found, and how many of its pods start together; empty for other jobs."""
    if not spec.gang:
        return ""
    roles = ", ".join(f"{minimum} {role}" for role, minimum in spec.min_task_member)
    together = f"{spec.min_member} start together" if spec.min_member > 1 else "each starts by itself"
    return f"its pods were found by their owner {spec.gang}: {together}{f' ({roles})' if roles else ''}"


def pods_to_come(job: Job) -> str:
    """When a vcjob gets its pods, where it has none yet because it is not admitted; empty for other jobs."""
    if not job.spec.written_for or job.tasks or job.spec.phase != Phase.PENDING:
        return ""
    return f"the pods of vcjob {job.spec.namespace}/{job.spec.written_for} are made once its queue admits it (Inqueue)"
