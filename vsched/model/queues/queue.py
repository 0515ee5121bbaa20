"""Immutable records of a queue, a namespace and a priority class."""

from __future__ import annotations

import msgspec

from vsched.model.amounts.resources import NOTHING, Amounts
from vsched.model.marks import Uid, Value, Word
from vsched.model.queues.evictions import NO_TERMS, EvictionTerms

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


OPEN, CLOSED, CLOSING, UNKNOWN = "Open", "Closed", "Closing", "Unknown"
SHUT = (CLOSING, CLOSED)
CLOSED_BY_PARENT = "volcano.sh/closed-by-parent"
"""Annotation with value "true": the queue is closed only because its parent is."""
ROOT = "root"
"""The queue above all other queues."""


class NodeGroups(msgspec.Struct, frozen=True):
    """A queue's affinity and anti-affinity to node groups (``spec.affinity``)."""

    required: tuple[Value, ...] = ()
    preferred: tuple[Value, ...] = ()
    """In order of preference."""
    anti_required: tuple[Value, ...] = ()
    anti_preferred: tuple[Value, ...] = ()


class Queue(msgspec.Struct, frozen=True):
    """A Queue object."""

    name: str
    uid: Uid = ""
    created: float = 0.0
    weight: int = 1
    capability: Amounts = NOTHING
    """Zeros are kept, also in ``deserved`` and ``guarantee``: a limit of 0 differs from no limit."""
    deserved: Amounts = NOTHING
    guarantee: Amounts = NOTHING
    asked: Amounts = NOTHING
    """What it holds and asks for, with what pods of jobs will ask for that restart; empty where no job restarts.

    What it deserves of that stays free for it.
    """
    reclaimable: bool = True
    priority: int = 0
    """``spec.priority``, else the value of the queue's priority class, else 0."""
    parent: str = ""
    state: Word = OPEN
    annotations: tuple[tuple[str, str], ...] = ()
    affinity: NodeGroups | None = None
    group_limits: tuple[tuple[Value, Amounts], ...] | None = ()
    """What it may hold on each node group, zeros kept (``volcano.sh/nodegroup-resource-limits``).

    None where the annotation is invalid; then no pod of the queue may be placed.
    """
    terms: EvictionTerms = NO_TERMS
    """What it states about evictions; queues below it inherit that."""
    limits: QueueJobLimits = NO_JOB_LIMITS
    """The limits that it states for the jobs in it and below it."""
    missing_class: str = ""
    """The PriorityClass that its object names and that does not exist; empty where there is none."""

    @property
    def open(self) -> bool:
        """Whether the queue takes new jobs."""
        return self.state == OPEN

    @property
    def closed_by_parent(self) -> bool:
        """Whether it is closed only because its parent is, and opens with the parent."""
        return (CLOSED_BY_PARENT, "true") in self.annotations


class PriorityClass(msgspec.Struct, frozen=True):
    """A priority class."""

    name: str
    value: int
    is_default: bool = False
    """Jobs without a class get its value, unless their queue has a priority."""
    preempts: bool = True
    """False for ``preemptionPolicy: Never``; new pods of the class get this policy."""


class Namespace(msgspec.Struct, frozen=True):
    """A namespace: its weight in fair shares, and its labels for namespace selectors."""

    name: str
    weight: int = 1
    """The largest valid ``volcano.sh/namespace.weight`` of its ResourceQuotas, else 1."""
    labels: tuple[tuple[str, Value], ...] = ()
    queue: str = ""
    """The default queue by annotation; empty where there is none."""
