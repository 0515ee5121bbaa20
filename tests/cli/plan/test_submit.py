"""What a what-if makes of new objects: the pods of workloads, what the server fills in, what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.cli.plan import workloads
from tests.support.hypernodes import hypernode, hypernode_object
from tests.support.plans import NOW, Manifest
from tests.support.questions import trial_of
from tests.support.vcjob_cluster import task, vcjob
from vsched.cli.plan.submit import submit_of
from vsched.cli.plan.trial import PlanTrial
from vsched.cli.plan.words import objects as objects_words
from vsched.errors import BadInput
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

CLUSTER = """
    node n1 cpu=4 zone=a
    node n2 cpu=4 zone=b taint=dedicated:yes
    node n3 cpu=4 zone=a cordoned
    queue prod weight=2
    class high 100
    job x/there min=1 pods=1 cpu=1 queue=prod phase=Running on=n1
"""
SPEC = {
    "schedulerName": "vsched",
    "containers": [{"name": "main", "image": "busybox", "resources": {"limits": {"cpu": "1"}}}],
}


workload = partial(workloads.workload, pod=SPEC)


def pod(name: str = "p", group: str = "", **spec: Any) -> Manifest:
    annotations = {"scheduling.k8s.io/group-name": group} if group else {}
    metadata = {"name": name, "namespace": "x", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**SPEC, **spec}}


def group(name: str = "g", minimum: int = 2, **spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "x"},
        "spec": {"minMember": minimum, "queue": "prod", **spec},
    }


def submitted(folder: Path, *objects: Manifest, text: str = CLUSTER, there: Sequence[Manifest] = ()) -> PlanTrial:
    path = folder / "new.yaml"
    path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    trial = trial_of(text, *there)
    submit_of(str(path)).apply(trial)
    return trial


def waiting(trial: PlanTrial) -> list[Task]:
    seen = trial.mirror.snapshot(NOW)
    found = [task for job in seen.jobs.values() for task in job.tasks.values() if task.status is Status.PENDING]
    return sorted(found, key=lambda task: task.name)


never = dict(SPEC, restartPolicy="Never")
WORKLOADS = {
    "a Deployment": (workload("Deployment", replicas=3), 3),
    "a Deployment that says no number": (workload("Deployment"), 1),
    "a Deployment that is paused": (workload("Deployment", replicas=3, paused=True), 0),
    "a ReplicaSet of more than a burst": (workload("ReplicaSet", replicas=230), 230),
    "a StatefulSet": (workload("StatefulSet", replicas=3, serviceName="w"), 3),
    "a DaemonSet, on nodes that its pods stand": (workload("DaemonSet"), 2),
    "a Job": (workload("Job", "batch/v1", parallelism=2, completions=5, template={"spec": never}), 2),
    "a Job by index": (
        workload("Job", "batch/v1", parallelism=9, completions=3, completionMode="Indexed", template={"spec": never}),
        3,
    ),
    "a Job that is suspended": (
        workload("Job", "batch/v1", parallelism=2, suspend=True, template={"spec": never}),
        0,
    ),
}


@pytest.mark.parametrize(("manifest", "pods"), WORKLOADS.values(), ids=WORKLOADS.keys())
def test_workloads_become_the_pods_that_their_controllers_make(tmp_path: Path, manifest: Manifest, pods: int) -> None:
    trial = submitted(tmp_path, manifest)
    tasks = waiting(trial)
    assert len(tasks) == pods
    assert len({task.uid for task in tasks}) == pods
    assert len({task.job for task in tasks}) == min(pods, 1)
    assert all(task.owned for task in tasks)
    [sent] = trial.sent
    assert (sent.kind, sent.name, len(sent.pods)) == (manifest["kind"], "x/w", pods)


def test_a_gang_is_one_object_with_its_pods(tmp_path: Path) -> None:
    trial = submitted(tmp_path, pod("p1", "g"), group(), pod("p2", "g"))
    assert [(sent.kind, sent.name, len(sent.pods)) for sent in trial.sent] == [("PodGroup", "x/g", 2)]
    assert {task.job for task in waiting(trial)} == {"x/g"}


def test_pods_of_a_workload_that_name_a_podgroup_count_for_both(tmp_path: Path) -> None:
    template = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}, "spec": never}
    trial = submitted(tmp_path, group(), workload("Job", "batch/v1", parallelism=2, template=template))
    assert [(sent.kind, len(sent.pods)) for sent in trial.sent] == [("PodGroup", 2), ("Job", 2)]
    assert {task.job for task in waiting(trial)} == {"x/g"}


def test_pods_are_as_the_server_stores_them(tmp_path: Path) -> None:
    [task] = waiting(submitted(tmp_path, pod(priorityClassName="high")))
    assert task.priority == 100
    assert dict(task.shape.request)[0] == 1000  # asked for as much as the limit allows
    assert task.created > NOW


def test_a_pod_of_another_scheduler_is_left_to_it_and_that_is_said(tmp_path: Path) -> None:
    trial = submitted(tmp_path, pod(schedulerName="other"))
    assert waiting(trial) == []
    assert trial.sent == []
    assert objects_words.left_to("", "1 pod", "other") in trial.notes[0]


def test_pods_that_name_no_scheduler_are_planned_for_where_that_is_asked(tmp_path: Path) -> None:
    manifest = pod()
    del manifest["spec"]["schedulerName"]
    assert len(waiting(submitted(tmp_path, manifest))) == 1


def test_a_queue_that_is_new_takes_work_at_once(tmp_path: Path) -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "new"}}
    trial = submitted(tmp_path, pod("p1", "g"), group(queue="new"), queue)
    seen = trial.mirror.snapshot(NOW)
    assert seen.queues["new"].open
    assert seen.jobs["x/g"].spec.queue == "new"


def test_a_podgroup_that_is_there_gets_another_spec_and_keeps_its_pods(tmp_path: Path) -> None:
    trial = submitted(tmp_path, group("there", 5))
    job = trial.mirror.snapshot(NOW).jobs["x/there"]
    assert (job.spec.min_member, job.spec.phase, len(job.tasks)) == (5, "Running", 1)
    assert trial.notes == [objects_words.spec_replaced("PodGroup", "x/there")]


def test_a_hypernode_is_made_or_gets_another_spec(tmp_path: Path) -> None:
    there = hypernode_object("rack", 1, "n1", tier_name="rack")
    trial = submitted(tmp_path, hypernode_object("rack", 2, "~n"), hypernode_object("new", 1, "n1"), there=[there])
    known = trial.mirror.snapshot(NOW).topology
    found = tuple(msgspec.structs.replace(one, uid="") for one in known.hypernodes)
    assert found == (hypernode("new", 1, "n1"), hypernode("rack", 2, "~n"))
    assert trial.notes == [objects_words.spec_replaced("HyperNode", "rack")]
    with pytest.raises(BadInput, match=r"spec\.tier"):
        submitted(tmp_path, hypernode_object("rack", -1))


def test_a_pod_of_a_class_that_preempts_nobody_preempts_nobody(tmp_path: Path) -> None:
    meek = {"kind": "PriorityClass", "metadata": {"name": "meek"}, "value": 9, "preemptionPolicy": "Never"}
    [task] = waiting(submitted(tmp_path, pod(priorityClassName="meek"), there=[meek]))
    assert (task.priority, task.preempts) == (9, False)


def test_what_is_there_for_everybody_stays_as_it_is(tmp_path: Path) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    known = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
    trial = submitted(tmp_path, namespace, known)
    assert trial.notes == [
        objects_words.stays("Namespace", "x"),
        objects_words.stays("PriorityClass", "high"),
    ]
    with pytest.raises(BadInput, match="already exists"):
        submitted(tmp_path, {**known, "value": 7})


QUOTA = "quota x/small requests.cpu=4 pods=9 used=requests.cpu:2,pods:1"


def test_a_quota_lets_a_controller_make_so_many_pods_and_no_more(tmp_path: Path) -> None:
    trial = submitted(tmp_path, workload("Deployment", replicas=5), text=f"{CLUSTER}{QUOTA}")
    assert len(waiting(trial)) == len(trial.sent[0].pods) == 2
    [note] = trial.notes
    assert objects_words.no_more_pods("", "Deployment", "x/w", 2, "pods") in note
    assert "exceeded quota: small, requested: requests.cpu=1, used: requests.cpu=4, limited: requests.cpu=4" in note
    [quota] = trial.mirror.snapshot(NOW).quotas["x"]
    assert {line.name: line.used for line in quota.lines} == {"requests.cpu": 4000, "pods": 3}
    with pytest.raises(BadInput, match="exceeded quota: small"):
        submitted(tmp_path, pod("a"), pod("b"), pod("c"), text=f"{CLUSTER}{QUOTA}")


def test_a_workload_whose_pods_seem_to_be_there_is_said_to_come_on_top(tmp_path: Path) -> None:
    owners = [{"uid": "u", "kind": "ReplicaSet", "name": "w-abc", "controller": True}]
    old = pod("w-5d8f-xyz12")
    old["metadata"] |= {"uid": "old", "ownerReferences": owners}
    trial = submitted(tmp_path, workload("Deployment", replicas=2), there=[old])
    [note] = trial.notes
    assert note.endswith(objects_words.seem_to_exist("", "1 pod", "Deployment", "x/w"))


def test_what_makes_no_pods_here_is_counted_and_told(tmp_path: Path) -> None:
    volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "metadata": {"name": "v"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    trial = submitted(tmp_path, volcano, secret)
    assert trial.ignored == {"CronJob": 1, "Secret": 1}
    assert [note.partition(": ")[2] for note in trial.notes] == [f"CronJob: {objects_words.NO_PODS_HERE}"]


def test_a_vcjob_is_its_podgroup_with_its_pods(tmp_path: Path) -> None:
    trial = submitted(tmp_path, vcjob("train", task("worker", 3)))
    [sent] = trial.sent
    assert (sent.kind, len(sent.pods)) == ("PodGroup", 3)
    assert sent.name.startswith("default/train-")


def test_a_namespace_that_is_not_there_is_told(tmp_path: Path) -> None:
    manifest = pod()
    manifest["metadata"]["namespace"] = "fresh"
    assert submitted(tmp_path, manifest).notes == [objects_words.no_namespace("fresh")]


def test_a_stateful_set_says_that_it_takes_its_time(tmp_path: Path) -> None:
    manifest = workload("StatefulSet", replicas=2, serviceName="w")
    [note] = submitted(tmp_path, manifest).notes
    assert note.endswith(objects_words.statefulset_starts("", "x/w"))


def test_the_same_file_makes_the_same_pods(tmp_path: Path) -> None:
    names = [[task.name for task in waiting(submitted(tmp_path, WORKLOADS["a Deployment"][0]))] for _ in range(2)]
    assert names[0] == names[1]


bad_name = pod("Not A Name")
REFUSED = {
    "a name that is none": ([bad_name], "a lowercase RFC 1123 subdomain"),
    "a pod that is there": ([pod("there.0")], 'pods "there.0" already exists'),
    "the same pod twice": ([pod(), pod()], 'pods "p" already exists'),
    "a class that is not there": ([pod(priorityClassName="higher")], "no PriorityClass with name higher was found"),
    "a field of the wrong type": ([workload("Deployment", replicas="many")], "cannot unmarshal string"),
    "an amount that is none": (
        [pod(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "x"}}}])],
        "quantities must match",
    ),
    "a namespace that is no text": (
        [{**pod(), "metadata": {"name": "p", "namespace": {"a": "b"}}}],
        objects_words.no_text("", "Pod", "metadata.namespace", {"a": "b"}),
    ),
    "a version that nobody serves": (
        [{**pod(), "apiVersion": "v9"}],
        objects_words.not_served("Pod", "v9") + " (expected v1)",
    ),
    "no name": ([{"apiVersion": "v1", "kind": "Pod", "metadata": {}}], "metadata.name: missing"),
    "a mistyped number": (
        [workload("Deployment", replicas=1_000_000)],
        objects_words.too_many_pods("", 1_000_000, 20_000),
    ),
}


@pytest.mark.parametrize(("objects", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_the_server_would_refuse_is_refused_with_its_place(
    tmp_path: Path, objects: list[Manifest], says: str
) -> None:
    with pytest.raises(BadInput) as refused:
        submitted(tmp_path, *objects)
    assert says in str(refused.value)
    assert "new.yaml:document" in str(refused.value)


def test_a_file_with_nothing_in_it_is_no_question(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("---\n---\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"empty\.yaml: nothing in it"):
        submit_of(str(path))
