"""What a kubelet does for a pod, stage by stage."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.workload_objects import NOW, ago, deleting, pod
from vsched.apimachinery.meta.objects import condition
from vsched.apimachinery.workloads.actions import After, Delete, SetStatus
from vsched.sim.controllers.pod_lifecycle import PodHost, PodTimes, next_steps, script_problem

UP = PodHost("172.16.0.1", ready=True)


def steps(
    obj: dict[str, Any], elapsed: float = 0.0, times: PodTimes | None = None, host: PodHost | None = UP
) -> list[Any]:
    return next_steps(obj, host, elapsed, NOW, times or PodTimes(), lambda: "10.128.0.9")


def annotated(duration: str, exit_code: str = "0", policy: str = "Never") -> dict[str, Any]:
    made = pod(ready=True, annotations={"vsched.io/duration": duration, "vsched.io/exit-code": exit_code})
    made["spec"]["restartPolicy"] = policy
    made["status"]["containerStatuses"] = [
        {"name": "main", "containerID": "sim://1", "restartCount": 0, "state": {"running": {"startedAt": ago(60)}}}
    ]
    return made


def test_a_bound_pod_runs_with_everything_a_client_looks_at() -> None:
    bound = pod()
    bound["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(5)}]
    [action] = steps(bound)
    assert isinstance(action, SetStatus)
    status = action.status
    assert (status["phase"], status["hostIP"], status["podIP"], status["startTime"]) == (
        "Running", "172.16.0.1", "10.128.0.9", ago(0)
    )  # fmt: skip
    conditions = {each["type"]: each for each in status["conditions"]}
    assert all(each["status"] == "True" for each in conditions.values())
    assert {"Ready", "ContainersReady", "Initialized", "PodScheduled"} <= conditions.keys()
    assert conditions["PodScheduled"]["lastTransitionTime"] == ago(5)
    assert status["containerStatuses"][0]["state"] == {"running": {"startedAt": ago(0)}}


def test_a_pod_on_the_host_network_has_the_address_of_its_node() -> None:
    bound = pod()
    bound["spec"]["hostNetwork"] = True
    assert steps(bound)[0].status["podIP"] == "172.16.0.1"


def test_init_containers_have_completed_when_the_pod_runs() -> None:
    bound = pod()
    bound["spec"]["initContainers"] = [{"name": "first", "image": "i"}]
    [first] = steps(bound)[0].status["initContainerStatuses"]
    assert first["state"]["terminated"]["exitCode"] == 0


@pytest.mark.parametrize(
    ("obj", "elapsed", "times", "host", "expected"),
    [
        pytest.param(pod(), 0, None, None, [], id="a pod of a node that does not exist stays as it is"),
        pytest.param(pod(), 0, None, PodHost("", ready=False), [], id="a node that is down starts nothing"),
        pytest.param(pod(), 1, PodTimes(start=3), UP, [After(2)], id="starting takes its time"),
        pytest.param(pod(ready=True), 99, None, UP, [], id="without a duration a pod runs on"),
        pytest.param(annotated("30s"), 12, None, UP, [After(18)], id="the rest of the duration is waited for"),
        pytest.param(annotated("1s", policy="Always"), 99, None, UP, [], id="a pod that is always restarted runs on"),
        pytest.param(annotated("soon"), 99, None, UP, [], id="a duration nobody understands counts as none"),
        pytest.param(pod(phase="Succeeded"), 99, PodTimes(run=1), UP, [], id="what is finished stays finished"),
        pytest.param(deleting(pod(ready=True)), 0, PodTimes(termination=2), UP, [After(2)], id="ending takes its time"),
        pytest.param(
            deleting(pod(ready=True), grace=1), 0, PodTimes(termination=9), UP, [After(1)], id="never beyond its grace"
        ),
        pytest.param(
            deleting(pod(ready=True)), 2, PodTimes(termination=2), UP,
            [Delete("pods", "default", "p", uid="uid-p", grace_seconds=0)], id="then the pod is removed",
        ),
        pytest.param(
            deleting(pod(phase="Failed"), grace=0, finalizers=["x/y"]), 9, None, UP, [],
            id="a finished pod held by a finalizer only is left alone",
        ),
    ],
)  # fmt: skip
def test_next_steps(
    obj: dict[str, Any], elapsed: float, times: PodTimes | None, host: PodHost | None, expected: list[Any]
) -> None:
    assert steps(obj, elapsed, times, host) == expected


@pytest.mark.parametrize(
    ("exit_code", "phase", "reason"),
    [
        pytest.param("0", "Succeeded", "Completed", id="exit code 0 is success"),
        pytest.param("3", "Failed", "Error", id="any other is failure"),
        pytest.param("many", "Succeeded", "Completed", id="one that is no number counts as 0"),
    ],
)
def test_a_pod_ends_after_its_duration(exit_code: str, phase: str, reason: str) -> None:
    [action] = steps(annotated("30s", exit_code), 30)
    assert action.status["phase"] == phase
    ended = action.status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["startedAt"], ended["finishedAt"]) == (reason, ago(60), ago(0))
    assert condition({"status": action.status}, "Ready")["status"] == "False"  # type: ignore[index]


def test_the_default_duration_is_for_pods_that_say_nothing() -> None:
    assert steps(pod(ready=True), 5, PodTimes(run=4))[0].status["phase"] == "Succeeded"
    assert steps(annotated("10s"), 5, PodTimes(run=4)) == [After(5)]


def test_a_failing_pod_with_on_failure_is_restarted_in_place() -> None:
    [action] = steps(annotated("1s", "1", "OnFailure"), 2)
    [container] = action.status["containerStatuses"]
    assert action.status["phase"] == "Running"
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 1


def test_a_deleted_pod_with_finalizers_fails_before_it_goes() -> None:
    failed, deletion = steps(deleting(pod(ready=True), finalizers=["x/y"]), 99)
    assert failed.status["phase"] == "Failed"
    assert isinstance(deletion, Delete)


def test_a_bad_annotation_is_told_in_the_status() -> None:
    bad = pod(annotations={"vsched.io/duration": "soon"})
    assert "'soon' is not a duration" in script_problem(bad)
    assert steps(bad)[0].status["reason"] == "InvalidAnnotation"
    assert "expected a quantity" in steps(pod(annotations={"vsched.io/cpu-usage": "much"}))[0].status["message"]
