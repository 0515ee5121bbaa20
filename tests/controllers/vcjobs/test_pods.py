"""The pods of a vcjob are what Volcano's controller makes of the same job."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.pods import pod_of
from vsched.controllers.vcjobs.spec import JobStatus, TaskSpec, VcJob, VcjobVolume

WORKER = task("worker", 4)


def metadata(job: VcJob, one: TaskSpec = WORKER, index: int = 2) -> dict[str, Any]:
    """The metadata of a pod of the job."""
    return dict(pod_of(job, one, index)["metadata"])


def spec(one: TaskSpec, **fields: Any) -> dict[str, Any]:
    """The spec of the first pod of a job of one task."""
    return dict(pod_of(vcjob(one, **fields), one, 0)["spec"])


def test_a_pod_says_its_job_its_task_and_its_place() -> None:
    job = vcjob(WORKER, queue="team", status=JobStatus(version=3, retries=2))
    found = metadata(job)
    assert (found["name"], found["namespace"]) == ("train-worker-2", "ml")
    assert found["annotations"] == {
        "volcano.sh/task-index": "2",
        "volcano.sh/task-spec": "worker",
        "scheduling.k8s.io/group-name": "train-u-1",
        "volcano.sh/job-name": "train",
        "volcano.sh/queue-name": "team",
        "volcano.sh/job-version": "3",
        "volcano.sh/template-uid": "train-worker",
        "volcano.sh/job-retry-count": "2",
    }
    assert found["labels"] == {
        "volcano.sh/task-index": "2",
        "volcano.sh/task-spec": "worker",
        "volcano.sh/job-name": "train",
        "volcano.sh/job-namespace": "ml",
        "volcano.sh/queue-name": "team",
    }
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "train",
        "uid": "u-1",
        "controller": True,
    }
    assert found["ownerReferences"] == [owner]


def test_labels_and_annotations_of_the_template_stay_and_those_of_the_controller_win() -> None:
    one = task("worker", metadata={"labels": {"a": "1", "volcano.sh/job-name": "other"}, "annotations": {"b": "2"}})
    found = metadata(vcjob(one), one, 0)
    assert found["labels"]["a"] == "1"
    assert found["labels"]["volcano.sh/job-name"] == "train"
    assert found["annotations"]["b"] == "2"


@pytest.mark.parametrize(
    ("says", "where", "expected"),
    [
        pytest.param({"volcano.sh/preemptable": "true"}, "annotations", True, id="whether it may be evicted"),
        pytest.param({"volcano.sh/cooldown-time": "10m"}, "annotations", True, id="its cool-down"),
        pytest.param({"volcano.sh/revocable-zone": "*"}, "annotations", True, id="the zone that takes nodes back"),
        pytest.param({"volcano.sh/jdb-min-available": "2"}, "annotations", True, id="its disruption budget"),
        pytest.param({"volcano.sh/preemptable": "true"}, "labels", True, id="whether it may be evicted, by label"),
        pytest.param({"volcano.sh/revocable-zone": "*"}, "labels", False, id="a zone is no label"),
        pytest.param({"my/own": "1"}, "annotations", False, id="other annotations stay with the job"),
    ],
)
def test_what_a_job_says_of_evictions_is_passed_on_to_its_pods(
    says: dict[str, str], where: str, expected: bool
) -> None:
    found = metadata(vcjob(WORKER, **{where: says}))
    assert all((found[where].get(key) == value) is expected for key, value in says.items())


def test_of_two_disruption_budgets_the_minimum_counts() -> None:
    both = {"volcano.sh/jdb-max-unavailable": "1", "volcano.sh/jdb-min-available": "2"}
    found = metadata(vcjob(WORKER, annotations=both))["annotations"]
    assert "volcano.sh/jdb-max-unavailable" not in found
    assert found["volcano.sh/jdb-min-available"] == "2"


@pytest.mark.parametrize(
    ("index", "partition"),
    [pytest.param(0, "0", id="first"), pytest.param(1, "0", id="last of the first"), pytest.param(2, "1", id="second")],
)
def test_pods_of_a_task_with_partitions_are_labelled_with_theirs(index: int, partition: str) -> None:
    one = task("worker", 4, size=2)
    assert metadata(vcjob(one), one, index)["labels"]["volcano.sh/partition-id"] == partition


def test_a_numa_policy_becomes_an_annotation() -> None:
    one = task("worker", topology_policy="restricted")
    assert metadata(vcjob(one), one, 0)["annotations"]["volcano.sh/numa-topology-policy"] == "restricted"


@pytest.mark.parametrize(
    ("written", "job", "expected"),
    [
        pytest.param({}, {"scheduler_name": "vsched"}, ("schedulerName", "vsched"), id="the job's scheduler"),
        pytest.param(
            {"schedulerName": "own"},
            {"scheduler_name": "vsched"},
            ("schedulerName", "own"),
            id="the template's scheduler",
        ),
        pytest.param({}, {"priority_class": "high"}, ("priorityClassName", "high"), id="the job's priority"),
        pytest.param(
            {"priorityClassName": "low"}, {"priority_class": "high"}, ("priorityClassName", "low"), id="the template's"
        ),
    ],
)
def test_the_job_fills_in_what_a_template_leaves_out(
    written: dict[str, Any], job: dict[str, Any], expected: tuple[str, object]
) -> None:
    field, value = expected
    assert spec(task("worker", spec=written), **job).get(field) == value


def test_every_container_mounts_the_volumes_of_the_job() -> None:
    containers = [{"name": "a"}, {"name": "b", "volumeMounts": [{"name": "own", "mountPath": "/own"}]}]
    one = task("worker", spec={"containers": containers, "initContainers": [{"name": "i"}]})
    volumes = (VcjobVolume("/data", "shared"), VcjobVolume("/again", "shared"), VcjobVolume("/new", claim={"x": 1}))
    found = spec(one, volumes=volumes)
    shared, new = (each["name"] for each in found["volumes"])
    sources = [each["persistentVolumeClaim"]["claimName"] for each in found["volumes"]]
    assert sources[0] == "shared"
    assert sources[1].startswith("train-pvc-")
    assert len(sources[1]) == len("train-pvc-") + 12
    mounts = [(each["name"], each["mountPath"]) for each in found["containers"][0]["volumeMounts"]]
    assert mounts == [(shared, "/data"), (shared, "/again"), (new, "/new")]
    assert [each["mountPath"] for each in found["containers"][1]["volumeMounts"]] == ["/own", "/data", "/again", "/new"]
    assert "volumeMounts" not in found["initContainers"][0]


def test_a_template_is_the_same_after_its_pods_are_made() -> None:
    one = task("worker", 2, metadata={"labels": {"a": "1"}})
    job = vcjob(one, plugins={"svc": (), "env": (), "ssh": (), "pytorch": ()}, volumes=(VcjobVolume("/d", "c"),))
    before = copy.deepcopy(one.template)
    first, again = pod_of(job, one, 0), pod_of(job, one, 0)
    assert one.template == before
    assert first == again
