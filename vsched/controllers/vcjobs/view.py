"""What one decision about a vcjob looks at (``VcjobView``, ``ActionRequest``), and what comes out of it (``JobPlan``).

The records fill a view from watched objects; ``reconcile`` reads it and returns a plan;
the controller does what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from vsched.controllers.vcjobs.spec import JobAction, JobEvent, VcJob


class VcjobPod(msgspec.Struct, frozen=True):
    """A pod that the vcjob owns (by uid), with what its labels, annotations and status say."""

    name: str
    uid: str
    task: str
    """Label ``volcano.sh/task-spec``."""
    index: int
    """Label ``volcano.sh/task-index``."""
    phase: str
    version: int = 0
    """Annotation ``volcano.sh/job-version``: ``status.version`` of the job when the pod was made."""
    retries: int = 0
    """Annotation ``volcano.sh/job-retry-count``: ``status.retryCount`` of the job when the pod was made."""
    partition: str = ""
    """Label ``volcano.sh/partition-id``."""
    deleting: bool = False
    """Whether the pod has a ``deletionTimestamp``."""
    gone: bool = False
    """Whether it is no more, and counts as it ended."""
    disrupted: bool = False
    """Whether it was made to end: evicted, or lost with its node (condition ``DisruptionTarget``)."""
    bound: bool = False
    """Whether it has a node."""
    ready: bool = False
    """Whether all of its containers are ready."""
    exit_code: int | None = None
    """Of the first container; None until it has ended."""
    restarts: int = 0
    """How often the kubelet has restarted its containers, init containers included."""
    since: float = 0.0
    """When its phase began, in seconds since the epoch: its creation while it is Pending, its start while it is
    Running, and the end of its last container once it has Succeeded or Failed."""
    address: str = ""
    """Its IP, as its status says."""

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself: then its deletion, whenever it comes, changes nothing for the job."""
        return self.phase == "Succeeded" or (self.phase == "Failed" and not self.disrupted)


class GroupState(NamedTuple):
    """The PodGroup of a vcjob, as it is."""

    uid: str
    resource_version: str
    phase: str
    spec: Mapping[str, Any]
    """Its spec as JSON data, to be compared with the one that it should have."""
    deleting: bool = False
    since: float = 0.0
    """When its phase was first seen, in seconds since the epoch."""
    waits: str = ""
    """Why it waits, in the words of its condition; empty where it does not say that it waits."""
    waits_since: float = 0.0
    """Since when it says so, in seconds since the epoch."""


class VcjobView(NamedTuple):
    """A vcjob and everything around it that a decision needs."""

    job: VcJob
    pods: Mapping[str, VcjobPod]
    """The pods that it owns, by name, with those that are being deleted, and those that had ended and are gone."""
    group: GroupState | None = None
    missing_claims: tuple[str, ...] = ()
    """Claims that the job names and that are not there."""
    evicted: tuple[VcjobPod, ...] = ()
    """Pods that are gone before they had ended, and that this process did not delete, as they were seen last, with the
    time of their end as ``since``. They stay here until a plan forgets them. The decision sorts out those that the
    status of the job explains (a kill, a restart, fewer replicas)."""
    priorities: Mapping[str, int] = {}
    """The values of PriorityClasses, by name."""
    uncreated: str = ""
    """What the API server would not create for the job when it was asked last, and why."""


class ActionRequest(NamedTuple):
    """An action that is asked for: by a Command, or by a policy whose event has come."""

    action: JobAction
    task: str = ""
    pod: str = ""
    partition: str = ""
    event: JobEvent = JobEvent.COMMAND_ISSUED
    why: str = ""
    """In words, for the status and for Events. That of a Command names its uid: a Command whose uid the status names
    is done already, and is not counted again."""


class PlanEvent(NamedTuple):
    """An Event on the vcjob."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class JobPlan(NamedTuple):
    """What is to be written, in this order.

    The status goes first, with the resourceVersion of the job. Nothing else is done where it cannot be written (409:
    decide again). So what is counted is counted once. All else follows from the status: a restart finds it again.
    """

    status: dict[str, Any] | None = None
    """The whole new status; None where it stays."""
    delete: tuple[str, ...] = ()
    """Names of pods, to be deleted by their uids in the view."""
    group: Literal["", "make", "update", "delete"] = ""
    """What becomes of the PodGroup."""
    objects: Literal["", "make", "delete"] = ""
    """What becomes of the objects of plugins and volumes (Services, ConfigMaps, Secrets, claims): ``make`` makes those
    that are missing, before any pod, and is asked for as long as the job is under way; ``delete`` takes back what
    plugins have made, before the status is written which no longer names it."""
    create: tuple[tuple[str, int], ...] = ()
    """Pods, as task and index."""
    delete_job: bool = False
    """Whether the job is deleted, because its time to live is over."""
    events: tuple[PlanEvent, ...] = ()
    forget: tuple[str, ...] = ()
    """The uids of evicted pods that are dealt with."""
    wake_at: float | None = None
    """When to decide again even if nothing changes, in seconds since the epoch."""
