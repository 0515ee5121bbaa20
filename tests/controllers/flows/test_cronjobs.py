"""CronJobs of Volcano: which vcjob is due when, what gives way, what is cleaned up, and that no run is made twice."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched import api
from vsched.controllers.flows import words
from vsched.controllers.flows.cronjobs import SCHEDULED_AT, CronJob, CronPlan, cron_job_of, decide
from vsched.controllers.flows.made import MadeJob
from vsched.kube.times import time_stamp

Obj = dict[str, Any]
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC).timestamp()
MINUTE = 60.0


def cron(schedule: str = "*/10 * * * *", *, last: float = NOON, **fields: Any) -> CronJob:
    """A CronJob that was last scheduled at noon."""
    status = {"lastScheduleTime": time_stamp(last)} if last else {}
    return CronJob("x", "c", "u", "7", NOON - 90.0, schedule, **{"status": status, **fields})


def made(at: float, phase: str = "Running", **fields: Any) -> MadeJob:
    """The vcjob of a time."""
    name = f"c-{int(at) // 60}"
    return MadeJob("x", name, f"uid-{name}", "CronJob.batch.volcano.sh x/c", "u", phase, at, at + 5.0, **fields)


def started(plan: CronPlan) -> str:
    """The time for which a vcjob is made."""
    return "" if plan.create is None else str(plan.create["metadata"]["annotations"][SCHEDULED_AT])


DUE = NOON + 10 * MINUTE


@pytest.mark.parametrize(
    ("job", "jobs", "now", "wanted"),
    [
        pytest.param(cron(), [], DUE - 0.5, "", id="nothing is made half a second early"),
        pytest.param(cron(), [], DUE, "2026-03-01T12:10:00Z", id="a vcjob is made when it is due"),
        pytest.param(
            cron(last=0), [], NOON, "2026-03-01T12:00:00Z", id="the first run is the first after its creation"
        ),
        pytest.param(cron(), [], DUE + 5 * 60 * MINUTE, "2026-03-01T17:10:00Z", id="of missed runs the newest is made"),
        pytest.param(
            cron(deadline_seconds=10**11), [], DUE, "2026-03-01T12:10:00Z", id="a deadline longer than there are years"
        ),
        pytest.param(cron("@every 1ns"), [], DUE, "", id="none at a schedule shorter than a second"),
        pytest.param(cron("@every 1s"), [], DUE, "2026-03-01T12:10:00Z", id="at one of a second"),
        pytest.param(cron(deadline_seconds=60), [], DUE + 61, "", id="a run that is too late is left out"),
        pytest.param(cron(deadline_seconds=60), [], DUE + 60, "", id="at its deadline it is too late"),
        pytest.param(cron(deadline_seconds=60), [], DUE + 59, "2026-03-01T12:10:00Z", id="a little late is in time"),
        pytest.param(cron(suspended=True), [], DUE, "", id="none while it is suspended"),
        pytest.param(cron(deleting=True), [], DUE, "", id="none while it is being deleted"),
        pytest.param(cron(), [made(NOON)], DUE, "2026-03-01T12:10:00Z", id="Allow: beside one that runs"),
        pytest.param(cron(concurrency="Forbid"), [made(NOON)], DUE, "", id="Forbid: not beside one that runs"),
        pytest.param(
            cron(concurrency="Forbid"),
            [made(NOON, "Completed")],
            DUE + 30,
            "2026-03-01T12:10:00Z",
            id="Forbid: after it",
        ),
        pytest.param(cron(concurrency="Forbid"), [made(NOON, "Aborted")], DUE, "", id="an aborted one may be resumed"),
        pytest.param(cron(), [made(DUE, "")], DUE, "", id="a run whose vcjob is there is not made again"),
        pytest.param(
            cron("30 2 * * *", zone="Asia/Tokyo", last=NOON),
            [],
            datetime(2026, 3, 1, 17, 30, tzinfo=UTC).timestamp(),
            "2026-03-02T02:30:00+09:00",
            id="the schedule is in its time zone",
        ),
    ],
)
def test_what_is_made(job: CronJob, jobs: list[MadeJob], now: float, wanted: str) -> None:
    assert started(decide(job, jobs, now)) == wanted


@pytest.mark.parametrize(
    ("job", "jobs", "now", "wanted"),
    [
        pytest.param(cron(), [], DUE, "", id="in time"),
        pytest.param(
            cron(deadline_seconds=60),
            [],
            DUE + 61,
            f"MissSchedule: {words.run_was_missed('2026-03-01T12:10:00Z')}",
            id="a run is too late",
        ),
        pytest.param(
            cron(concurrency="Forbid"),
            [made(NOON)],
            DUE,
            "ForbidConcurrent: the run of 2026-03-01T12:10:00Z waits: vcjob c-29539440 has not ended",
            id="a run waits for the one before",
        ),
        pytest.param(cron(), [], NOON + 100 * 10 * MINUTE, "", id="a hundred were missed"),
        pytest.param(cron(), [], NOON + 101 * 10 * MINUTE, "TooManyMissedTimes", id="more than a hundred"),
        pytest.param(cron("@every 1m"), [], NOON + 101 * MINUTE, "TooManyMissedTimes", id="the same by @every"),
        pytest.param(
            cron(deadline_seconds=600), [], NOON + 500 * 10 * MINUTE, "", id="only those before the deadline count"
        ),
        pytest.param(
            cron("30 2 * * *", zone="Asia/Tokyo", last=NOON),
            [],
            NOON + 101.5 * 24 * 60 * MINUTE,
            "TooManyMissedTimes",
            id="in a time zone",
        ),
    ],
)
def test_what_is_told_of_runs_that_were_missed(job: CronJob, jobs: list[MadeJob], now: float, wanted: str) -> None:
    reason, message = decide(job, jobs, now).problem
    assert f"{reason}: {message}".startswith(wanted) if wanted else not reason


def test_names_labels_and_owner_are_volcanos() -> None:
    job = cron(labels={"team": "a"}, annotations={"note": "b"}, spec={"queue": "q"})
    body = decide(job, [], DUE).create
    assert body is not None
    assert body["metadata"] == {
        "name": f"c-{int(DUE) // 60}",
        "namespace": "x",
        "labels": {"team": "a"},
        "annotations": {"note": "b", SCHEDULED_AT: "2026-03-01T12:10:00Z"},
        "ownerReferences": [
            {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "name": "c", "uid": "u", "controller": True}
        ],
    }
    assert body["spec"] == {"queue": "q"}


def test_a_new_run_takes_the_place_of_those_that_run() -> None:
    gone = made(NOON - MINUTE, deleting=True)
    plan = decide(cron(concurrency="Replace"), [made(NOON), made(NOON - 2 * MINUTE, "Failed"), gone], DUE)
    assert [job.name for job in plan.replace] == [made(NOON).name]
    assert started(plan)


def test_the_status_names_what_runs_and_the_last_times() -> None:
    done = made(NOON - 10 * MINUTE, "Completed")
    plan = decide(cron(), [made(DUE, "Pending"), done], DUE + 1.0)
    assert plan.status == {
        "active": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "namespace": "x",
                "name": made(DUE).name,
                "uid": made(DUE).uid,
            }
        ],
        "lastScheduleTime": "2026-03-01T12:10:00Z",
        "lastSuccessfulTime": "2026-03-01T11:50:05Z",
    }
    again = decide(cron(status=plan.status), [made(DUE, "Pending"), done], DUE + 2.0)
    assert (again.status, again.create) == (None, None)


def test_it_is_looked_at_again_for_the_next_run() -> None:
    assert decide(cron(), [], NOON + 1.0).wake_at == DUE
    assert decide(cron(suspended=True), [], NOON).wake_at is None


def test_ended_runs_beyond_the_limits_are_deleted_oldest_first() -> None:
    jobs = [made(NOON - count * MINUTE, "Completed") for count in range(5)]
    jobs += [made(NOON - (10 + count) * MINUTE, phase) for count, phase in enumerate(("Failed", "Terminated"))]
    plan = decide(cron(), [*jobs, made(NOON - 20 * MINUTE)], NOON + 1.0)
    assert [job.created for job in plan.delete] == [NOON - 4 * MINUTE, NOON - 3 * MINUTE, NOON - 11 * MINUTE]
    assert decide(cron(kept_successful=9, kept_failed=9), jobs, NOON + 1.0).delete == ()


@pytest.mark.parametrize(
    ("job", "reason", "message"),
    [
        pytest.param(cron("61 * * * *"), "UnParseableCronJobSchedule", "spec.schedule: '61 * * * *'", id="schedule"),
        pytest.param(cron("* * * * * *"), "UnParseableCronJobSchedule", "exactly 5 fields", id="too many fields"),
        pytest.param(cron("@now"), "UnParseableCronJobSchedule", "@daily", id="what is expected is said"),
        pytest.param(cron("0 0 30 2 *"), "UnParseableCronJobSchedule", "never comes", id="a day that there is not"),
        pytest.param(cron(zone="Mars/Olympus"), "InvalidTimeZone", "spec.timeZone: 'Mars/Olympus'", id="time zone"),
        pytest.param(cron(zone="../etc"), "InvalidTimeZone", "spec.timeZone: '../etc'", id="a path is no time zone"),
    ],
)
def test_a_schedule_that_cannot_be_followed_is_told(job: CronJob, reason: str, message: str) -> None:
    plan = decide(job, [], DUE)
    assert plan.create is None
    assert plan.problem[0] == reason
    assert message in plan.problem[1]


def test_what_is_not_stated_has_kubernetes_defaults() -> None:
    found = api.decode(
        api.VOLCANO_CRON_JOB,
        b'{"metadata":{"name":"c","namespace":"x"},"spec":{"schedule":"@daily","jobTemplate":{}}}',
    )
    assert isinstance(found, api.VolcanoCronJob)
    read = cron_job_of(found)
    assert (read.concurrency, read.suspended, read.kept_successful, read.kept_failed) == ("Allow", False, 3, 1)


# -- whole lives, with processes that are killed between any two writes


class Store:
    """What the API server has of one CronJob. A write that fails is one before which the process was killed."""

    def __init__(self, job: CronJob) -> None:
        self.cron = job
        self.jobs: dict[str, MadeJob] = {}
        self.ever: list[str] = []

    def look(self, now: float, writes: int) -> None:
        """One look of a process that is killed after so many writes."""
        plan = decide(self.cron, [*self.jobs.values()], now)
        if plan.create is not None:
            for job in plan.replace:
                if not writes:
                    return
                writes -= 1
                del self.jobs[job.name]
            if not writes:
                return
            writes -= 1
            name = plan.create["metadata"]["name"]
            assert name not in self.jobs
            self.jobs[name] = MadeJob("x", name, name, "", "u", "Running", now, now)
            self.ever.append(name)
            plan = decide(self.cron, [*self.jobs.values()], now)
            assert plan.create is None
        if plan.status is not None:
            if not writes:
                return
            writes -= 1
            self.cron = msgspec.structs.replace(self.cron, status=plan.status)
        for job in plan.delete[:writes]:
            del self.jobs[job.name]


STEPS = st.lists(st.tuples(st.integers(1, 400), st.integers(0, 4), st.booleans()), max_size=40)


@given(STEPS, st.sampled_from(("Allow", "Forbid", "Replace")))
def test_however_often_the_process_is_killed_no_run_is_made_twice(
    steps: list[tuple[int, int, bool]], concurrency: str
) -> None:
    store, now = Store(cron("* * * * *", concurrency=concurrency)), NOON
    for seconds, writes, ends in steps:
        now += seconds
        if ends:
            store.jobs = {name: msgspec.structs.replace(job, phase="Completed") for name, job in store.jobs.items()}
        store.look(now, writes)
        active = [job for job in store.jobs.values() if job.phase == "Running"]
        assert concurrency == "Allow" or len(active) <= 1
    assert len(store.ever) == len(set(store.ever))
    store.jobs = {name: msgspec.structs.replace(job, phase="Completed") for name, job in store.jobs.items()}
    store.look(now + 60.0, 100)
    assert f"c-{int(now + 60.0) // 60}" in store.ever, "the run that is due now is made"
    assert sum(job.phase == "Completed" for job in store.jobs.values()) <= 3
