"""Which action the policies of a vcjob want for what has happened."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.policies import due
from vsched.controllers.vcjobs.spec import JobAction, JobEvent, JobStatus, VcjobPolicy
from vsched.controllers.vcjobs.view import GroupState, VcjobPod, VcjobView

NOW = 1000.0
RESTART, ABORT, COMPLETE, POD = (
    JobAction.RESTART_JOB,
    JobAction.ABORT_JOB,
    JobAction.COMPLETE_JOB,
    JobAction.RESTART_POD,
)


def on(event: str, action: JobAction = RESTART, seconds: float = 0.0) -> VcjobPolicy:
    return VcjobPolicy(action, frozenset({JobEvent(event)}), timeout_seconds=seconds)


def code(number: int, action: JobAction = RESTART) -> VcjobPolicy:
    return VcjobPolicy(action, exit_code=number)


def pod(index: int = 0, phase: str = "Running", name: str = "worker", **fields: Any) -> VcjobPod:
    fields.setdefault("since", NOW - 10)
    fields.setdefault("uid", f"{name}{index}")
    return VcjobPod(name=f"train-{name}-{index}", task=name, index=index, phase=phase, **fields)


def view(*pods: VcjobPod, job: tuple[VcjobPolicy, ...] = (), **fields: Any) -> VcjobView:
    """A job of a parameter server and three workers."""
    tasks = (task("ps", policies=fields.pop("ps", ())), task(replicas=3, policies=fields.pop("worker", ())))
    status = JobStatus(version=fields.pop("version", 0), retries=fields.pop("retries", 0))
    return VcjobView(vcjob(*tasks, policies=job, status=status), {each.name: each for each in pods}, **fields)


FAILED = pod(1, "Failed", exit_code=3)
LOST = GroupState("g", "1", "Unknown", {}, since=NOW - 5)


@pytest.mark.parametrize(
    ("seen", "action"),
    [
        pytest.param(view(FAILED), None, id="no policy"),
        pytest.param(view(FAILED, job=(on("PodFailed"),)), RESTART, id="a failed pod"),
        pytest.param(view(pod(), job=(on("PodFailed"),)), None, id="a pod that runs"),
        pytest.param(view(FAILED, job=(code(3, ABORT),)), ABORT, id="its exit code"),
        pytest.param(view(FAILED, job=(code(4),)), None, id="another exit code"),
        pytest.param(view(pod(0, "Succeeded", exit_code=0), job=(code(3),)), None, id="a pod that succeeded has none"),
        pytest.param(view(FAILED, job=(code(3, ABORT), on("PodFailed"))), ABORT, id="the first policy that matches"),
        pytest.param(view(FAILED, job=(on("PodFailed"), code(3, ABORT))), RESTART, id="an event that comes first"),
        pytest.param(
            view(FAILED, job=(on("PodFailed"),), worker=(on("PodFailed", ABORT),)), ABORT, id="the task's come first"
        ),
        pytest.param(view(FAILED, ps=(on("PodFailed"),)), None, id="the policies of another task"),
        pytest.param(view(FAILED, job=(on("*"),)), RESTART, id="any event"),
        pytest.param(view(pod(0), pod(1), job=(on("*"),)), None, id="that pods run is no event"),
        pytest.param(view(pod(0, "Pending"), job=(on("*"),)), None, id="that pods are pending is none, at first"),
        pytest.param(view(pod(0, "Pending"), job=(on("PodPending"),)), None, id="PodPending needs a time"),
        pytest.param(view(pod(0, "Pending"), job=(on("PodPending", ABORT, 10),)), ABORT, id="pending for long enough"),
        pytest.param(view(pod(0, "Pending"), job=(on("PodPending", ABORT, 11),)), None, id="not yet"),
        pytest.param(view(pod(0), job=(on("PodPending", ABORT, 5),)), None, id="it runs by now"),
        pytest.param(view(pod(0, deleting=True), job=(on("PodEvicted"),)), RESTART, id="a pod that somebody deletes"),
        pytest.param(view(evicted=(pod(0),), job=(on("PodEvicted"),)), RESTART, id="a pod that is gone"),
        pytest.param(
            view(pod(0, "Succeeded", deleting=True), job=(on("PodEvicted"),)), None, id="a pod that ended is deleted"
        ),
        pytest.param(
            view(pod(0, "Failed", deleting=True), job=(on("PodEvicted"),)), None, id="so is one that ended badly"
        ),
        pytest.param(
            view(pod(0, "Failed", deleting=True, disrupted=True), job=(on("PodEvicted"),)),
            RESTART,
            id="a pod that was made to end",
        ),
        pytest.param(
            view(pod(0, "Succeeded"), pod(1, "Succeeded"), job=(on("TaskCompleted", COMPLETE),)),
            None,
            id="two of three have succeeded",
        ),
        pytest.param(
            view(*(pod(index, "Succeeded") for index in range(3)), job=(on("TaskCompleted", COMPLETE),)),
            COMPLETE,
            id="a task is completed",
        ),
        pytest.param(view(pod(0, restarts=2), pod(1, restarts=1), job=(on("TaskFailed"),)), None, id="three restarts"),
        pytest.param(view(pod(0, restarts=2), pod(1, restarts=2), job=(on("TaskFailed"),)), RESTART, id="four"),
        pytest.param(view(pod(0, "Failed", restarts=9), job=(on("TaskFailed"),)), None, id="restarts of failed pods"),
        pytest.param(view(group=LOST, job=(on("Unknown"),)), RESTART, id="the PodGroup has lost pods"),
        pytest.param(view(FAILED, version=1, job=(on("PodFailed"),)), None, id="pods of an older version"),
        pytest.param(view(pod(5, "Failed"), job=(on("PodFailed"),)), None, id="a pod above the replicas of its task"),
        pytest.param(view(FAILED, job=(on("PodFailed", JobAction.SYNC_JOB),)), None, id="an action that does nothing"),
    ],
)
def test_the_action_that_is_due(seen: VcjobView, action: JobAction | None) -> None:
    requests = due(seen, NOW).requests
    assert (requests[0].action if requests else None) == action


def test_all_pods_of_one_action_restart_at_once() -> None:
    seen = view(pod(0, "Failed"), pod(2, "Failed"), FAILED, job=(code(3, POD), on("PodFailed", POD)))
    assert {request.pod for request in due(seen, NOW).requests} == {f"train-worker-{index}" for index in range(3)}


def test_what_happened_first_is_answered_first() -> None:
    first, second = pod(0, "Failed", since=NOW - 9, exit_code=1), pod(1, "Failed", since=NOW - 20, exit_code=2)
    assert [one.action for one in due(view(first, second, job=(code(1), code(2, ABORT))), NOW).requests] == [ABORT]


def test_a_policy_with_a_time_wakes_the_controller() -> None:
    seen = view(pod(0, "Pending"), pod(1, "Pending", since=NOW), job=(on("PodPending", ABORT, 60),))
    found = due(seen, NOW)
    assert (found.requests, found.wake_at) == ((), NOW + 50)


@pytest.mark.parametrize(
    ("back", "expected"),
    [
        pytest.param((), ABORT, id="nothing has come in its place"),
        pytest.param((pod(0, "Pending", uid="new"),), ABORT, id="its successor is still pending"),
    ],
)
def test_an_eviction_lasts_until_its_time_is_over(back: tuple[Any, ...], expected: JobAction) -> None:
    seen = view(*back, evicted=(pod(0, since=NOW),), job=(on("PodEvicted", expected, 60),))
    early = due(seen, NOW + 59)
    assert (early.requests, early.waiting) == ((), {"worker0"})
    assert due(seen, NOW + 60).requests[0].action is expected


def test_an_eviction_is_over_once_another_pod_runs_in_its_place() -> None:
    seen = view(pod(0, uid="new"), evicted=(pod(0, since=NOW),), job=(on("PodEvicted", ABORT, 60),))
    assert due(seen, NOW + 600) == due(view(), NOW)


def test_the_time_of_an_eviction_does_not_begin_before_the_pod_is_gone() -> None:
    seen = view(pod(0, deleting=True, since=NOW - 500), job=(on("PodEvicted", ABORT, 60),))
    assert due(seen, NOW).requests == ()


def test_a_task_without_limit_never_fails() -> None:
    policies = (on("TaskFailed"),)
    seen = VcjobView(vcjob(task(max_retry=-1), policies=policies), {"train-worker-0": pod(0, restarts=99)})
    assert due(seen, NOW).requests == ()
