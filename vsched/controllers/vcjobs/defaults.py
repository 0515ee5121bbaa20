"""The defaults of a vcjob as changes to its object: what the webhook writes into new vcjobs, else the controller.

The values are those that ``read`` fills in. A vcjob is the same to the controller with and without them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from vsched.api import batch
from vsched.api.base import json_object
from vsched.controllers.vcjobs.read import job_of
from vsched.controllers.vcjobs.spec import Default, TaskSpec, VcJob

Data = dict[str, Any]


def defaults_of(job: batch.VolcanoJob, scheduler_name: str) -> list[Default]:
    """The fields that the job leaves out and that have defaults. None for a job without tasks, which is refused."""
    return defaults_in(job, job_of(job, scheduler_name))


def defaults_in(job: batch.VolcanoJob, read: VcJob) -> list[Default]:
    """The same, where the job has been read."""
    return [*_missing(job, read)] if job.spec.tasks else []


def lacking(job: batch.VolcanoJob, read: VcJob) -> tuple[Default, ...]:
    """Those without which Volcano's controllers would run the job otherwise.

    A task without ``minAvailable`` has all its replicas as its minimum there as well, and may be scaled down so.
    """
    return tuple(
        default
        for default in defaults_in(job, read)
        if default.path[-1] != "minAvailable" or len(default.path) == 2 or default.value != _replicas(read, default)
    )


def _replicas(read: VcJob, default: Default) -> int:
    """The replicas of the task whose field it is."""
    return read.tasks[int(default.path[2])].replicas


def with_defaults(body: Data, defaults: Iterable[Default]) -> Data:
    """A copy of the object with these fields."""
    body = copy.deepcopy(body)
    for path, value in defaults:
        place: Any = body
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value
    return body


def _missing(job: batch.VolcanoJob, read: VcJob) -> Iterator[Default]:
    spec = job.spec
    for field, written, value in (
        ("queue", spec.queue, read.queue),
        ("schedulerName", spec.scheduler_name, read.scheduler_name),
        ("maxRetry", spec.max_retry, read.max_retry),
        ("minAvailable", spec.min_available, read.min_available),
    ):
        if not written and value:
            yield Default(("spec", field), value)
    for index, (task, with_all) in enumerate(zip(spec.tasks or (), read.tasks, strict=True)):
        yield from _of_task(("spec", "tasks", index), task, with_all)
    for name, arguments in read.plugins:
        if name not in (spec.plugins or {}):
            yield Default(("spec", "plugins", name), list(arguments))


def _of_task(path: tuple[str | int, ...], task: batch.VolcanoTask, read: TaskSpec) -> Iterator[Default]:
    if not task.name:
        yield Default((*path, "name"), read.name)
    if task.min_available is None:
        yield Default((*path, "minAvailable"), read.min_available)
    if not task.max_retry:
        yield Default((*path, "maxRetry"), read.max_retry)
    written, whole = json_object(task.template).get("spec"), read.template.get("spec")
    if isinstance(written, dict) and isinstance(whole, dict):
        for field in whole:
            if written.get(field) != whole[field]:
                yield Default((*path, "template", "spec", field), whole[field])
