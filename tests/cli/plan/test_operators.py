"""What operators make of their objects on paper: the pods, their gangs, and what cannot be known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.operators import Obj, Seen, made_of, sample
from tests.support.plans import DEFAULT_POLICY, manifests
from tests.support.questions import recording_of
from vsched.api.manifests import Origin
from vsched.cli import cli
from vsched.cli.plan.live import WhatIf, what_if
from vsched.cli.plan.on_paper import decide_on_paper
from vsched.cli.plan.submit import submit_of
from vsched.cli.plan.words import objects as objects_words
from vsched.cli.plan.workloads import decode_with_pods
from vsched.errors import BadInput
from vsched.mirror.ingest.words import groups as groups_words
from vsched.settings.workloads import built_in_table

CLUSTER = "node n1 cpu=4\nnode n2 cpu=4"
Gang = tuple[int, tuple[tuple[str, int], ...], int]
"""The minimum, the minima by role, and how many pods there are."""


def plan(*objects: Obj, cluster: str = CLUSTER, flags: tuple[str, ...] = ()) -> Result:
    text = yaml.safe_dump_all([*manifests(cluster), *deepcopy(objects)])
    return CliRunner().invoke(cli, ["plan", "-f", "-", "-o", "json", *flags], input=text)


def bound(result: Result) -> list[str]:
    """The pods that are bound, without the namespace."""
    assert result.exit_code == 0, result.output
    (cycle,) = json.loads(result.stdout)["cycles"]
    return sorted(bind["pod"].partition("/")[2] for bind in cycle["binds"])


def gangs(*objects: Obj) -> list[Gang]:
    """The gangs of what a plan makes of objects."""
    table = built_in_table()
    found = decode_with_pods([(Origin("t", str(at)), each) for at, each in enumerate(objects)], table)
    paper = decide_on_paper(found, DEFAULT_POLICY, ("vsched", ""), cycles=1, now=0.0, workloads=table)
    jobs = paper.mirror.snapshot(0.0).jobs.values()
    return sorted((job.spec.min_member, job.spec.min_task_member, len(job.tasks)) for job in jobs)


def edited(name: str, edit: Callable[[Obj], Any]) -> Obj:
    obj = sample(name)
    edit(obj)
    return obj


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        pytest.param("jobset", lambda obj: None, id="JobSet"),
        pytest.param(
            "jobset",
            lambda obj: obj["spec"].update(startupPolicy={"startupPolicyOrder": "InOrder"}),
            id="JobSet whose jobs start one after the other",
        ),
        pytest.param("leaderworkerset", lambda obj: None, id="LeaderWorkerSet"),
        pytest.param("pytorchjob", lambda obj: None, id="PyTorchJob"),
        pytest.param("pytorchjob", lambda obj: obj["spec"].update(elasticPolicy={"minReplicas": 2}), id="elastic"),
        pytest.param("mpijob", lambda obj: None, id="MPIJob"),
        pytest.param("raycluster", lambda obj: None, id="RayCluster"),
        pytest.param("sparkapplication", lambda obj: None, id="SparkApplication"),
    ],
)
def test_the_gangs_are_those_that_the_daemon_forms(name: str, edit: Callable[[Obj], Any]) -> None:
    """The same numbers as of the pods that the operator makes in a cluster."""
    obj = edited(name, edit)
    seen = Seen()
    seen.tell(obj, *made_of(obj))
    assert gangs(obj) == sorted((least, tuple(roles.items()), pods) for least, roles, pods in seen.gangs().values())


def test_a_gang_that_does_not_fit_waits_whole() -> None:
    result = plan(sample("jobset"), cluster="node n1 cpu=4")
    assert bound(result) == []
    assert len(json.loads(result.stdout)["unschedulable"]) == 5


def test_each_replica_of_a_leaderworkerset_starts_or_waits_by_itself() -> None:
    assert bound(plan(sample("leaderworkerset"), cluster="node n1 cpu=5")) == [
        "llm-0-leader-0",
        "llm-0-worker-0",
        "llm-0-worker-1",
    ]


def test_a_rayjob_becomes_its_cluster_and_the_pod_that_submits_it() -> None:
    pods = sample("rayjob")["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]
    obj = edited("rayjob", lambda obj: obj["spec"].update(submitterPodTemplate=pods))
    result = plan(obj)
    assert (len(bound(result)), result.stderr) == (4, "")
    assert gangs(obj) == [(1, (), 1), (3, (("head", 1), ("small", 2)), 3)]


def test_an_annotated_job_is_a_gang_in_a_plan_as_well() -> None:
    assert bound(plan(sample("job"), cluster="node n1 cpu=3")) == []
    assert len(bound(plan(sample("job"), cluster="node n1 cpu=4"))) == 4


# -- Kubeflow Trainer: the pods are those of a runtime ----------------------------------------------------------------


def runtime(**policy: Any) -> Obj:
    def job(name: str, *, trainer: bool) -> Obj:
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"} if trainer else {}
        container = {"name": name, "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
        pods = {"spec": {"schedulerName": "vsched", "restartPolicy": "Never", "containers": [container]}}
        return {"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}}

    with_mpi = "mpi" in policy
    jobs = [*([job("launcher", trainer=True)] if with_mpi else []), job("node", trainer=not with_mpi)]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch-vsched"},
        "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}},
    }


@pytest.mark.parametrize(
    ("policy", "trainer", "nodes"),
    [
        pytest.param({"numNodes": 1}, {"numNodes": 3}, [(3, (), 3)], id="nodes of the TrainJob"),
        pytest.param({"numNodes": 2}, {}, [(2, (), 2)], id="nodes of the runtime"),
        pytest.param(
            {"numNodes": 1, "mpi": {"runLauncherAsNode": True}},
            {"numNodes": 3},
            [(3, (("launcher", 1), ("node", 2)), 3)],
            id="with MPI, the launcher may be one of them",
        ),
        pytest.param(
            {"mpi": {"mpiImplementation": "OpenMPI"}},
            {"numNodes": 3},
            [(4, (("launcher", 1), ("node", 3)), 4)],
            id="or not",
        ),
    ],
)
def test_a_trainjob_has_the_pods_of_its_runtime(policy: Obj, trainer: Obj, nodes: list[Gang]) -> None:
    obj = edited("trainjob", lambda obj: obj["spec"].update(trainer=trainer))
    assert gangs(obj, runtime(**policy)) == nodes


def test_the_runtime_among_the_samples_is_that_of_the_trainjob() -> None:
    assert gangs(sample("trainjob"), sample("trainingruntime")) == [(3, (), 3)]


def test_its_nodes_have_the_resources_that_the_trainjob_says() -> None:
    more = {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "2"}}}
    obj = edited("trainjob", lambda obj: obj["spec"].update(trainer=more))
    assert bound(plan(obj, runtime(), cluster="node n1 cpu=5")) == []
    assert len(bound(plan(obj, runtime(), cluster="node n1 cpu=6"))) == 3


# -- what cannot be known ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("obj", "pods", "said"),
    [
        pytest.param(
            sample("trainjob"),
            0,
            "TrainJob tune: " + objects_words.not_among_manifests("ClusterTrainingRuntime", "torch-vsched", "JobSet"),
            id="a runtime that is not there",
        ),
        pytest.param(
            sample("rayjob"),
            3,
            f"RayJob sum: {objects_words.missing('spec.submitterPodTemplate', 'Job')}",
            id="a pod that the operator makes up",
        ),
        pytest.param(
            sample("podgang"),
            0,
            f"PodGang chat-0: {objects_words.KIND_UNKNOWN}",
            id="a kind without templates",
        ),
        pytest.param(
            edited("jobset", lambda obj: obj["spec"].update(suspend=True)),
            0,
            f"JobSet train: {objects_words.SUSPENDED}",
            id="a workload that is suspended",
        ),
        pytest.param(
            edited("pytorchjob", lambda obj: obj["spec"]["pytorchReplicaSpecs"]["Worker"].pop("template")),
            0,
            f"PyTorchJob bert: {objects_words.cannot_be_planned('3 pods', 'worker', 'template')}",
            id="a role without a template: its gang lacks them",
        ),
        pytest.param(
            edited("sparkapplication", lambda obj: obj["spec"]["driver"].update(gpu={"name": "g", "quantity": 1})),
            4,
            f"SparkApplication etl: {objects_words.not_applied('spec.driver.gpu')}",
            id="a field that changes pods",
        ),
        pytest.param(
            sample("sparkapplication"),
            4,
            f"SparkApplication etl: {objects_words.SEPARATE_GANGS}",
            id="roles that start one after the other",
        ),
    ],
)
def test_what_cannot_be_known_is_said_in_one_line(obj: Obj, pods: int, said: str) -> None:
    result = plan(obj)
    assert len(bound(result)) == pods
    assert f"vsched: stdin:document 3: {said}" in result.stderr.splitlines()


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        pytest.param(
            edited("pytorchjob", lambda obj: obj["spec"]["pytorchReplicaSpecs"]["Worker"].update(replicas="many")),
            groups_words.no_count("replicas", "many", "replicas of worker"),
            id="text where a number belongs",
        ),
        pytest.param(
            edited("jobset", lambda obj: obj["spec"]["replicatedJobs"][1].update(replicas=100_000)),
            objects_words.too_many_pods("JobSet train", 200001, 20000),
            id="more pods than anybody means",
        ),
        pytest.param(
            edited("sparkapplication", lambda obj: obj["spec"]["driver"].update(memory="much")),
            objects_words.no_jvm_memory("spec.driver.memory", "much"),
            id="memory that Spark does not read",
        ),
    ],
)
def test_a_field_that_makes_no_sense_is_refused_in_one_line(obj: Obj, message: str) -> None:
    result = plan(obj)
    assert isinstance(result.exception, BadInput)
    assert str(result.exception) == f"stdin:document 3: {message}"


# -- Spark ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "memory"),
    [
        pytest.param({"memory": "4g"}, "4506Mi", id="a tenth more for what is not on the heap"),
        pytest.param({"memory": "512m"}, "896Mi", id="at least 384 MiB more"),
        pytest.param({"memory": "4g", "memoryOverhead": "1g"}, "5Gi", id="as much more as it says"),
        pytest.param({"memory": "4096"}, "4506Mi", id="MiB without a unit"),
        pytest.param({}, "1408Mi", id="one GiB where it says nothing"),
    ],
)
def test_the_memory_of_a_spark_pod_is_that_of_its_jvm_and_overhead(spec: Obj, memory: str) -> None:
    obj = edited("sparkapplication", lambda obj: obj["spec"].update(type="Scala", driver=spec))
    obj["spec"]["executor"]["instances"] = 0
    result = plan(obj)
    assert bound(result) == ["etl-driver-0"]
    assert json.loads(result.stdout)["queues"]["default"]["allocated"]["memory"] == memory


# -- beside other objects ---------------------------------------------------------------------------------------------


def test_pods_from_a_cluster_whose_owner_is_not_among_the_manifests_do_not_wait_for_it() -> None:
    obj = sample("pytorchjob")
    *_, pod = made_of(obj)
    pod["metadata"]["ownerReferences"][0]["uid"] = "u-1"
    assert bound(plan(pod)) == ["bert-worker-2"]
    there = edited("pytorchjob", lambda obj: obj["metadata"].update(uid="u-1"))
    assert bound(plan(there, pod)) == [], "with its owner, it waits for the rest of its gang"


def test_a_table_of_ones_own_says_what_is_made(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    role = {"name": "pod", "replicas": "spec.size", "template": "spec.pods"}
    path.write_text(
        yaml.safe_dump({"workloads": [{"apiVersions": ["example.com/v1"], "kind": "Ring", "roles": [role]}]})
    )
    template = sample("jobset")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    obj = {
        "apiVersion": "example.com/v1",
        "kind": "Ring",
        "metadata": {"name": "r"},
        "spec": {"size": 5, "pods": template},
    }
    assert bound(plan(obj, cluster="node n1 cpu=4", flags=("--workloads", str(path)))) == []
    assert len(bound(plan(obj, cluster="node n1 cpu=5", flags=("--workloads", str(path))))) == 5
    assert json.loads(plan(obj).stdout)["ignored"] == {"Ring": 1}


def submitted(folder: Path, *objects: Obj, cluster: str = "node n1 cpu=8", there: Sequence[Obj] = ()) -> WhatIf:
    path = folder / "new.yaml"
    path.write_text(yaml.safe_dump_all(deepcopy(objects)))
    return what_if(recording_of(cluster, *there), [submit_of(str(path))], workloads=built_in_table())


def test_a_submitted_workload_starts_as_a_gang_or_not_at_all(tmp_path: Path) -> None:
    (fate,) = submitted(tmp_path, sample("jobset")).changes.submitted
    assert (fate.kind, fate.name, fate.pods, fate.placed) == ("JobSet", "default/train", 5, 5)
    (fate,) = submitted(tmp_path, sample("jobset"), cluster="node n1 cpu=4").changes.submitted
    assert (fate.pods, fate.placed) == (5, 0)
    assert fate.message


def test_what_is_submitted_finds_its_runtime_in_the_same_file(tmp_path: Path) -> None:
    what = submitted(tmp_path, sample("trainjob"), runtime())
    assert [(one.kind, one.pods, one.placed) for one in what.changes.submitted] == [("JobSet", 3, 3)]
    what = submitted(tmp_path, sample("trainjob"))
    assert not what.changes.submitted
    assert any("its ClusterTrainingRuntime torch-vsched is not among the manifests" in note for note in what.notes)


def test_a_gang_of_which_a_quota_refuses_pods_waits(tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"hard": {"pods": "2"}},
        "status": {"hard": {"pods": "2"}, "used": {"pods": "0"}},
    }
    what = submitted(tmp_path, sample("jobset"), there=[quota])
    assert [(one.pods, one.placed) for one in what.changes.submitted] == [(2, 0)]
    assert any(objects_words.no_more_pods("", "JobSet", "default/train", 2, "") in note for note in what.notes)
