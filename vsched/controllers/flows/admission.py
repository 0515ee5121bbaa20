"""What is wrong with a new CronJob, JobFlow or JobTemplate of Volcano, one line each with the field. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec
from msgspec.structs import replace

from vsched import api
from vsched.api.base import Metadata, Raw
from vsched.api.resources import VCJOB
from vsched.controllers.flows import words
from vsched.controllers.flows.cronjobs import cron_job_of, schedule_problem
from vsched.controllers.flows.jobflows import job_flow_of, problems
from vsched.controllers.vcjobs.read import job_of
from vsched.errors import BadObject

LONGEST_NAME = 52
"""The longest name of a CronJob: the names of its vcjobs have eleven characters more, and at most 63."""

Maker = api.VolcanoCronJob | api.JobFlow | api.JobTemplate


def maker_refusals(found: Maker, scheduler_names: Container[str]) -> list[str]:
    """Why nothing could be made of the object as it is written.

    Vcjobs for other schedulers than these are not judged. Queues are looked for when vcjobs are made.
    """
    if isinstance(found, api.VolcanoCronJob):
        return [*_of_cron_job(found, scheduler_names)]
    if isinstance(found, api.JobFlow):
        return [*problems(job_flow_of(found))]
    return [*_of_template("", found.metadata, found.spec, scheduler_names)]


def _of_cron_job(found: api.VolcanoCronJob, names: Container[str]) -> Iterator[str]:
    name = found.metadata.name
    if len(name) > LONGEST_NAME:
        yield words.long_name(len(name), LONGEST_NAME)
    if found.spec.time_zone == "":
        yield words.NO_TIME_ZONE
    _, problem = schedule_problem(cron_job_of(found))
    if problem:
        yield problem
    # The vcjobs are called after the CronJob and the minute, which has eight digits.
    made = replace(found.metadata, name=f"{name}-{0:08}")
    yield from _of_template("spec.jobTemplate.", made, found.spec.job_template.spec, names)


def _of_template(path: str, metadata: Metadata, spec: Raw, names: Container[str]) -> Iterator[str]:
    """What is wrong with the vcjobs that are made of this spec."""
    body = {"metadata": {"name": metadata.name, "namespace": metadata.namespace}, "spec": spec if bytes(spec) else {}}
    try:
        job = api.decode(VCJOB, msgspec.json.encode(body))
    except BadObject as error:
        yield f"{path}spec: {error}"
        return
    assert isinstance(job, api.VolcanoJob)
    if not job.spec.scheduler_name or job.spec.scheduler_name in names:
        yield from (f"{path}{line}" for line in job_of(job).refusals)
