"""The state machine of vcjobs: every phase with every action, and what the counts of the pods lead to."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.counts import PodsByPhase
from vsched.controllers.vcjobs.spec import JobAction, JobPhase, JobStatus, VcJob
from vsched.controllers.vcjobs.states import Begin, begun, settled

P = JobPhase
RESTART_PART = (JobAction.RESTART_TASK, JobAction.RESTART_POD, JobAction.RESTART_PARTITION)

STARTED = {
    JobAction.RESTART_JOB: Begin(P.RESTARTING, retry=True, kill=True),
    **dict.fromkeys(RESTART_PART, Begin(P.RESTARTING, retry=True, kill=False)),
    JobAction.ABORT_JOB: Begin(P.ABORTING),
    JobAction.COMPLETE_JOB: Begin(P.COMPLETING),
    JobAction.TERMINATE_JOB: Begin(P.TERMINATING),
}
ENDING = {action: begin for action, begin in STARTED.items() if begin.phase is not P.RESTARTING}
RESUMED = {JobAction.RESUME_JOB: Begin(P.RESTARTING, retry=False, kill=True)}
BEGINS: dict[JobPhase, Mapping[JobAction, Begin]] = {
    P.NEW: STARTED,
    P.PENDING: STARTED,
    P.RUNNING: STARTED,
    P.RESTARTING: ENDING,
    P.ABORTING: RESUMED,
    P.ABORTED: RESUMED,
}
"""What each action begins in each phase; an action or a phase that is not listed does nothing."""


@pytest.mark.parametrize(
    ("phase", "action"),
    [
        pytest.param(phase, action, id=f"{action} of a job that is {phase or 'new'}")
        for phase in JobPhase
        for action in JobAction
    ],
)
def test_an_action_begins_a_phase(phase: JobPhase, action: JobAction) -> None:
    assert begun(phase, action) == BEGINS.get(phase, {}).get(action)


@pytest.mark.parametrize("action", [pytest.param(action, id=action.value) for action in JobAction])
def test_a_restart_on_top_of_one_in_part_is_no_further_retry(action: JobAction) -> None:
    begin = begun(P.RESTARTING, action, partly=True)
    if action is JobAction.RESTART_JOB:
        assert begin == Begin(P.RESTARTING, retry=False, kill=True)
    elif action in RESTART_PART:
        assert begin == Begin(P.RESTARTING, retry=False, kill=False)
    else:
        assert begin == ENDING.get(action)


TWO = vcjob(task(replicas=2))
THREE_OF_FIVE = vcjob(task(replicas=5, minimum=3))
ROLES = vcjob(task("ps", 2), task(replicas=3, minimum=2))
ELASTIC_ROLES = vcjob(task("ps", 2), task(replicas=3), min_available=2)


def ended(ps: int, workers: int) -> PodsByPhase:
    """All five pods of two tasks have ended, so many of them well."""
    tasks = {"ps": {"Succeeded": ps, "Failed": 2 - ps}, "worker": {"Succeeded": workers, "Failed": 3 - workers}}
    return PodsByPhase(succeeded=ps + workers, failed=5 - ps - workers, tasks=tasks)


@pytest.mark.parametrize(
    ("job", "phase", "counts", "expected"),
    [
        pytest.param(TWO, P.NEW, PodsByPhase(), P.PENDING, id="a new job is Pending"),
        pytest.param(TWO, P.PENDING, PodsByPhase(running=1, pending=1), P.PENDING, id="Pending below minAvailable"),
        pytest.param(TWO, P.PENDING, PodsByPhase(running=1, succeeded=1), P.RUNNING, id="succeeded pods count"),
        pytest.param(TWO, P.PENDING, PodsByPhase(running=1, failed=1), P.RUNNING, id="failed pods count as well"),
        pytest.param(
            TWO, P.PENDING, PodsByPhase(running=1, unknown=1), P.PENDING, id="pods of an unknown phase do not"
        ),
        pytest.param(
            THREE_OF_FIVE, P.PENDING, PodsByPhase(running=3, pending=2), P.RUNNING, id="minAvailable is enough"
        ),
        pytest.param(
            THREE_OF_FIVE, P.RUNNING, PodsByPhase(running=3, pending=2), P.RUNNING, id="as many may be pending"
        ),
        pytest.param(THREE_OF_FIVE, P.RUNNING, PodsByPhase(running=2, pending=3), P.PENDING, id="too many are pending"),
        pytest.param(TWO, P.RUNNING, PodsByPhase(succeeded=1, running=1), P.RUNNING, id="not all have ended"),
        pytest.param(
            TWO, P.RUNNING, PodsByPhase(succeeded=2, tasks={"worker": {"Succeeded": 2}}), P.COMPLETED, id="all"
        ),
        pytest.param(
            THREE_OF_FIVE,
            P.RUNNING,
            PodsByPhase(succeeded=3, failed=2, tasks={"worker": {"Succeeded": 3, "Failed": 2}}),
            P.COMPLETED,
            id="minAvailable have succeeded",
        ),
        pytest.param(
            THREE_OF_FIVE,
            P.RUNNING,
            PodsByPhase(succeeded=2, failed=3, tasks={"worker": {"Succeeded": 2, "Failed": 3}}),
            P.FAILED,
            id="fewer than minAvailable have succeeded",
        ),
        pytest.param(ROLES, P.RUNNING, ended(2, 2), P.COMPLETED, id="every task has its minimum"),
        pytest.param(ROLES, P.RUNNING, ended(1, 3), P.FAILED, id="a task is below its minimum, the job is not"),
        pytest.param(ELASTIC_ROLES, P.RUNNING, ended(0, 2), P.COMPLETED, id="minima of tasks above that of the job"),
        pytest.param(vcjob(task(replicas=0)), P.RUNNING, PodsByPhase(), P.RUNNING, id="no replicas: the phase stays"),
        pytest.param(
            vcjob(task(replicas=3), min_success=1),
            P.RUNNING,
            PodsByPhase(running=2, succeeded=1),
            P.COMPLETED,
            id="minSuccess ends the job early",
        ),
        pytest.param(
            vcjob(task(replicas=3, minimum=1), min_success=3),
            P.RUNNING,
            PodsByPhase(succeeded=2, failed=1, tasks={"worker": {"Succeeded": 2, "Failed": 1}}),
            P.FAILED,
            id="minSuccess is not reached, minAvailable is",
        ),
        *(
            pytest.param(TWO, phase, counts, expected, id=f"{phase} with {what}")
            for phase, after in ((P.ABORTING, P.ABORTED), (P.COMPLETING, P.COMPLETED), (P.TERMINATING, P.TERMINATED))
            for what, counts, expected in (
                ("a pod that is terminating", PodsByPhase(terminating=1), phase),
                ("a pod that is pending", PodsByPhase(pending=1), phase),
                ("a pod that runs", PodsByPhase(running=1), phase),
                ("pods that have ended only", PodsByPhase(succeeded=1, failed=1), after),
                ("no pods", PodsByPhase(), after),
            )
        ),
        *(
            pytest.param(TWO, phase, counts, phase, id=f"{phase} stays")
            for phase in (P.ABORTED, P.COMPLETED, P.TERMINATED, P.FAILED)
            for counts in (PodsByPhase(), PodsByPhase(running=2))
        ),
    ],
)
def test_counts_end_a_phase(job: VcJob, phase: JobPhase, counts: PodsByPhase, expected: JobPhase) -> None:
    assert settled(job, JobStatus(phase), counts).phase is expected


@pytest.mark.parametrize(
    ("job", "counts", "retries", "cleared", "expected"),
    [
        pytest.param(TWO, PodsByPhase(terminating=1), 1, True, P.RESTARTING, id="pods are still terminating"),
        pytest.param(TWO, PodsByPhase(), 1, True, P.PENDING, id="all are gone"),
        pytest.param(TWO, PodsByPhase(), 1, False, P.RESTARTING, id="the PodGroup is still there"),
        pytest.param(THREE_OF_FIVE, PodsByPhase(terminating=3), 1, True, P.RESTARTING, id="too few are left"),
        pytest.param(THREE_OF_FIVE, PodsByPhase(terminating=2), 1, True, P.PENDING, id="minAvailable can start"),
        pytest.param(TWO, PodsByPhase(), 2, True, P.PENDING, id="the last retry but one"),
        pytest.param(TWO, PodsByPhase(terminating=2), 3, False, P.FAILED, id="no retry is left"),
    ],
)
def test_a_restart_ends(job: VcJob, counts: PodsByPhase, retries: int, cleared: bool, expected: JobPhase) -> None:
    assert settled(job, JobStatus(P.RESTARTING, retries=retries), counts, cleared).phase is expected


def test_a_job_is_resumed_however_often_it_was_restarted() -> None:
    status = JobStatus(P.RESTARTING, JobAction.RESUME_JOB, retries=3)
    assert settled(TWO, status, PodsByPhase()).phase is P.PENDING
