"""What keeps a job out of a cycle altogether: nothing is admitted, placed, evicted or kept for it."""

from __future__ import annotations

from collections.abc import Container

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.framework.wording import counted
from vsched.model.jobs.job import Job

NO_SUCH_QUEUE = "QueueNotFound"
UNSUPPORTED = "Unsupported"


def obstacle(job: Job, queues: Container[str]) -> Refusal | None:
    """Why a cycle does nothing for a job, None where it does."""
    if job.spec.queue not in queues:
        return no_such_queue(job.spec.queue)
    if job.unsupported:
        own = job.spec.implicit or job.spec.made  # its pods and their workload ask, the object only records it
        return unsupported(job.unsupported if own else f"PodGroup {job.key}: {job.unsupported}")
    if job.kept_out:
        return unsupported(told_of_pods(job))
    return None


def no_such_queue(name: str) -> Refusal:
    """Nothing is done for jobs of a queue that does not exist."""
    return Refusal(NO_SUCH_QUEUE, f"queue {name} does not exist", code=Code.QUEUE_NOT_FOUND, subject=name)


def unsupported(message: str) -> Refusal:
    """Nothing is done for what asks for something that is not built."""
    return Refusal(UNSUPPORTED, message, code=Code.UNSUPPORTED)


def told_of_pods(job: Job) -> str:
    """What is said of a job with pods that ask for what is not supported."""
    asking = (task for task in job.pending.values() if task.unsupported)
    first = min(asking, key=lambda task: (task.created, task.name))
    if len(job.tasks) == 1:
        return first.unsupported
    others = counted(job.unplaceable, "of its pods waits", "of its pods wait")
    return f"{others}: {first.name}: {first.unsupported}"
