"""Workloads among the manifests of a plan: their pods are made, or it is said that they are not."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.cli.plan.workloads import workload
from tests.support.plans import manifests
from tests.support.vcjob_cluster import task, vcjob
from vsched.cli import cli
from vsched.cli.plan.words import objects as objects_words
from vsched.errors import BadInput

Manifest = dict[str, Any]
CLUSTER = """
    node n1 cpu=4
    node n2 cpu=4
    class high 100
"""


def plan(*objects: Manifest, cluster: str = CLUSTER) -> Result:
    text = yaml.safe_dump_all([*manifests(cluster), *objects])
    return CliRunner().invoke(cli, ["plan", "-f", "-", "-o", "json"], input=text)


def bound(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [bind["node"] for cycle in json.loads(result.stdout)["cycles"] for bind in cycle["binds"]]


@pytest.mark.parametrize(
    ("manifest", "nodes"),
    [
        pytest.param(workload("Deployment", replicas=3), ["n1", "n1", "n2"], id="a Deployment has its replicas"),
        pytest.param(workload("ReplicaSet", replicas=2), ["n1", "n2"], id="a ReplicaSet has its replicas"),
        pytest.param(
            workload("StatefulSet", replicas=2, serviceName="w"), ["n1", "n2"], id="a StatefulSet has all its pods"
        ),
        pytest.param(workload("DaemonSet"), ["n1", "n2"], id="a DaemonSet has a pod for each node"),
        pytest.param(
            workload("Job", "batch/v1", parallelism=2, completions=5), ["n1", "n1"], id="a Job has what runs at once"
        ),
        pytest.param(workload("Deployment", replicas=0), [], id="none are made where none are wanted"),
        pytest.param(
            workload("Deployment", pod={"schedulerName": "default-scheduler"}, replicas=2),
            [],
            id="pods of another scheduler are left to it",
        ),
        pytest.param(
            workload("Deployment", pod={"priorityClassName": "high"}, replicas=1), ["n1"], id="classes are known"
        ),
    ],
)
def test_a_plan_has_the_pods_that_controllers_would_make(manifest: Manifest, nodes: list[str]) -> None:
    assert sorted(bound(plan(manifest))) == nodes


def test_the_same_input_makes_the_same_pods() -> None:
    first, again = (plan(workload("Deployment", replicas=3)).stdout for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param(
            workload("CronJob", "batch/v1", schedule="* * * * *"),
            f"CronJob w: {objects_words.NO_PODS_HERE}",
            id="a CronJob is named as left out",
        ),
        pytest.param(
            workload("JobFlow", "flow.volcano.sh/v1alpha1"),
            f"JobFlow w: {objects_words.NO_PODS_HERE}",
            id="a JobFlow is named as left out",
        ),
        pytest.param(
            {**workload("Deployment", replicas=2), "metadata": {"name": "w", "namespace": "x", "uid": "u-1"}},
            f"Deployment w: {objects_words.FROM_A_CLUSTER}",
            id="a workload from a cluster without its pods is named",
        ),
    ],
)
def test_what_is_left_out_is_said(manifest: Manifest, said: str) -> None:
    result = plan(manifest)
    assert bound(result) == []
    assert result.stderr == f"vsched: stdin:document 4: {said}\n"


def test_pods_that_came_with_their_workload_are_not_made_again() -> None:
    owner = {**workload("ReplicaSet", replicas=2), "metadata": {"name": "w", "namespace": "x", "uid": "u-1"}}
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": "u-1", "controller": True}
    metadata = {"name": "w-1", "namespace": "x", "ownerReferences": [reference]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}
    result = plan(owner, pod)
    assert (bound(result), result.stderr) == (["n1"], "")


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param(
            workload("Deployment", "apps/v1beta2", replicas=1),
            f"stdin:document 4: {objects_words.not_served('Deployment', 'apps/v1beta2')} (expected apps/v1)",
            id="a version that nobody serves",
        ),
        pytest.param(
            workload("Deployment", replicas=100_000),
            objects_words.too_many_pods("stdin:document 4: Deployment w", 100_000, 20_000),
            id="more pods than anybody means",
        ),
        pytest.param(
            workload("Deployment", replicas="three"),
            "stdin:document 4: Deployment in version",
            id="text where a number belongs",
        ),
    ],
)
def test_a_workload_that_no_server_takes_is_refused_in_one_line(manifest: Manifest, said: str) -> None:
    result = plan(manifest)
    assert result.exit_code != 0
    assert str(result.exception or result.output).startswith(said)


def test_a_vcjob_counts_as_the_gang_that_its_controller_makes() -> None:
    made = vcjob("train", task("master", 1), task("worker", 3))
    result = plan(made)
    assert (len(bound(result)), result.stderr) == (4, "")
    assert plan(made).stdout == result.stdout, "the same input makes the same pods"


def test_tasks_of_a_vcjob_that_come_later_are_named() -> None:
    made = vcjob("train", task("first", 1), task("second", 2, dependsOn={"name": ["first"]}))
    result = plan(made)
    assert len(bound(result)) == 1
    said = objects_words.tasks_without_pods("1 task", "second")
    assert result.stderr == f"vsched: stdin:document 4: Job train: {said}\n"


def test_a_vcjob_that_could_not_be_run_is_refused() -> None:
    result = plan(vcjob("train"))
    assert isinstance(result.exception, BadInput)
    assert "stdin:document 4: Job train: " in str(result.exception)


def test_objects_with_a_generate_name_get_names_of_their_own() -> None:
    job = vcjob("one", task("a", 1))
    metadata = {key: value for key, value in job["metadata"].items() if key != "name"}
    jobs = [{**job, "metadata": {**metadata, "generateName": "one-"}} for _ in range(2)]
    result = plan(*jobs)
    assert bound(result) == ["n1", "n1"]
    assert result.stdout == plan(*jobs).stdout


def test_a_deployment_whose_pods_are_planned_is_not_ignored() -> None:
    assert json.loads(plan(workload("Deployment", replicas=1)).stdout)["ignored"] == {}
