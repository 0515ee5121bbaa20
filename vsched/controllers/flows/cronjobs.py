"""What to do about a CronJob of Volcano: the vcjob that is due, those to delete, and its status. Pure.

The name of a vcjob follows from the minute for which it is scheduled. So a run whose status could not be written is
found again, and is not made twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from vsched import api
from vsched.api.base import Timestamp, json_object, part_of, seconds_of
from vsched.api.resources import VCJOBS, VOLCANO_CRON_JOB, VOLCANO_CRON_JOBS
from vsched.controllers.flows import words
from vsched.controllers.flows.made import FAILED, Body, MadeJob, maker_key
from vsched.controllers.podgroups import PodGroupOwner
from vsched.controllers.vcjobs.spec import JobPhase
from vsched.controllers.vcjobs.states import FINISHED
from vsched.kube.times import time_stamp
from vsched.model.amounts.schedules import newest_before, next_after, problem_of
from vsched.writes.bodies import ObjectReference

SCHEDULED_AT = "volcano.sh/cronjob-scheduled-timestamp"
"""Annotation of a vcjob: the time for which it is scheduled."""
KEPT_SUCCESSFUL, KEPT_FAILED = 3, 1
"""The history limits where the CronJob states none."""
MISSED_MAX = 100
"""More missed runs are told."""
FORBID, REPLACE = "Forbid", "Replace"


class CronJob(msgspec.Struct, frozen=True):
    """A CronJob with every default filled in."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: float
    schedule: str
    zone: str = ""
    deadline_seconds: int | None = None
    concurrency: str = "Allow"
    suspended: bool = False
    kept_successful: int = KEPT_SUCCESSFUL
    kept_failed: int = KEPT_FAILED
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec: Mapping[str, Any] = {}
    """The spec of the vcjobs."""
    status: Mapping[str, Any] = {}
    deleting: bool = False

    @property
    def key(self) -> str:
        return maker_key(VOLCANO_CRON_JOB, self.namespace, self.name)

    @property
    def reference(self) -> ObjectReference:
        """The object reference for Events about it."""
        return ObjectReference(VOLCANO_CRON_JOBS.api_version, "CronJob", self.namespace, self.name, self.uid)


class CronPlan(NamedTuple):
    """What is to be written, in this order. After a creation, the plan is made again with the new vcjob."""

    replace: tuple[MadeJob, ...] = ()
    """Those that give way to the new one."""
    create: Body | None = None
    status: Body | None = None
    """The whole new status; None where it stays."""
    delete: tuple[MadeJob, ...] = ()
    """Ended ones beyond the history limits."""
    problem: tuple[str, str] = ("", "")
    """Reason and message, where the schedule cannot be followed, or where runs were missed."""
    wake_at: float | None = None
    """When the next run is due, in seconds since the epoch."""


class _Template(msgspec.Struct):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


def cron_job_of(item: api.VolcanoCronJob) -> CronJob:
    """The CronJob with its defaults."""
    metadata, spec = item.metadata, item.spec
    template = part_of(spec.job_template.metadata, _Template) or _Template()
    successful, failed = spec.successful_jobs_history_limit, spec.failed_jobs_history_limit
    return CronJob(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created=seconds_of(metadata.creation_timestamp),
        schedule=spec.schedule,
        zone=spec.time_zone or "",
        deadline_seconds=spec.starting_deadline_seconds,
        concurrency=spec.concurrency_policy or "Allow",
        suspended=bool(spec.suspend),
        kept_successful=KEPT_SUCCESSFUL if successful is None else successful,
        kept_failed=KEPT_FAILED if failed is None else failed,
        labels=template.labels or {},
        annotations=template.annotations or {},
        spec=json_object(spec.job_template.spec),
        status=item.status or {},
        deleting=metadata.deletion_timestamp is not None,
    )


def decide(cron: CronJob, jobs: Sequence[MadeJob], now: float) -> CronPlan:
    """The next step; ``jobs`` are those that the CronJob controls."""
    if cron.deleting:
        return CronPlan()
    there = [job for job in jobs if not job.deleting]
    active = sorted((job for job in there if job.phase not in FINISHED), key=_age)
    problem = schedule_problem(cron)
    if problem[0] or cron.suspended:
        return CronPlan(status=_status(cron, active, jobs, 0.0), delete=_too_old(cron, there), problem=problem)
    moment = datetime.fromtimestamp(now, ZoneInfo(cron.zone) if cron.zone else UTC)
    last = datetime.fromtimestamp(_last(cron), UTC)
    wake_at = next_after(cron.schedule, last, moment).timestamp()
    due = newest_before(cron.schedule, last, moment).timestamp()
    name = job_name(cron, due)
    made = any(job.name == name for job in jobs)
    if due <= last.timestamp():
        due = 0.0
    elif not made:
        problem = _why_not(cron, active, due, now)
        if not problem[0]:
            replaced = tuple(active) if cron.concurrency == REPLACE else ()
            body = job_body(cron, due, moment.tzinfo or UTC)
            return CronPlan(replaced, body, problem=_many_missed(cron, last, moment), wake_at=wake_at)
        due = 0.0
    return CronPlan(
        status=_status(cron, active, jobs, due), delete=_too_old(cron, there), problem=problem, wake_at=wake_at
    )


def schedule_problem(cron: CronJob) -> tuple[str, str]:
    """Why the schedule cannot be followed, as reason and message; both empty where it can."""
    why = problem_of(cron.schedule)
    if why:
        expected = words.SCHEDULE_FIELDS
        return "UnParseableCronJobSchedule", f"spec.schedule: {cron.schedule!r}: {why} ({expected})"
    try:
        if cron.zone:
            ZoneInfo(cron.zone)
    except (KeyError, ValueError, OSError):
        return "InvalidTimeZone", words.unknown_time_zone(cron.zone)
    return "", ""


def _last(cron: CronJob) -> float:
    """When it was last scheduled; its creation where it never was."""
    stated = cron.status.get("lastScheduleTime")
    try:
        return seconds_of(msgspec.convert(stated, Timestamp)) or cron.created
    except msgspec.ValidationError:
        return cron.created


def _why_not(cron: CronJob, active: Sequence[MadeJob], due: float, now: float) -> tuple[str, str]:
    """Reason and message, where the run of a time is not begun now; empty where it is."""
    if cron.deadline_seconds is not None and now - due >= cron.deadline_seconds:
        return "MissSchedule", words.run_was_missed(time_stamp(due))
    if cron.concurrency == FORBID and active:
        return "ForbidConcurrent", words.run_waits(time_stamp(due), active[0].name)
    return "", ""


def _many_missed(cron: CronJob, last: datetime, now: datetime) -> tuple[str, str]:
    """Reason and message, where more runs were missed than happens if all is well. The newest is made nevertheless.

    The number is estimated from the first two, as Kubernetes does it.
    """
    since = last.astimezone(now.tzinfo)
    # A deadline may be of any length, and longer than there are years.
    if cron.deadline_seconds is not None and cron.deadline_seconds < (now - since).total_seconds():
        since = now - timedelta(seconds=cron.deadline_seconds)
    first = next_after(cron.schedule, since, since)
    between = next_after(cron.schedule, since, first.astimezone(now.tzinfo)) - first
    if (now - first) // between + 1 <= MISSED_MAX:
        return "", ""
    return "TooManyMissedTimes", (words.TOO_MANY_MISSED)


def job_name(cron: CronJob, due: float) -> str:
    """The name of the vcjob for a time of the schedule, as Volcano makes it."""
    return f"{cron.name}-{int(due) // 60}"


def job_body(cron: CronJob, due: float, zone: tzinfo) -> Body:
    """The vcjob for a time of the schedule."""
    stamp = datetime.fromtimestamp(due, zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    owner = PodGroupOwner(VOLCANO_CRON_JOBS.api_version, "CronJob", cron.name, cron.uid)
    return {
        "apiVersion": VCJOBS.api_version,
        "kind": "Job",
        "metadata": {
            "name": job_name(cron, due),
            "namespace": cron.namespace,
            "labels": dict(cron.labels),
            "annotations": {**cron.annotations, SCHEDULED_AT: stamp},
            "ownerReferences": [owner.as_object()],
        },
        "spec": dict(cron.spec),
    }


def _too_old(cron: CronJob, jobs: Sequence[MadeJob]) -> tuple[MadeJob, ...]:
    """The oldest ended vcjobs beyond the history limits."""
    found: list[MadeJob] = []
    for phases, kept in ((frozenset((JobPhase.COMPLETED,)), cron.kept_successful), (FAILED, cron.kept_failed)):
        ended = sorted((job for job in jobs if job.phase in phases), key=_age)
        found += ended[: max(0, len(ended) - kept)]
    return tuple(found)


def _age(job: MadeJob) -> tuple[float, str]:
    return job.created, job.name


def _status(cron: CronJob, active: Sequence[MadeJob], jobs: Sequence[MadeJob], scheduled: float) -> Body | None:
    """The whole status; None where it stays. ``scheduled`` is the time of a new run, 0 where there is none."""
    status = {name: value for name, value in cron.status.items() if name != "active"}
    if active:
        status["active"] = [
            {
                "apiVersion": VCJOBS.api_version,
                "kind": "Job",
                "namespace": job.namespace,
                "name": job.name,
                "uid": job.uid,
            }
            for job in active
        ]
    if scheduled:
        status["lastScheduleTime"] = time_stamp(scheduled)
    successes = (job.since for job in jobs if job.phase == JobPhase.COMPLETED and job.since)
    newest = max(successes, default=0.0)
    if newest and time_stamp(newest) > str(status.get("lastSuccessfulTime", "")):
        status["lastSuccessfulTime"] = time_stamp(newest)
    return None if status == cron.status else status
