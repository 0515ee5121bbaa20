"""The next phase of a vcjob: begun by an action, or reached because of the counts of its pods."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.counts import PodsByPhase
from vsched.controllers.vcjobs.policies import Due
from vsched.controllers.vcjobs.spec import JobEvent, JobPhase, JobStatus, VcJob
from vsched.controllers.vcjobs.states import FINISHED, PARTIAL, begun, settled
from vsched.controllers.vcjobs.targets import RestartTarget, message_of, outdated, target_of, targets_of, targets_with
from vsched.controllers.vcjobs.view import ActionRequest, PlanEvent, VcjobView


class NextStatus(NamedTuple):
    """The status that follows, with what is told about it."""

    status: JobStatus
    begun: bool = False
    """Whether an action has begun something, which other pods may have to follow before anything else."""
    events: tuple[PlanEvent, ...] = ()


def acted(view: VcjobView, request: ActionRequest | None, wanted: Due, now: float) -> NextStatus:
    """The status after the action that a Command asks for, else after the one that the policies want."""
    events: tuple[PlanEvent, ...] = ()
    if request is not None and not is_done(view.job.status, request):
        asked = _begin(view, (request,), now)
        if asked is not None:
            return asked
        events = (_in_vain(view.job, request),)
    begin = _begin(view, wanted.requests, now) if wanted.requests else None
    return begin or NextStatus(view.job.status, events=events)


def is_done(status: JobStatus, request: ActionRequest) -> bool:
    """Whether the status names the request: it has been carried out already."""
    return bool(request.why) and request.why in status.message


def _in_vain(job: VcJob, request: ActionRequest) -> PlanEvent:
    said = words.no_effect_in_phase(request.action, job.status.phase or JobPhase.PENDING)
    return PlanEvent("Warning", JobEvent.COMMAND_ISSUED, f"{said} ({request.why})")


def _begin(view: VcjobView, requests: tuple[ActionRequest, ...], now: float) -> NextStatus | None:
    """What requests of one action begin; None where they do nothing now."""
    status = view.job.status
    action, event, why = requests[0].action, requests[0].event, requests[0].why
    begin = begun(status.phase, action, partly=status.reason in PARTIAL)
    if begin is None:
        return None
    message = why
    if action in PARTIAL:
        targets = [target for target in map(target_of, requests) if target is not None]
        if not targets:
            return None
        message = message_of(dict.fromkeys((*_unfinished(view), *targets)), why)
    after = replace(
        status,
        phase=begin.phase,
        reason=action,
        message=message,
        since=status.since if begin.phase is status.phase else now,
        version=status.version + begin.kill,
        retries=status.retries + begin.retry,
    )
    told = JobEvent.COMMAND_ISSUED if event is JobEvent.COMMAND_ISSUED else "ExecuteAction"
    return NextStatus(after, True, (PlanEvent("Normal", told, f"{action}: {message}"),))


def _unfinished(view: VcjobView) -> list[RestartTarget]:
    """What the restart before restarts, as far as its pods are still there: they stay outdated."""
    old = outdated(view.job, view.job.status)
    left = {target for pod in view.pods.values() if old.killed(pod) for target in targets_with(pod)}
    return [target for target in targets_of(view.job.status) if target in left]


def counted(job: VcJob, status: JobStatus, counts: PodsByPhase, cleared: bool, awaited: bool, now: float) -> NextStatus:
    """The status after the counts of the pods have been looked at."""
    reached = settled(job, status, counts, cleared, awaited)
    if reached.phase is status.phase:
        return NextStatus(status)
    after = replace(
        status,
        phase=reached.phase,
        reason=reached.reason or status.reason,
        message=reached.message or status.message,
        since=now,
    )
    events: tuple[PlanEvent, ...] = ()
    if after.phase in FINISHED:
        bad = after.phase is JobPhase.FAILED
        events = (PlanEvent("Warning" if bad else "Normal", f"Job{after.phase}", after.message),)
    return NextStatus(after, events=events)
