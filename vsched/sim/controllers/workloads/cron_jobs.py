"""What to do for a CronJob: the Job that is due, Jobs to delete, and when to reconcile again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_true, reference_to
from vsched.apimachinery.meta.times import format_time, parse_time
from vsched.apimachinery.workloads.actions import Action, After, Create, delete, set_status
from vsched.model.amounts.schedules import newest_before, next_after

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def reconcile(cron_job: Obj, jobs: Sequence[Obj], now: datetime) -> list[Action]:
    """``jobs`` are those the CronJob controls."""
    spec, old = cron_job["spec"], cron_job.get("status") or {}
    active = [job for job in jobs if not _ended(job)]
    actions: list[Action] = [*_too_old(spec, jobs)]
    scheduled: datetime | None = None
    if not spec.get("suspend"):
        scheduled = _due(cron_job, now)
        again = next_after(spec["schedule"], _last(cron_job), _local(cron_job, now))
        actions.append(After((again - now).total_seconds()))
    if scheduled is not None and active and spec.get("concurrencyPolicy") == "Forbid":
        scheduled = None
    if scheduled is not None:
        if spec.get("concurrencyPolicy") == "Replace":
            actions += [delete("batch/jobs", job) for job in active]
            active = []
        job = _job(cron_job, scheduled)
        if all(each["metadata"]["name"] != job["metadata"]["name"] for each in jobs):
            actions.append(Create("batch/jobs", job))
    status = _status(old, active, jobs, scheduled)
    return [*actions, *set_status("batch/cronjobs", cron_job, status)]


def _due(cron_job: Obj, now: datetime) -> datetime | None:
    """The newest time of the schedule without a Job; None if there is none, or its deadline has passed."""
    last = _last(cron_job)
    found = newest_before(cron_job["spec"]["schedule"], last, _local(cron_job, now))
    if found <= last:
        return None
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    return None if deadline is not None and now - found > timedelta(seconds=deadline) else found


def _last(cron_job: Obj) -> datetime:
    stated = (cron_job.get("status") or {}).get("lastScheduleTime")
    return parse_time(stated or cron_job["metadata"]["creationTimestamp"])


def _local(cron_job: Obj, now: datetime) -> datetime:
    zone: tzinfo = UTC
    if cron_job["spec"].get("timeZone"):
        zone = ZoneInfo(cron_job["spec"]["timeZone"])
    return now.astimezone(zone)


def _job(cron_job: Obj, scheduled: datetime) -> Obj:
    metadata, template = cron_job["metadata"], cron_job["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{metadata['name']}-{int(scheduled.timestamp()) // 60}",
            "namespace": metadata["namespace"],
            "labels": dict(given.get("labels") or {}),
            "annotations": {**(given.get("annotations") or {}), SCHEDULED_AT: format_time(scheduled)},
            "ownerReferences": [reference_to(cron_job, "batch/v1", "CronJob")],
        },
        "spec": template.get("spec") or {},
    }


def _ended(job: Obj) -> str:
    """How a Job ended: Complete or Failed; empty while it runs."""
    return next((end for end in ("Complete", "Failed") if is_true(job, end)), "")


def _too_old(spec: Obj, jobs: Sequence[Obj]) -> list[Action]:
    """Deletes the oldest ended Jobs beyond the history limits."""
    actions: list[Action] = []
    for end, limit in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
        ended = sorted((job for job in jobs if _ended(job) == end), key=_age)
        keep = spec.get(limit, len(ended))
        actions += [delete("batch/jobs", job) for job in ended[: max(0, len(ended) - keep)]]
    return actions


def _age(job: Obj) -> tuple[str, str]:
    return str((job.get("status") or {}).get("startTime", "")), str(job["metadata"]["name"])


def _status(old: Obj, active: Sequence[Obj], jobs: Sequence[Obj], scheduled: datetime | None) -> Obj:
    status = {key: value for key, value in old.items() if key != "active"}
    if active:
        status["active"] = [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": job["metadata"]["name"],
                "namespace": job["metadata"]["namespace"],
                "uid": job["metadata"]["uid"],
            }
            for job in active
        ]
    if scheduled is not None:
        status["lastScheduleTime"] = format_time(scheduled)
    done = [(job.get("status") or {}).get("completionTime") for job in jobs if _ended(job) == "Complete"]
    newest = max((time for time in done if time), default="")
    if newest > status.get("lastSuccessfulTime", ""):
        status["lastSuccessfulTime"] = newest
    return status
