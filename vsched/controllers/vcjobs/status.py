"""The status of a vcjob as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsched.controllers.vcjobs.counts import PodsByPhase
from vsched.controllers.vcjobs.spec import JobPhase, JobStatus, VcJob
from vsched.controllers.vcjobs.states import FINISHED
from vsched.kube.times import time_stamp

CONDITIONS_KEPT = 64
"""The latest conditions that are kept: one for each change of the phase."""


def status_body(job: VcJob, after: JobStatus, counts: PodsByPhase, now: float) -> dict[str, Any]:
    """The whole status; equal to ``job.status.body`` where nothing has changed."""
    before = job.status.body
    changed = after.phase is not job.status.phase
    state = {"phase": after.phase.value, "reason": after.reason, "message": after.message}
    conditions = before.get("conditions", [])
    if changed:
        state["lastTransitionTime"] = time_stamp(now)
        conditions = [*conditions, {"status": after.phase.value, "lastTransitionTime": time_stamp(now)}]
    elif job.status.since:
        state["lastTransitionTime"] = time_stamp(job.status.since)
    lasted = go_duration(now - job.created) if changed and _ends(after.phase) else before.get("runningDuration")
    return compact(
        {
            "state": compact(state),
            "minAvailable": job.min_available,
            "taskStatusCount": {task: {"phase": dict(of)} for task, of in sorted(counts.tasks.items())},
            "pending": counts.pending,
            "running": counts.running,
            "succeeded": counts.succeeded,
            "failed": counts.failed,
            "terminating": counts.terminating,
            "unknown": counts.unknown,
            "version": after.version,
            "retryCount": after.retries,
            "runningDuration": lasted,
            "controlledResources": dict(after.controlled),
            "conditions": conditions[-CONDITIONS_KEPT:],
        }
    )


def compact(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are neither zero nor empty: the API leaves the others out."""
    return {name: value for name, value in fields.items() if value}


def go_duration(seconds: float) -> str:
    """A duration as Go writes it, to the second: ``1h2m3s``."""
    minutes, rest = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{f'{hours}h' if hours else ''}{f'{minutes}m' if hours or minutes else ''}{rest}s"


def _ends(phase: JobPhase) -> bool:
    return phase in FINISHED or phase is JobPhase.ABORTED
