"""What decisions about vcjobs see of pods and PodGroups."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.controllers.vcjobs.manifests import OWNER
from tests.support.builders import merged
from tests.support.running import pod, podgroup
from vsched import api
from vsched.controllers.vcjobs.pod_states import job_group_of, job_pod_of

Obj = dict[str, Any]
MINE: Obj = {
    "metadata": {
        "uid": "p1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [OWNER],
        "labels": {
            "volcano.sh/job-name": "train",
            "volcano.sh/task-spec": "worker",
            "volcano.sh/task-index": "3",
            "volcano.sh/partition-id": "1",
        },
        "annotations": {"volcano.sh/job-version": "2", "volcano.sh/job-retry-count": "1"},
    }
}
NEW_YEAR = 1767225600.0


def container(**state: Any) -> Obj:
    return {"name": "main", "restartCount": 1, "state": state}


def read(kind: str, obj: Obj) -> api.Object:
    return api.decode(kind, json.dumps(obj).encode())


def state_of(**status: Any) -> Any:
    found = job_pod_of(read("Pod", merged(pod("train-worker-3"), {**MINE, "status": status})))
    assert found is not None
    return found.state


def test_a_pod_says_whose_it_is_and_which() -> None:
    found = job_pod_of(read("Pod", merged(pod("train-worker-3"), MINE)))
    assert found is not None
    assert (found.owner, found.job) == ("j1", "default/train")
    state = found.state
    assert (state.name, state.uid, state.task, state.index) == ("train-worker-3", "p1", "worker", 3)
    assert (state.version, state.retries, state.partition) == (2, 1, "1")
    assert (state.phase, state.deleting, state.ready, state.since) == ("Pending", False, False, NEW_YEAR)


NOT_OURS: dict[str, Obj] = {
    "a pod without labels": {"metadata": {"labels": None}},
    "a pod that nobody owns": {"metadata": {"ownerReferences": None}},
    "a pod that a Job of Kubernetes owns": {"metadata": {"ownerReferences": [{**OWNER, "apiVersion": "batch/v1"}]}},
    "a pod that a vcjob owns but does not control": {"metadata": {"ownerReferences": [{**OWNER, "controller": False}]}},
}


@pytest.mark.parametrize("about", NOT_OURS.values(), ids=NOT_OURS)
def test_left_out_is(about: Obj) -> None:
    assert job_pod_of(read("Pod", merged(merged(pod("p"), MINE), about))) is None


@pytest.mark.parametrize(
    ("status", "since"),
    [
        pytest.param({"phase": "Pending", "startTime": "2026-01-01T00:00:05Z"}, 0.0, id="a pending one was made then"),
        pytest.param({"phase": "Running", "startTime": "2026-01-01T00:00:05Z"}, 5.0, id="a running one has started"),
        pytest.param(
            {
                "phase": "Failed",
                "startTime": "2026-01-01T00:00:05Z",
                "containerStatuses": [
                    container(terminated={"exitCode": 1, "finishedAt": "2026-01-01T00:00:07Z"}),
                    container(terminated={"exitCode": 0, "finishedAt": "2026-01-01T00:00:09Z"}),
                ],
            },
            9.0,
            id="of one that has ended, its last container has",
        ),
        pytest.param({"phase": "Failed"}, 0.0, id="one that failed before it started was made then"),
    ],
)
def test_since_when_a_phase_lasts(status: Obj, since: float) -> None:
    assert state_of(**status).since == NEW_YEAR + since


def test_the_exit_code_is_that_of_the_first_container_and_restarts_are_those_of_all() -> None:
    ended = container(terminated={"exitCode": 3})
    state = state_of(
        phase="Failed",
        containerStatuses=[ended, container(terminated={"exitCode": 7})],
        initContainerStatuses=[container(running={})],
    )
    assert (state.exit_code, state.restarts) == (3, 3)
    assert state_of(phase="Running", containerStatuses=[container(running={}), ended]).exit_code is None


def test_a_state_that_cannot_be_read_is_none() -> None:
    assert state_of(phase="Failed", containerStatuses=[container(terminated={"exitCode": "three"})]).exit_code is None


def test_numbers_that_are_none_are_zero() -> None:
    strange = {"metadata": {"labels": {"volcano.sh/task-index": "٣"}, "annotations": {"volcano.sh/job-version": "-1"}}}
    found = job_pod_of(read("Pod", merged(merged(pod("p"), MINE), strange)))
    assert found is not None
    assert (found.state.index, found.state.version) == (0, 0)


def test_a_podgroup_says_whose_it_is_and_has_its_spec_as_it_is_written() -> None:
    about = {"metadata": {"uid": "g1", "ownerReferences": [OWNER]}, "status": {"phase": "Inqueue"}}
    found = job_group_of(read("PodGroup", merged(podgroup("train-j1", 2, minTaskMember={"worker": 2}), about)))
    assert found is not None
    assert (found.owner, found.job, found.state.uid, found.state.phase) == ("j1", "default/train", "g1", "Inqueue")
    assert found.state.spec == {"minMember": 2, "queue": "default", "minTaskMember": {"worker": 2}}
    assert job_group_of(read("PodGroup", podgroup("g", 2))) is None


@pytest.mark.parametrize(
    ("conditions", "waits"),
    [
        pytest.param(None, "", id="a PodGroup that nobody has looked at"),
        pytest.param([("Unschedulable", "True", "no room")], "no room", id="one that waits"),
        pytest.param([("Unschedulable", "False", "no room")], "", id="one that waits no more"),
        pytest.param([("Unschedulable", "True", "no room"), ("Scheduled", "True", "")], "", id="one that has started"),
        pytest.param([("Unschedulable", "True", None)], "NotEnoughResources", id="one that only has a reason"),
    ],
)
def test_a_podgroup_says_why_it_waits(conditions: list[tuple[str, str, str | None]] | None, waits: str) -> None:
    status = conditions and [
        {
            "type": kind,
            "status": value,
            "message": message,
            "reason": "NotEnoughResources",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind, value, message in conditions
    ]
    about = {"metadata": {"uid": "g1", "ownerReferences": [OWNER]}, "status": {"conditions": status}}
    found = job_group_of(read("PodGroup", merged(podgroup("train-j1", 2), about)))
    assert found is not None
    assert found.state.waits == waits
    assert (found.state.waits_since == 1767225600.0) is bool(waits)
