"""Jobs: pods to start, counting what finished exactly once, and how a job ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.workload_objects import NOW, ago, deleting, pod, workload
from vsched.apimachinery.workloads.actions import After, Create, Delete, SetStatus, Update
from vsched.apimachinery.workloads.jobs import INDEX, TRACKING, JobTimes, format_indexes, parse_indexes, reconcile

TIMES = JobTimes(backoff=10)


def job(*, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    full = {"completions": 1, "parallelism": 1, "backoffLimit": 6, **spec}
    return workload("Job", "j", spec=full, status={"startTime": ago(100), **(status or {})})


def task(name: str, phase: str = "", *, counted: bool = False, index: int | None = None, **more: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {} if counted else {"finalizers": [TRACKING]}
    if index is not None:
        meta["annotations"] = {INDEX: str(index)}
    return pod(name, phase=phase, **meta, **more)


def look(obj: dict[str, Any], *pods: dict[str, Any]) -> list[Any]:
    return reconcile(obj, pods, NOW, TIMES)


def of(actions: list[Any], kind: type) -> list[Any]:
    return [each for each in actions if isinstance(each, kind)]


def status_of(actions: list[Any]) -> dict[str, Any]:
    [status] = of(actions, SetStatus)
    return status.status


def conditions_of(actions: list[Any]) -> list[str]:
    return [each["type"] for each in status_of(actions).get("conditions", ()) if each["status"] == "True"]


def test_as_many_pods_start_as_may_run_at_once() -> None:
    actions = look(job(completions=5, parallelism=3), task("a"))
    made = of(actions, Create)
    assert len(made) == 2
    assert made[0].obj["metadata"]["finalizers"] == [TRACKING]
    assert made[0].obj["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"


def test_never_more_than_are_still_wanted() -> None:
    actions = look(job(completions=5, parallelism=3, status={"succeeded": 4}))
    assert len(of(actions, Create)) == 1


def test_a_finished_pod_is_counted_and_let_go_in_one_look() -> None:
    actions = look(job(completions=2), task("a", "Succeeded"))
    assert status_of(actions)["succeeded"] == 1
    [release] = of(actions, Update)
    assert "finalizers" not in release.obj["metadata"]


def test_a_counted_pod_is_not_counted_again() -> None:
    actions = look(job(completions=2, status={"succeeded": 1}), task("a", "Succeeded", counted=True))
    assert status_of(actions)["succeeded"] == 1


def test_enough_successes_complete_the_job() -> None:
    actions = look(job(), task("a", "Succeeded"))
    assert conditions_of(actions) == ["SuccessCriteriaMet", "Complete"]
    assert status_of(actions)["completionTime"] == ago(0)


def test_a_work_queue_is_done_when_one_succeeded_and_none_runs() -> None:
    queue = job(parallelism=2)
    del queue["spec"]["completions"]
    assert conditions_of(look(queue, task("a", "Succeeded"), task("b"))) == []
    assert not of(look(queue, task("a", "Succeeded"), task("b")), Create)
    assert "Complete" in conditions_of(look(queue, task("a", "Succeeded"), task("b", "Succeeded")))


def test_too_many_failures_fail_the_job_once_its_pods_are_gone() -> None:
    failing = job(backoffLimit=0, parallelism=2, completions=2)
    first = look(failing, task("a", "Failed"), task("b"))
    assert conditions_of(first) == ["FailureTarget"]
    assert [each.name for each in of(first, Delete)] == ["b"]
    failing["status"] = status_of(first)
    last = look(failing, task("a", "Failed", counted=True))
    assert conditions_of(last) == ["FailureTarget", "Failed"]
    assert {each["reason"] for each in status_of(last)["conditions"]} == {"BackoffLimitExceeded"}


@pytest.mark.parametrize(
    ("ended", "failed", "expected"),
    [
        pytest.param(4, 1, [After(6)], id="the first failure is waited for the base time"),
        pytest.param(4, 2, [After(16)], id="the second twice as long"),
        pytest.param(11, 1, [], id="after that a new pod starts"),
    ],
)
def test_backing_off(ended: int, failed: int, expected: list[Any]) -> None:
    lost = task("a", "Failed", counted=True)
    lost["status"]["containerStatuses"] = [{"state": {"terminated": {"finishedAt": ago(ended)}}}]
    actions = look(job(status={"failed": failed}), lost)
    assert of(actions, After) == expected
    assert bool(of(actions, Create)) == (not expected)


def test_restarts_in_place_count_against_the_limit() -> None:
    running = task("a", "Running")
    running["status"]["containerStatuses"] = [{"restartCount": 3}]
    restarting = job(backoffLimit=2)
    restarting["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    assert "FailureTarget" in conditions_of(look(restarting, running))


def test_the_deadline_fails_the_job() -> None:
    assert "FailureTarget" in conditions_of(look(job(activeDeadlineSeconds=100), task("a")))
    assert After(100) in look(job(activeDeadlineSeconds=200), task("a"))


def test_a_job_that_another_controller_manages_is_left_alone() -> None:
    assert look(job(managedBy="example.com/operator"), task("a")) == []
    assert look(job(managedBy="kubernetes.io/job-controller")) == look(job())


def test_a_suspended_job_stops_its_pods_and_does_not_count_them_as_failed() -> None:
    actions = look(job(suspend=True), task("a"))
    assert [each.name for each in of(actions, Delete)] == ["a"]
    assert conditions_of(actions) == ["Suspended"]
    assert "startTime" not in status_of(actions)
    stopped = deleting(task("a", "Failed"), grace=0, finalizers=[TRACKING])
    assert "failed" not in status_of(look(job(suspend=True), stopped))


@pytest.mark.parametrize(
    ("action", "on", "failed", "ends"),
    [
        pytest.param("Ignore", {"onPodConditions": [{"type": "DisruptionTarget"}]}, 0, False, id="an eviction"),
        pytest.param("FailJob", {"onExitCodes": {"operator": "In", "values": [42]}}, 1, True, id="a code"),
        pytest.param("FailJob", {"onExitCodes": {"operator": "NotIn", "values": [42]}}, 1, False, id="no other code"),
        pytest.param(
            "Ignore", {"onExitCodes": {"containerName": "x", "operator": "In", "values": [42]}}, 1, False,
            id="another container",
        ),
    ],
)  # fmt: skip
def test_the_failure_policy_decides_what_a_failure_means(
    action: str, on: dict[str, Any], failed: int, ends: bool
) -> None:
    lost = task("a", "Failed")
    lost["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True"}]
    lost["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": {"exitCode": 42}}}]
    actions = look(job(podFailurePolicy={"rules": [{"action": action, **on}]}), lost)
    assert status_of(actions).get("failed", 0) == failed
    assert ("FailureTarget" in conditions_of(actions)) == ends


def test_a_resumed_job_says_so() -> None:
    held = job(status={"conditions": [{"type": "Suspended", "status": "True"}]})
    assert conditions_of(look(held)) == []
    assert len(of(look(held), Create)) == 1


def test_indexed_pods_carry_their_index_everywhere() -> None:
    actions = look(job(completionMode="Indexed", completions=3, parallelism=3), task("a", index=1))
    made = of(actions, Create)
    assert [each.obj["metadata"]["annotations"][INDEX] for each in made] == ["0", "2"]
    assert made[0].obj["metadata"]["labels"][INDEX] == "0"
    assert made[0].obj["spec"]["hostname"] == "j-0"
    assert made[0].obj["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"


def test_an_index_counts_once_however_often_it_succeeds() -> None:
    indexed = job(
        completionMode="Indexed", completions=3, parallelism=1, status={"completedIndexes": "0", "succeeded": 1}
    )
    status = status_of(look(indexed, task("a", "Succeeded", index=0), task("b", "Succeeded", index=2)))
    assert (status["completedIndexes"], status["succeeded"]) == ("0,2", 2)


@pytest.mark.parametrize(
    ("ago_seconds", "expected"),
    [
        pytest.param(4, [After(6)], id="a finished job stays for its time"),
        pytest.param(
            10, [Delete("batch/jobs", "default", "j", uid="uid-j", propagation="Foreground")], id="then it goes"
        ),
    ],
)
def test_ttl_after_finished(ago_seconds: int, expected: list[Any]) -> None:
    done = job(ttlSecondsAfterFinished=10)
    done["status"] = {
        "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}, "startTime": ago(100), "succeeded": 1,
        "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": ago(ago_seconds)}],
    }  # fmt: skip
    assert look(done) == expected


@given(st.sets(st.integers(0, 60)))
def test_indexes_survive_being_written(indexes: set[int]) -> None:
    assert parse_indexes(format_indexes(indexes)) == indexes
