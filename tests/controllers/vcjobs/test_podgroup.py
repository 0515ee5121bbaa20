"""The PodGroup of a vcjob: its minimum, what that asks for, and how it follows the job."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.podgroup import correction, minimum, podgroup_of, podgroup_spec
from vsched.controllers.vcjobs.spec import Partitions, TaskSpec, VcJob, VcjobTopology
from vsched.errors import BadObject
from vsched.sim.apply.patches import merge_patch

PRIORITIES = {"high": 100, "low": 1}


def cpu(*tasks: TaskSpec, wanted: int) -> str:
    """What the minimum asks for of cpu."""
    found = podgroup_spec(vcjob(*tasks, min_available=wanted), PRIORITIES)["minResources"]
    return str(found["cpu"])


def ranked(name: str, replicas: int, of_cpu: str, rank: str, minimum: int | None = None) -> TaskSpec:
    """A task with a priority class."""
    one = task(name, replicas, minimum=minimum, cpu=of_cpu)
    return task(name, replicas, minimum=minimum, spec={**one.template["spec"], "priorityClassName": rank})


def test_the_podgroup_of_a_job_has_its_minima_its_queue_and_its_marks() -> None:
    notes = {"volcano.sh/sla-waiting-time": "1h", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    job = vcjob(
        task("ps", 1),
        task("worker", 4, minimum=2),
        queue="team",
        priority_class="high",
        labels={"a": "1"},
        annotations=notes,
    )
    body = podgroup_of(job, PRIORITIES)
    metadata = body["metadata"]
    assert (body["kind"], metadata["name"], metadata["namespace"]) == ("PodGroup", "train-u-1", "ml")
    assert metadata["labels"] == {"a": "1"}
    assert metadata["annotations"] == {"volcano.sh/sla-waiting-time": "1h"}
    assert metadata["ownerReferences"][0] | {"controller": True} == metadata["ownerReferences"][0]
    assert body["spec"] == {
        "minMember": 3,
        "minTaskMember": {"ps": 1, "worker": 2},
        "queue": "team",
        "minResources": {"count/pods": "3", "cpu": "3", "pods": "3", "requests.cpu": "3"},
        "priorityClassName": "high",
    }


@pytest.mark.parametrize(
    ("tasks", "wanted", "expected"),
    [
        pytest.param((task("a", 2), task("b", 2, cpu="10")), 4, "22", id="all pods"),
        pytest.param((task("a", 4, minimum=2), task("b", 2, minimum=1, cpu="10")), 3, "12", id="the minima of tasks"),
        pytest.param(
            (task("a", 4, minimum=1), task("b", 2, minimum=1, cpu="10")), 4, "13", id="filled from the first task"
        ),
        pytest.param(
            (task("a", 2, minimum=1), task("b", 4, minimum=1, cpu="10")), 4, "22", id="and then from the next"
        ),
        pytest.param((task("a", 4), task("b", 2, cpu="10")), 3, "3", id="fewer than the minima: the first task first"),
        pytest.param((ranked("a", 4, "1", "low"), ranked("b", 2, "10", "high")), 3, "21", id="higher priority first"),
        pytest.param((task("a", 4), ranked("b", 2, "10", "nobody's")), 3, "3", id="an unknown priority is none"),
    ],
)
def test_the_minimum_asks_for_what_its_pods_ask_for(tasks: tuple[TaskSpec, ...], wanted: int, expected: str) -> None:
    assert cpu(*tasks, wanted=wanted) == expected


def test_the_minimum_names_what_quotas_count() -> None:
    resources = {
        "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"},
        "limits": {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"},
    }
    one = task("worker", 2, spec={"containers": [{"name": "c", "resources": resources}]})
    assert podgroup_spec(vcjob(one), {})["minResources"] == {
        "count/pods": "2",
        "pods": "2",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "memory": "2Gi",
        "requests.memory": "2Gi",
        "limits.memory": "4Gi",
        "nvidia.com/gpu": "4",
        "requests.nvidia.com/gpu": "4",
        "hugepages-2Mi": "8Mi",
        "requests.hugepages-2Mi": "8Mi",
    }


def test_partitions_become_sub_groups() -> None:
    near, far = VcjobTopology("hard", 1), VcjobTopology("soft", None, "rack")
    one = task("worker", 4, partitions=Partitions(2, 2, 1, near))
    other = task("ps", 2, partitions=Partitions(2, 1))
    found = podgroup_spec(vcjob(one, other, task("driver"), topology=far), {})
    assert found["networkTopology"] == {"mode": "soft", "highestTierName": "rack"}
    assert found["subGroupPolicy"] == [
        {
            "name": "worker",
            "subGroupSize": 2,
            "minSubGroups": 1,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        },
        {
            "name": "ps",
            "subGroupSize": 1,
            "minSubGroups": 0,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "ps"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
        },
    ]


def test_a_template_whose_requests_cannot_be_read_is_named() -> None:
    with pytest.raises(BadObject, match=r"^task worker: template: .*'many'"):
        podgroup_spec(vcjob(task("worker", cpu="many")), {})


def test_a_podgroup_that_says_what_the_job_says_stays() -> None:
    job = vcjob(task("worker", 4, size=2), priority_class="high")
    standing = podgroup_spec(job, PRIORITIES)
    written = {**standing, "minResources": {**standing["minResources"], "cpu": "4000m"}}
    assert correction(written, job, PRIORITIES) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"priority_class": "low"}, {"priority_class": "high"}, id="another priority"),
        pytest.param({"priority_class": "low"}, {}, id="none any more"),
        pytest.param({"tasks": (task("worker", 4),)}, {"tasks": (task("worker", 2),)}, id="fewer pods"),
        pytest.param({"tasks": (task("a"), task("b"))}, {"tasks": (task("a"), task("c"))}, id="other tasks"),
        pytest.param({"tasks": (task("a", 2, size=1),)}, {"tasks": (task("a", 2),)}, id="no partitions any more"),
        pytest.param(
            {"tasks": (task("a", spec={"containers": [{"resources": {"requests": {"example.com/x": "1"}}}]}),)},
            {"tasks": (task("a"),)},
            id="other resources",
        ),
    ],
)
def test_a_podgroup_follows_its_job(before: dict[str, Any], after: dict[str, Any]) -> None:
    standing = {"spec": podgroup_spec(vcjob(*before.pop("tasks", ()), **before), PRIORITIES)}
    job = vcjob(*after.pop("tasks", ()), **after)
    patch = correction(standing["spec"], job, PRIORITIES)
    assert patch is not None
    assert merge_patch(standing, patch)["spec"] == podgroup_spec(job, PRIORITIES)


def test_the_queue_of_a_podgroup_is_written_once() -> None:
    standing = podgroup_spec(vcjob(queue="a"), {})
    assert correction(standing, vcjob(queue="b"), {}) is None


@st.composite
def jobs(draw: st.DrawFn) -> VcJob:
    """Jobs of a few tasks, with any minimum that admission lets through."""
    tasks = [
        task(f"t{number}", replicas, minimum=draw(st.integers(0, replicas)), cpu=f"{draw(st.integers(1, 9))}m")
        for number, replicas in enumerate(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)))
    ]
    return vcjob(*tasks, min_available=draw(st.integers(0, sum(each.replicas for each in tasks))))


@given(jobs())
def test_the_minimum_asks_for_just_as_many_pods_as_the_job_wants_and_for_none_twice(job: VcJob) -> None:
    found = minimum(job, {})
    assert found.get("pods", 0) == job.min_available
    each = {
        one.name: int(one.template["spec"]["containers"][0]["resources"]["requests"]["cpu"][:-1]) for one in job.tasks
    }
    dearest = sorted((each[one.name] for one in job.tasks for _ in range(one.replicas)), reverse=True)
    assert found.get("cpu", 0) <= sum(dearest[: job.min_available])
    assert found.get("cpu", 0) >= sum(dearest[len(dearest) - job.min_available :])
    if job.min_available >= sum(one.min_available for one in job.tasks):
        assert found.get("cpu", 0) >= sum(each[one.name] * one.min_available for one in job.tasks)
