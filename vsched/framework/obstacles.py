"""Why a cycle skips a job: its queue does not exist, or it asks for a feature that is not supported.

A cycle does not admit or place such a job, evicts no pods for it, and reserves no room for it.
"""

from __future__ import annotations

from collections.abc import Container

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.framework.words import jobs as words
from vsched.model.jobs.job import Job
from vsched.model.jobs.native import title_of

NO_SUCH_QUEUE = "QueueNotFound"
UNSUPPORTED = "Unsupported"


def obstacle(job: Job, queues: Container[str]) -> Refusal | None:
    """Why a cycle skips a job; None where it does not."""
    if job.spec.queue not in queues:
        return no_such_queue(job.spec.queue)
    if job.unsupported:
        # Where vsched made the PodGroup, the pods or their workload ask for the feature, so it is not named. A missing
        # class is named itself.
        own = job.spec.implicit or job.spec.made or job.awaits_class
        return unsupported(
            job.unsupported if own else f"{job.called if job.spec.made_for else title_of(job.key)}: {job.unsupported}"
        )
    if job.kept_out:
        return unsupported(unsupported_pods(job))
    return None


def no_such_queue(name: str) -> Refusal:
    """The refusal of jobs whose queue does not exist."""
    return Refusal(NO_SUCH_QUEUE, words.no_queue(name), code=Code.QUEUE_NOT_FOUND, subject=name)


def unsupported(message: str) -> Refusal:
    """The refusal of a job or pod that asks for a feature that is not supported."""
    return Refusal(UNSUPPORTED, message, code=Code.UNSUPPORTED)


def unsupported_pods(job: Job) -> str:
    """The message for a job with pods that ask for a feature that is not supported; it names the oldest such pod."""
    asking = (task for task in job.pending.values() if task.unsupported)
    first = min(asking, key=lambda task: (task.created, task.name))
    if len(job.tasks) == 1:
        return first.unsupported
    return words.some_wait(job.unplaceable, first.name, first.unsupported)
