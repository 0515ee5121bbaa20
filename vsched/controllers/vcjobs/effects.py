"""What follows from the status of a vcjob: pods that go or are made, its PodGroup and other objects.

All of it is found anew from the objects as they are, by whichever process looks next.
"""

from __future__ import annotations

from typing import Literal

from vsched.controllers.vcjobs.counts import ENDED
from vsched.controllers.vcjobs.naming import pod_name
from vsched.controllers.vcjobs.objects import controlled_resources
from vsched.controllers.vcjobs.podgroup import correction
from vsched.controllers.vcjobs.spec import JobPhase, JobStatus
from vsched.controllers.vcjobs.stages import gang_of, startable
from vsched.controllers.vcjobs.states import FINISHED, PARTIAL, UNDER_WAY, is_last_try
from vsched.controllers.vcjobs.targets import outdated
from vsched.controllers.vcjobs.view import VcjobPod, VcjobView
from vsched.model.pods.status import Phase

_CLOSED_GATE = ("", Phase.PENDING)
"""The phases of a PodGroup that has not been admitted: no pods are made for it."""
_OF_PLUGINS = "plugin-"
"""How the entries of plugins in ``controlledResources`` begin."""


def leaving(view: VcjobView, status: JobStatus) -> list[VcjobPod]:
    """The pods that have no place under this status; those that are being deleted already included."""
    pods = view.pods.values()
    if status.phase not in UNDER_WAY and (status.phase is not JobPhase.RESTARTING or is_last_try(view.job, status)):
        # Of the last try as well, pods that have ended are kept, so that their logs can be read.
        return [pod for pod in pods if pod.phase not in ENDED]
    old = outdated(view.job, status)
    # The replicas of a job that is refused are not to be trusted.
    shrunk = status.phase in UNDER_WAY and not view.job.refusals
    return [pod for pod in pods if old.killed(pod) or (shrunk and old.surplus(pod))]


def missing(view: VcjobView) -> tuple[tuple[str, int], ...]:
    """The pods that are to be made now, as task and index: none before the PodGroup is admitted."""
    group = view.group
    if group is None or group.deleting or group.phase in _CLOSED_GATE:
        return ()
    return tuple(
        (task.name, index)
        for task in startable(view.job, view.pods.values())
        for index in range(task.replicas)
        if pod_name(view.job, task.name, index) not in view.pods
    )


def group_change(view: VcjobView, status: JobStatus, making: bool) -> Literal["", "make", "update", "delete"]:
    """What becomes of the PodGroup. A restart of the whole job takes it away; the next one waits in the queue again."""
    group = view.group
    if group is None:
        return "make" if making else ""
    if group.deleting:
        return ""
    if not keeps_group(status):
        return "delete"
    return "update" if making and correction(group.spec, gang_of(view), view.priorities) is not None else ""


def keeps_group(status: JobStatus) -> bool:
    """Whether the PodGroup stays under this status."""
    return status.phase in UNDER_WAY or (status.phase is JobPhase.RESTARTING and status.reason in PARTIAL)


def objects_change(view: VcjobView, status: JobStatus, making: bool) -> Literal["", "make", "delete"]:
    """What becomes of the objects of plugins and volumes."""
    if making:
        return "make" if view.job.plugins or view.job.volumes else ""
    made = any(name.startswith(_OF_PLUGINS) for name, _ in view.job.status.controlled)
    return "delete" if made and _gives_back(status) else ""


def controlled(view: VcjobView, status: JobStatus, making: bool) -> tuple[tuple[str, str], ...]:
    """``controlledResources`` under this status."""
    before = dict(view.job.status.controlled)
    if making:
        before |= controlled_resources(view.job)
    kept = (entry for entry in before.items() if not (_gives_back(status) and entry[0].startswith(_OF_PLUGINS)))
    return tuple(sorted(kept))


def _gives_back(status: JobStatus) -> bool:
    return status.phase not in UNDER_WAY and status.phase is not JobPhase.RESTARTING


def time_to_live(view: VcjobView, status: JobStatus) -> float | None:
    """When the job is deleted; None where it stays."""
    if status.phase not in FINISHED or view.job.ttl_seconds is None:
        return None
    return status.since + view.job.ttl_seconds
