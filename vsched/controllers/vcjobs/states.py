"""The states of a vcjob: which action leads from which phase to which, and when a phase is over (reference 7.2).

Two kinds of steps change the phase. An action, asked for by a Command or by a policy, begins something: ``begun``. The
counts of the pods then end it: ``settled``.
"""

from __future__ import annotations

from typing import NamedTuple

from vsched.controllers.vcjobs.counts import SUCCEEDED, Counts
from vsched.controllers.vcjobs.spec import Action, JobPhase, VcJob
from vsched.controllers.vcjobs.stages import has_stages, never_started

RESTARTS = frozenset({Action.RESTART_JOB, Action.RESTART_TASK, Action.RESTART_POD, Action.RESTART_PARTITION})
PARTIAL = RESTARTS - {Action.RESTART_JOB}
"""Restarts of a part of the job: its PodGroup and its other pods stay."""
_ENDS = {
    Action.ABORT_JOB: JobPhase.ABORTING,
    Action.COMPLETE_JOB: JobPhase.COMPLETING,
    Action.TERMINATE_JOB: JobPhase.TERMINATING,
}
UNDER_WAY = frozenset({JobPhase.NEW, JobPhase.PENDING, JobPhase.RUNNING})
"""The phases in which pods are made."""
FINISHED = frozenset({JobPhase.COMPLETED, JobPhase.TERMINATED, JobPhase.FAILED})
"""The phases that a job never leaves."""
_KILLED = {
    JobPhase.ABORTING: JobPhase.ABORTED,
    JobPhase.COMPLETING: JobPhase.COMPLETED,
    JobPhase.TERMINATING: JobPhase.TERMINATED,
}


class Begin(NamedTuple):
    """What an action begins."""

    phase: JobPhase
    retry: bool = False
    """Whether it counts as a retry."""
    kill: bool = True
    """Whether all pods go: the version of the job goes up, and with it its pods and its PodGroup become outdated."""


def begun(phase: JobPhase, action: Action, partly: bool = False) -> Begin | None:
    """What an action begins in a phase; None where it does nothing there.

    ``partly``: whether the job restarts in part. What comes on top of a restart is no further retry.
    """
    if phase in (JobPhase.ABORTING, JobPhase.ABORTED):
        return Begin(JobPhase.RESTARTING, retry=True) if action is Action.RESUME_JOB else None
    if phase in UNDER_WAY or phase is JobPhase.RESTARTING:
        if action in _ENDS:
            return Begin(_ENDS[action])
        if action not in RESTARTS:
            return None
        if phase is not JobPhase.RESTARTING:
            return Begin(JobPhase.RESTARTING, retry=True, kill=action not in PARTIAL)
        return Begin(JobPhase.RESTARTING, kill=action not in PARTIAL) if partly else None
    return None


class Settled(NamedTuple):
    """The phase that follows, with what is said about it; empty where what was said before stays."""

    phase: JobPhase
    reason: str = ""
    message: str = ""


def settled(job: VcJob, phase: JobPhase, counts: Counts, retries: int, cleared: bool = True) -> Settled:
    """The phase that the counts lead to; the same phase where it is not over.

    ``cleared``: whether what a restart takes away is gone or on its way.
    """
    if phase is JobPhase.NEW:
        return Settled(JobPhase.PENDING)
    if phase is JobPhase.PENDING:
        there = counts.running + counts.succeeded + counts.failed
        return Settled(JobPhase.RUNNING) if job.min_available <= there else _stuck(job, phase, counts)
    if phase is JobPhase.RUNNING:
        return _running(job, counts)
    if phase is JobPhase.RESTARTING:
        return _restarting(job, counts, retries, cleared)
    if phase in _KILLED and not counts.alive:
        return Settled(_KILLED[phase])
    return Settled(phase)


def _running(job: VcJob, counts: Counts) -> Settled:
    replicas = job.replicas
    if replicas == 0:
        return Settled(JobPhase.RUNNING)
    if job.min_success is not None and counts.succeeded >= job.min_success:
        return Settled(JobPhase.COMPLETED, "MinSuccessReached", f"{_pods(counts.succeeded)} succeeded")
    if counts.succeeded + counts.failed == replicas:
        return _ended(job, counts)
    if counts.pending > replicas - job.min_available:
        return Settled(JobPhase.PENDING)
    return _stuck(job, JobPhase.RUNNING, counts)


def _stuck(job: VcJob, phase: JobPhase, counts: Counts) -> Settled:
    """A job fails whose pods have all ended while the tasks that are left wait for one that has failed."""
    lost = never_started(job, counts) if has_stages(job) and not counts.alive else []
    left = sum(task.replicas for task in job.tasks if task.name not in lost)
    if not lost or counts.succeeded + counts.failed < left:
        return Settled(phase)
    message = f"task {', '.join(lost)} cannot start: what it depends on has failed"
    return Settled(JobPhase.FAILED, "DependencyFailed", message)


def _ended(job: VcJob, counts: Counts) -> Settled:
    """What becomes of a job whose pods have all succeeded or failed."""
    said = f"{counts.succeeded} of {_pods(job.replicas)} succeeded"
    if job.min_available >= sum(task.min_available for task in job.tasks):
        for task in job.tasks:
            succeeded = counts.of(task.name, SUCCEEDED)
            if task.name in counts.tasks and succeeded < task.min_available:
                least = f"of task {task.name}, which needs {task.min_available}"
                return Settled(JobPhase.FAILED, "TooFewSucceeded", f"{_pods(succeeded)} {least}, succeeded")
    if job.min_success is not None:
        return Settled(JobPhase.FAILED, "TooFewSucceeded", f"{said}; minSuccess is {job.min_success}")
    if counts.succeeded >= job.min_available:
        return Settled(JobPhase.COMPLETED, "PodsSucceeded", said)
    return Settled(JobPhase.FAILED, "TooFewSucceeded", f"{said}; minAvailable is {job.min_available}")


def _restarting(job: VcJob, counts: Counts, retries: int, cleared: bool) -> Settled:
    if retries >= job.max_retry:
        why = f"; {job.status.message}" if job.status.message else ""
        return Settled(JobPhase.FAILED, "MaxRetryReached", f"retry {retries} of at most {job.max_retry}{why}")
    if cleared and job.replicas - counts.terminating >= job.min_available:
        return Settled(JobPhase.PENDING)
    return Settled(JobPhase.RESTARTING)


def _pods(number: int) -> str:
    return f"{number} pod{'' if number == 1 else 's'}"
