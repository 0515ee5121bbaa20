"""What is to be done about a vcjob now: one pure decision.

An action that is due begins a phase, and the counts of the pods end it. The status that follows decides everything
else: which pods go, which are made, and what becomes of the PodGroup and of the objects of plugins.
"""

from __future__ import annotations

from msgspec.structs import replace

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.counts import count
from vsched.controllers.vcjobs.effects import (
    controlled,
    group_change,
    keeps_group,
    leaving,
    missing,
    objects_change,
    time_to_live,
)
from vsched.controllers.vcjobs.policies import Due, due
from vsched.controllers.vcjobs.spec import JobPhase, JobStatus
from vsched.controllers.vcjobs.states import UNDER_WAY
from vsched.controllers.vcjobs.status import status_body
from vsched.controllers.vcjobs.steps import acted, counted, is_done
from vsched.controllers.vcjobs.view import ActionRequest, JobPlan, PlanEvent, VcjobView

REFUSED, NO_CLAIM = "InvalidJob", "PVCError"
"""The reasons of a job that waits because nothing can be made of it."""
UNCREATED = "FailedCreate"
"""The reason of a job that waits because the API server does not create something for it."""


def reconcile(view: VcjobView, request: ActionRequest | None, now: float) -> JobPlan:
    """What is to be written about the job; nothing where all is as it should be."""
    if view.job.deleting:
        return JobPlan(forget=tuple(pod.uid for pod in view.evicted))
    wanted = _wanted(view, request, now)
    step = acted(view, request, wanted, now)
    status, events = step.status, [*step.events]
    obstacle = _obstacle(view, status)
    going = leaving(view, status)
    counts = count(view.pods.values(), {pod.name for pod in going})
    if not step.begun and (obstacle is None or status.phase is not JobPhase.PENDING):
        cleared = keeps_group(status) or view.group is None
        step = counted(view.job, status, counts, cleared, wanted.wake_at is not None, now)
        status, events = step.status, [*events, *step.events]
    status = _told(view, status, obstacle, events)
    status = _told_uncreated(view, status)
    making = status.phase in UNDER_WAY and obstacle is None
    status = replace(status, controlled=controlled(view, status, making))
    body = status_body(view.job, status, counts, now)
    expiry = time_to_live(view, status)
    return JobPlan(
        status=None if body == view.job.status.body else body,
        delete=tuple(pod.name for pod in going if not pod.deleting),
        group=group_change(view, status, making),
        objects=objects_change(view, status, making),
        create=missing(view) if making and not step.begun else (),
        delete_job=expiry is not None and expiry <= now,
        events=tuple(events),
        forget=tuple(pod.uid for pod in view.evicted if pod.uid not in wanted.waiting),
        wake_at=_earliest(wanted, status, expiry, now),
    )


def _wanted(view: VcjobView, request: ActionRequest | None, now: float) -> Due:
    """What the policies want; nothing while a Command that is carried out is still there.

    Until it is deleted, the status has to name it: the next action would be named in its place.
    """
    if request is not None and is_done(view.job.status, request):
        return Due(waiting=frozenset(pod.uid for pod in view.evicted))
    return due(view, now)


def _obstacle(view: VcjobView, status: JobStatus) -> tuple[str, str] | None:
    """Why nothing can be made of a job, as reason and message; None where there is nothing in the way."""
    if view.job.refusals:
        return REFUSED, "; ".join(view.job.refusals)
    if view.missing_claims and status.phase in (JobPhase.NEW, JobPhase.PENDING):
        names = ", ".join(view.missing_claims)
        return NO_CLAIM, words.no_volume_claim_of(names, view.job.namespace)
    return None


def _told(view: VcjobView, status: JobStatus, obstacle: tuple[str, str] | None, events: list[PlanEvent]) -> JobStatus:
    """The status with the obstacle as its reason, while the job has no pods."""
    if obstacle is None:
        return replace(status, reason="", message="") if status.reason in (REFUSED, NO_CLAIM) else status
    before = (view.job.status.reason, view.job.status.message)
    if status.phase is not JobPhase.PENDING or view.pods:
        return status
    if before != obstacle:
        events.append(PlanEvent("Warning", *obstacle))
    return replace(status, reason=obstacle[0], message=obstacle[1])


def _told_uncreated(view: VcjobView, status: JobStatus) -> JobStatus:
    """The status with what could not be created as its reason, until it can be.

    It takes no other reason's place: that of a restart, or of a Command, is still needed.
    """
    if view.uncreated and status.phase is JobPhase.PENDING and status.reason in ("", UNCREATED):
        return replace(status, reason=UNCREATED, message=view.uncreated)
    return replace(status, reason="", message="") if status.reason == UNCREATED else status


def _earliest(wanted: Due, status: JobStatus, expiry: float | None, now: float) -> float | None:
    """When the next time of a policy, or the job's time to live, is over."""
    moments = [expiry] if expiry is not None and expiry > now else []
    if wanted.wake_at is not None and status.phase in (*UNDER_WAY, JobPhase.RESTARTING):
        moments.append(wanted.wake_at)
    return min(moments, default=None)
