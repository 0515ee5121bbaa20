"""Vcjobs that restart: what their pods will ask for when they come back."""

from __future__ import annotations

import msgspec

from vsched import api
from vsched.api.base import Wire, seconds_of
from vsched.api.batch import VolcanoTask
from vsched.api.pods import Pod, PodSpec
from vsched.errors import UNUSABLE
from vsched.mirror.ingest.requests import request_of
from vsched.model.amounts.resources import Amounts, Columns, Vector, add

LEAVING_SECONDS, COMING_SECONDS = 300.0, 60.0
"""How long a job may take until its old pods are gone, and then until the new ones are there."""
_SECONDS = {"Restarting": LEAVING_SECONDS, "Pending": COMING_SECONDS, "Running": COMING_SECONDS}
"""By the phases of a vcjob that restarts: it runs again with its minimum, while others of its pods are yet to come."""
RESUMED = "ResumeJob"
"""The reason of a restart that comes after a pause: until then the job held nothing."""


class _Template(Wire):
    """A template of pods."""

    spec: PodSpec


class Restart(msgspec.Struct, frozen=True):
    """A vcjob whose pods are being made anew."""

    queue: str
    group: str
    """The key of its PodGroup."""
    until: float
    """Until when its pods are waited for, in seconds since the epoch."""
    pods: int
    total: Amounts
    """What all of them ask for. Those of tasks that wait for others do not count, as they come later."""


def restart_of(job: api.VolcanoJob, axis: Columns) -> Restart | None:
    """The restart of a vcjob; None where it does not restart, or its pods cannot be read."""
    state, status, metadata = job.status.state, job.status, job.metadata
    seconds = _SECONDS.get(state.phase)
    if seconds is None or state.reason == RESUMED or not (status.version or status.retry_count):
        return None
    total: Vector = {}
    tasks = [task for task in job.spec.tasks or () if task.depends_on is None]
    try:
        for task in tasks:
            add(total, ((column, amount * task.replicas) for column, amount in _request(task, axis)))
    except UNUSABLE:
        return None
    group = f"{metadata.namespace}/{metadata.name}-{metadata.uid}"
    pods, until = sum(task.replicas for task in tasks), seconds_of(state.last_transition_time) + seconds
    return Restart(job.spec.queue or "default", group, until, pods, tuple(sorted(total.items())))


def _request(task: VolcanoTask, axis: Columns) -> Amounts:
    template = msgspec.json.decode(task.template, type=_Template)
    return request_of(Pod(api.Metadata(), template.spec), axis).amounts
