"""What queues say about the jobs in them: how many may run at once, and for how long."""

from __future__ import annotations

import msgspec

MAX_RUNNING_JOBS = "vsched.io/max-running-jobs"
MAX_RUNNING_JOBS_PER_USER = "vsched.io/max-running-jobs-per-user"
"""Annotations of queues: how many jobs of the queue, and of each user in it, may run at once."""

MAX_WALL_TIME = "vsched.io/max-wall-time"
"""Annotation of queues: for how long a job of the queue may run."""
WALL_TIME = "vsched.io/wall-time"
"""Annotation of PodGroups, and of workloads and pods that stand for one: for how long the job may run."""


class QueueJobLimits(msgspec.Struct, frozen=True):
    """The limits that a queue states; None where it states none. They count for all queues below it, too."""

    running_jobs: int | None = None
    """How many jobs may run at once in the queue and below it."""
    running_jobs_per_user: int | None = None
    """How many jobs of one user may run there at once."""
    wall_time: float | None = None
    """For how long a job may run, seconds; a queue below that states a time of its own goes by that."""


NO_JOB_LIMITS = QueueJobLimits()


def exactly(seconds: float) -> str:
    """A length of time as annotations state it, such as ``1h30m``."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = (f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest:g}s" if rest else "")
    return "".join(parts) or "0s"
