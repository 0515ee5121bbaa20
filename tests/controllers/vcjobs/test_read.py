"""How a vcjob is read: the defaults that Volcano's webhook fills in, and the status."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.vcjobs.manifests import job_from, manifest, worker
from vsched.controllers.vcjobs.counts import PodsByPhase
from vsched.controllers.vcjobs.spec import (
    Dependency,
    JobAction,
    JobEvent,
    JobPhase,
    JobStatus,
    Partitions,
    VcJob,
    VcjobPolicy,
    VcjobTopology,
    VcjobVolume,
)
from vsched.controllers.vcjobs.status import go_duration, status_body

HALVES = {"totalPartitions": 2, "partitionSize": 2}


@pytest.mark.parametrize(
    ("written", "field", "expected"),
    [
        pytest.param(manifest(worker()), "queue", "default", id="the queue"),
        pytest.param(manifest(worker(), queue="blue"), "queue", "blue", id="a queue that is named"),
        pytest.param(manifest(worker()), "max_retry", 3, id="maxRetry"),
        pytest.param(manifest(worker(), maxRetry=0), "max_retry", 3, id="maxRetry 0 is none"),
        pytest.param(manifest(worker(), maxRetry=7), "max_retry", 7, id="maxRetry that is given"),
        pytest.param(manifest(worker(replicas=2), worker("ps")), "min_available", 3, id="minAvailable is all pods"),
        pytest.param(
            manifest(worker(replicas=4, minAvailable=2), worker("ps")), "min_available", 3, id="the sum of the tasks'"
        ),
        pytest.param(manifest(worker(replicas=4), minAvailable=1), "min_available", 1, id="minAvailable"),
        pytest.param(
            manifest(worker(), plugins={"mpi": ["--port=23"]}),
            "plugins",
            (("mpi", ("--port=23",)), ("ssh", ()), ("svc", ())),
            id="mpi needs svc and ssh",
        ),
        pytest.param(
            manifest(worker(), plugins={"pytorch": None, "svc": ["--disable-network-policy"]}),
            "plugins",
            (("pytorch", ()), ("svc", ("--disable-network-policy",))),
            id="arguments of a plugin that is needed stay",
        ),
        pytest.param(
            manifest(worker(), volumes=[{"mountPath": "/d", "volumeClaim": {"storageClassName": "fast"}}]),
            "volumes",
            (VcjobVolume("/d", claim={"storageClassName": "fast"}),),
            id="a claim to be made",
        ),
        pytest.param(
            manifest(worker(), volumes=[{"mountPath": "/d", "volumeClaimName": "shared", "volumeClaim": None}]),
            "volumes",
            (VcjobVolume("/d", "shared"),),
            id="a claim that is there",
        ),
        pytest.param(
            manifest(worker(), networkTopology={"highestTierAllowed": 2}),
            "topology",
            VcjobTopology("hard", 2),
            id="networkTopology is hard",
        ),
        pytest.param(
            manifest(worker(), policies=[{"event": "PodEvicted", "action": "RestartJob", "timeout": "1m30s"}]),
            "policies",
            (VcjobPolicy(JobAction.RESTART_JOB, frozenset({JobEvent.POD_EVICTED}), timeout_seconds=90.0),),
            id="a policy",
        ),
        pytest.param(
            manifest(worker(), policies=[{"exitCode": 3, "action": "AbortJob"}]),
            "policies",
            (VcjobPolicy(JobAction.ABORT_JOB, exit_code=3),),
            id="a policy for an exit code",
        ),
        pytest.param(
            manifest(worker(), runningEstimate="2h30m"),
            "annotations",
            {"vsched.io/expected-duration": "2h30m"},
            id="how long it runs, for its PodGroup",
        ),
        pytest.param(
            manifest(worker(), runningEstimate="2h30m")
            | {"metadata": {"name": "train", "namespace": "ml", "annotations": {"vsched.io/expected-duration": "1h"}}},
            "annotations",
            {"vsched.io/expected-duration": "1h"},
            id="an annotation goes before that",
        ),
    ],
)
def test_a_field_of_a_job(written: dict[str, Any], field: str, expected: object) -> None:
    assert getattr(job_from(written), field) == expected


@pytest.mark.parametrize(
    ("written", "field", "expected"),
    [
        pytest.param(worker(""), "name", "default0", id="a task without a name"),
        pytest.param(worker(replicas=3), "min_available", 3, id="minAvailable is replicas"),
        pytest.param(worker(replicas=3, minAvailable=0), "min_available", 0, id="minAvailable 0 is 0"),
        pytest.param(worker(replicas=4, partitionPolicy=HALVES), "min_available", 4, id="all partitions"),
        pytest.param(
            worker(replicas=4, partitionPolicy={**HALVES, "minPartitions": 1}),
            "min_available",
            2,
            id="minPartitions times partitionSize",
        ),
        pytest.param(
            worker(replicas=4, partitionPolicy={**HALVES, "minPartitions": 1}),
            "partitions",
            Partitions(2, 2, 1),
            id="partitionPolicy",
        ),
        pytest.param(worker(), "max_retry", 3, id="maxRetry"),
        pytest.param(worker(maxRetry=-1), "max_retry", -1, id="maxRetry without limit"),
        pytest.param(worker(dependsOn={"name": ["a"]}), "dependency", Dependency(("a",)), id="dependsOn all"),
        pytest.param(
            worker(dependsOn={"name": ["a", "b"], "iteration": "any"}),
            "dependency",
            Dependency(("a", "b"), every=False),
            id="dependsOn any",
        ),
        pytest.param(worker(dependsOn={}), "dependency", None, id="dependsOn nothing"),
        pytest.param(
            worker(template={"spec": {"hostNetwork": True}}),
            "template",
            {"spec": {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}},
            id="the DNS of pods in the network of their host",
        ),
        pytest.param(
            worker(template={"spec": {"hostNetwork": True, "dnsPolicy": "Default"}}),
            "template",
            {"spec": {"hostNetwork": True, "dnsPolicy": "Default"}},
            id="a dnsPolicy that is given",
        ),
    ],
)
def test_a_field_of_a_task(written: dict[str, Any], field: str, expected: object) -> None:
    (task,) = job_from(manifest(written)).tasks
    assert getattr(task, field) == expected


def with_status(body: dict[str, Any]) -> VcJob:
    return job_from({**manifest(worker()), "status": body})


def test_what_is_written_is_read_as_the_same_status() -> None:
    job = job_from(manifest(worker()))
    after = JobStatus(JobPhase.RUNNING, "RestartJob", "why", 1_767_225_600.0, 2, 1, (("plugin-svc", "svc"),))
    counts = PodsByPhase(running=1, failed=1, terminating=1, tasks={"worker": {"Running": 1, "Failed": 1}})
    body = status_body(job, after, counts, 1_767_225_600.0)
    assert body == {
        "state": {
            "phase": "Running",
            "reason": "RestartJob",
            "message": "why",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
        "minAvailable": 1,
        "taskStatusCount": {"worker": {"phase": {"Running": 1, "Failed": 1}}},
        "running": 1,
        "failed": 1,
        "terminating": 1,
        "version": 2,
        "retryCount": 1,
        "controlledResources": {"plugin-svc": "svc"},
        "conditions": [{"status": "Running", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }
    again = with_status(body)
    assert (again.status.body, again.status.version, again.status.retries) == (body, 2, 1)
    assert status_body(again, again.status, counts, 1_767_229_999.0) == body


def test_a_status_of_the_go_client_is_the_same_without_what_is_zero() -> None:
    written = {"state": {"phase": "Pending", "lastTransitionTime": "2026-01-01T00:00:00Z"}, "pending": 0, "running": 1}
    assert with_status(written).status.body == {"state": written["state"], "running": 1}


def test_a_job_that_ends_says_how_long_it_took() -> None:
    job = with_status({"state": {"phase": "Running"}})
    body = status_body(job, JobStatus(JobPhase.COMPLETED), PodsByPhase(succeeded=1), job.created + 3723)
    assert body["runningDuration"] == "1h2m3s"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0s"), (59, "59s"), (60, "1m0s"), (3600, "1h0m0s"), (-5, "0s")])
def test_durations_are_written_as_go_does(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
