"""CronJobs: which Job is due when, what concurrency and history limits take away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from vsched.apimachinery.meta.times import format_time
from vsched.apimachinery.workloads.actions import After, Create, Delete, SetStatus
from vsched.model.amounts.schedules import problem_of
from vsched.sim.controllers.workloads.cron_jobs import SCHEDULED_AT, reconcile

Obj = dict[str, Any]
MADE = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)


def cron_job(schedule: str = "*/10 * * * *", status: Obj | None = None, **spec: Any) -> Obj:
    metadata = {"name": "c", "namespace": "x", "uid": "u", "creationTimestamp": format_time(MADE)}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {}}}
    return {
        "metadata": metadata,
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
        "status": status or {},
    }


def job(name: str, end: str = "", started: str = "") -> Obj:
    conditions = [{"type": end, "status": "True"}] if end else []
    status = {"conditions": conditions, "startTime": started, **({"completionTime": started} if end else {})}
    return {"metadata": {"name": name, "namespace": "x", "uid": name}, "status": status}


def at(minute: int, second: int = 0, **more: float) -> datetime:
    return datetime(2026, 3, 1, 12, minute, second, tzinfo=UTC) + timedelta(**more)


def created(actions: list[Any]) -> list[str]:
    return [each.obj["metadata"]["annotations"][SCHEDULED_AT] for each in actions if isinstance(each, Create)]


@pytest.mark.parametrize(
    ("made", "now", "due"),
    [
        pytest.param(cron_job(), at(5), [], id="nothing before the first time"),
        pytest.param(cron_job(), at(10), ["2026-03-01T12:10:00Z"], id="a Job when its time has come"),
        pytest.param(cron_job(), at(35), ["2026-03-01T12:30:00Z"], id="of several that were missed the last one"),
        pytest.param(cron_job(status={"lastScheduleTime": "2026-03-01T12:10:00Z"}), at(15), [], id="none twice"),
        pytest.param(cron_job(suspend=True), at(10), [], id="none while suspended"),
        pytest.param(cron_job(startingDeadlineSeconds=60), at(12), [], id="none after its deadline"),
        pytest.param(cron_job("@every 90s"), at(4), ["2026-03-01T12:03:30Z"], id="every so often since it was made"),
        pytest.param(
            cron_job("0 14 * * *", timeZone="Europe/Berlin"), at(0, hours=1), ["2026-03-01T13:00:00Z"], id="a time zone"
        ),
        pytest.param(cron_job("@hourly"), at(0, hours=1), ["2026-03-01T13:00:00Z"], id="by name"),
    ],
)
def test_what_is_due(made: Obj, now: datetime, due: list[str]) -> None:
    actions = reconcile(made, [], now)
    assert created(actions) == due
    assert [each.status["lastScheduleTime"] for each in actions if isinstance(each, SetStatus)] == due


def test_it_looks_again_at_the_next_time() -> None:
    [wait] = [each for each in reconcile(cron_job(), [], at(12)) if isinstance(each, After)]
    assert wait.seconds == 480


@pytest.mark.parametrize(
    ("policy", "made", "deleted"),
    [
        pytest.param("Allow", 1, [], id="beside the one before"),
        pytest.param("Forbid", 0, [], id="not while one runs"),
        pytest.param("Replace", 1, ["old"], id="in place of the one before"),
    ],
)
def test_what_becomes_of_one_that_still_runs(policy: str, made: int, deleted: list[str]) -> None:
    actions = reconcile(cron_job(concurrencyPolicy=policy), [job("old")], at(10))
    assert len(created(actions)) == made
    assert [each.name for each in actions if isinstance(each, Delete)] == deleted


def test_a_job_that_is_there_is_not_made_again() -> None:
    [made] = [each.obj for each in reconcile(cron_job(), [], at(10)) if isinstance(each, Create)]
    assert made["metadata"]["labels"] == {"a": "b"}
    assert created(reconcile(cron_job(), [job(made["metadata"]["name"])], at(10))) == []


def test_the_oldest_that_have_ended_go() -> None:
    ended = [job(f"c{number}", "Complete", f"2026-03-01T11:0{number}:00Z") for number in range(3)]
    failed = [job(f"f{number}", "Failed", f"2026-03-01T11:0{number}:00Z") for number in range(2)]
    made = cron_job(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    actions = reconcile(made, [*ended, *failed], at(5))
    assert [each.name for each in actions if isinstance(each, Delete)] == ["c0", "c1", "f0", "f1"]
    [status] = [each.status for each in actions if isinstance(each, SetStatus)]
    assert status == {"lastSuccessfulTime": "2026-03-01T11:02:00Z"}


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("*/5 * * * *", ""),
        ("@daily", ""),
        ("@every 1h30m", ""),
        ("* * * *", "expected exactly 5 fields, found 4"),
        ("* * * * * *", "expected exactly 5 fields, found 6"),
        ("61 * * * *", "failed to parse"),
        ("@every now", "failed to parse duration"),
        ("@never", "failed to parse"),
    ],
)
def test_schedules_are_checked(schedule: str, problem: str) -> None:
    found = problem_of(schedule)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)
