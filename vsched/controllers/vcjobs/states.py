"""The states of a vcjob: which action leads from which phase to which, and when a phase is over.

Two kinds of steps change the phase. An action, asked for by a Command or by a policy, begins something: ``begun``. The
counts of the pods then end it: ``settled``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.counts import FAILED, SUCCEEDED, PodsByPhase
from vsched.controllers.vcjobs.spec import JobAction, JobPhase, JobStatus, VcJob
from vsched.controllers.vcjobs.stages import has_stages, never_started

RESTARTS = frozenset(
    {JobAction.RESTART_JOB, JobAction.RESTART_TASK, JobAction.RESTART_POD, JobAction.RESTART_PARTITION}
)
PARTIAL = RESTARTS - {JobAction.RESTART_JOB}
"""Restarts of a part of the job: its PodGroup and its other pods stay."""
_ENDS = {
    JobAction.ABORT_JOB: JobPhase.ABORTING,
    JobAction.COMPLETE_JOB: JobPhase.COMPLETING,
    JobAction.TERMINATE_JOB: JobPhase.TERMINATING,
}
UNDER_WAY = frozenset({JobPhase.NEW, JobPhase.PENDING, JobPhase.RUNNING})
"""The phases in which pods are made."""
FINISHED = frozenset({JobPhase.COMPLETED, JobPhase.TERMINATED, JobPhase.FAILED})
"""The phases that a job never leaves. One that was aborted may be resumed."""
_KILLED = {
    JobPhase.ABORTING: JobPhase.ABORTED,
    JobPhase.COMPLETING: JobPhase.COMPLETED,
    JobPhase.TERMINATING: JobPhase.TERMINATED,
}


class EndReason(StrEnum):
    """Why a job has ended, where no action has ended it."""

    ENOUGH_EARLY = "MinSuccessReached"
    ENOUGH = "PodsSucceeded"
    TOO_FEW = "TooFewSucceeded"
    TOO_FEW_LEFT = "TooFewLeft"
    DEPENDENCY = "DependencyFailed"
    NO_RETRY_LEFT = "MaxRetryReached"


class Begin(NamedTuple):
    """What an action begins."""

    phase: JobPhase
    retry: bool = False
    """Whether it counts as a retry."""
    kill: bool = True
    """Whether all pods go: the version of the job goes up, and with it its pods and its PodGroup become outdated."""


def begun(phase: JobPhase, action: JobAction, partly: bool = False) -> Begin | None:
    """What an action begins in a phase; None where it does nothing there.

    ``partly``: whether the job restarts in part. What comes on top of a restart is no further retry, and neither is
    going on after a pause that somebody asked for.
    """
    if phase in (JobPhase.ABORTING, JobPhase.ABORTED):
        return Begin(JobPhase.RESTARTING) if action is JobAction.RESUME_JOB else None
    if phase in UNDER_WAY or phase is JobPhase.RESTARTING:
        if action in _ENDS:
            return Begin(_ENDS[action])
        if action not in RESTARTS:
            return None
        if phase is not JobPhase.RESTARTING:
            return Begin(JobPhase.RESTARTING, retry=True, kill=action not in PARTIAL)
        return Begin(JobPhase.RESTARTING, kill=action not in PARTIAL) if partly else None
    return None


class NextPhase(NamedTuple):
    """The phase that follows, with what is said about it; empty where what was said before stays."""

    phase: JobPhase
    reason: str = ""
    message: str = ""


def is_last_try(job: VcJob, status: JobStatus) -> bool:
    """Whether a restart ends the job, as it has no retry left. A job that is resumed has as many left as before."""
    is_restart = status.phase is JobPhase.RESTARTING and status.reason != JobAction.RESUME_JOB
    return is_restart and status.retries >= job.max_retry


def settled(
    job: VcJob, status: JobStatus, counts: PodsByPhase, cleared: bool = True, awaited: bool = False
) -> NextPhase:
    """The phase that the counts lead to; the same phase where it is not over.

    ``cleared``: whether what a restart takes away is gone or on its way. ``awaited``: whether a policy acts later on.
    """
    phase = status.phase
    if phase is JobPhase.NEW:
        return NextPhase(JobPhase.PENDING)
    if phase is JobPhase.PENDING:
        there = counts.running + counts.succeeded + counts.failed
        reached = NextPhase(JobPhase.RUNNING if job.min_available <= there else phase)
        return reached if awaited else _stuck(job, counts) or reached
    if phase is JobPhase.RUNNING:
        reached = _running(job, counts)
        return reached if awaited or reached.phase in FINISHED else _stuck(job, counts) or reached
    if phase is JobPhase.RESTARTING:
        return _restarting(job, status, counts, cleared)
    if phase in _KILLED and not counts.alive:
        return NextPhase(_KILLED[phase])
    return NextPhase(phase)


def _running(job: VcJob, counts: PodsByPhase) -> NextPhase:
    replicas = job.replicas
    if replicas == 0:
        return NextPhase(JobPhase.RUNNING)
    if job.min_success is not None and counts.succeeded >= job.min_success:
        return NextPhase(JobPhase.COMPLETED, EndReason.ENOUGH_EARLY, f"{_pods(counts.succeeded)} succeeded")
    if counts.succeeded + counts.failed == replicas:
        return _ended(job, counts)
    if counts.pending > replicas - job.min_available:
        return NextPhase(JobPhase.PENDING)
    return NextPhase(JobPhase.RUNNING)


def _stuck(job: VcJob, counts: PodsByPhase) -> NextPhase | None:
    """A job fails none of whose pods runs or can start any more; None where it is not so."""
    if not counts.failed or counts.bound or counts.running or counts.terminating or counts.unknown:
        return None
    lost = never_started(job, counts) if has_stages(job) else []
    left = sum(task.replicas for task in job.tasks if task.name not in lost)
    if lost and counts.succeeded + counts.failed >= left:
        message = words.tasks_cannot_start(", ".join(lost))
        return NextPhase(JobPhase.FAILED, EndReason.DEPENDENCY, message)
    if not _may_be_whole(job, counts):
        message = words.too_few_left(_pods(counts.failed))
        return NextPhase(JobPhase.FAILED, EndReason.TOO_FEW_LEFT, message)
    return None


def _may_be_whole(job: VcJob, counts: PodsByPhase) -> bool:
    """Whether enough pods have not failed. A gang without that gets no nodes any more."""
    if job.replicas - counts.failed < job.min_available:
        return False
    if job.min_available < sum(task.min_available for task in job.tasks):
        return True
    return all(task.replicas - counts.of(task.name, FAILED) >= task.min_available for task in job.tasks)


def _ended(job: VcJob, counts: PodsByPhase) -> NextPhase:
    """What becomes of a job whose pods have all succeeded or failed."""
    said = f"{counts.succeeded} of {_pods(job.replicas)} succeeded"
    if job.min_available >= sum(task.min_available for task in job.tasks):
        for task in job.tasks:
            succeeded = counts.of(task.name, SUCCEEDED)
            if task.name in counts.tasks and succeeded < task.min_available:
                least = words.of_task_which_needs(task.name, task.min_available)
                return NextPhase(JobPhase.FAILED, EndReason.TOO_FEW, f"{_pods(succeeded)} {least}, succeeded")
    if job.min_success is not None:
        return NextPhase(JobPhase.FAILED, EndReason.TOO_FEW, words.minimum_to_succeed(said, job.min_success))
    if counts.succeeded >= job.min_available:
        return NextPhase(JobPhase.COMPLETED, EndReason.ENOUGH, said)
    return NextPhase(JobPhase.FAILED, EndReason.TOO_FEW, words.minimum_to_run(said, job.min_available))


def _restarting(job: VcJob, status: JobStatus, counts: PodsByPhase, cleared: bool) -> NextPhase:
    if is_last_try(job, status):
        why = f"; {status.message}" if status.message else ""
        return NextPhase(JobPhase.FAILED, EndReason.NO_RETRY_LEFT, words.retry_of(status.retries, job.max_retry, why))
    if cleared and job.replicas - counts.terminating >= job.min_available:
        return NextPhase(JobPhase.PENDING)
    return NextPhase(JobPhase.RESTARTING)


def _pods(number: int) -> str:
    return f"{number} pod{'' if number == 1 else 's'}"
