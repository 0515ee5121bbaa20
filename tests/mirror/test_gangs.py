"""Pods of other operators become gangs by their owners, in whatever order objects arrive."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.operators import Obj, Seen, made_of, pod, sample
from vsched.mirror.ingest.words import groups as groups_words
from vsched.mirror.state import words as state_words

CASES = [
    pytest.param(
        "jobset",
        {"jobset-train": (5, {"driver": 1, "worker": 4}, 5)},
        id="a JobSet is one gang of all its Jobs, with a minimum for each role",
    ),
    pytest.param(
        "leaderworkerset",
        {
            "leaderworkerset-llm-0": (3, {"leader": 1, "worker": 2}, 3),
            "leaderworkerset-llm-1": (3, {"leader": 1, "worker": 2}, 3),
        },
        id="each group of a LeaderWorkerSet is a gang",
    ),
    pytest.param("trainjob", {"jobset-tune": (3, {}, 3)}, id="the JobSet of a TrainJob is the gang"),
    pytest.param(
        "pytorchjob",
        {"pytorchjob-bert": (4, {"master": 1, "worker": 3}, 4)},
        id="master and workers of a PyTorchJob start together",
    ),
    pytest.param(
        "mpijob",
        {"mpijob-pi": (4, {"launcher": 1, "worker": 3}, 4)},
        id="the launcher of an MPIJob, which a Job makes, is in the gang of the workers",
    ),
    pytest.param(
        "raycluster",
        {"raycluster-lab": (3, {"head": 1, "small": 2}, 5)},
        id="a RayCluster that grows starts with its minimum",
    ),
    pytest.param(
        "rayjob",
        {"raycluster-sum-cluster": (3, {"head": 1, "small": 2}, 3), "job-sum": (1, {}, 1)},
        id="the RayCluster of a RayJob is the gang, and the pod that submits is by itself",
    ),
    pytest.param(
        "sparkapplication",
        {"sparkapplication-etl-driver": (1, {}, 1), "sparkapplication-etl-executor": (2, {}, 3)},
        id="the driver of a SparkApplication starts first, then the minimum of its executors",
    ),
    pytest.param("statefulset", {"statefulset-ring": (4, {}, 4)}, id="a StatefulSet that says so is a gang"),
    pytest.param("job", {"job-sweep": (4, {}, 4)}, id="a Job that says so is a gang"),
    pytest.param(
        "workflow",
        {"pod-nightly-prepare": (1, {}, 1), "workflow-nightly-fan": (3, {}, 3)},
        id="steps of a Workflow are by themselves, unless their pods name a gang",
    ),
    pytest.param(
        "podgang",
        {"podgang-chat-0": (3, {"chat-0-decode": 1, "chat-0-prefill": 2}, 3)},
        id="prefill and decode pods of a PodGang are one gang with minima by role",
    ),
]


@pytest.mark.parametrize(("name", "gangs"), CASES)
@settings(max_examples=examples(25))
@given(data=st.data())
def test_what_an_operator_makes_is_a_gang_in_whatever_order_it_is_seen(name: str, gangs: Any, data: Any) -> None:
    obj = sample(name)
    seen = Seen()
    seen.tell(*data.draw(st.permutations([obj, *made_of(obj)])))
    assert seen.gangs() == gangs
    assert not seen.waiting()


@pytest.mark.parametrize(("name", "gangs"), CASES)
def test_a_gang_is_gone_with_its_pods_and_owners(name: str, gangs: Any) -> None:
    obj = sample(name)
    made = [obj, *made_of(obj)]
    seen = Seen()
    seen.tell(*made)
    seen.tell(obj, type="DELETED")
    assert seen.gangs() == gangs, "pods keep their gang when the owner goes before them"
    seen.tell(*made[1:], type="DELETED")
    assert not seen.gangs()
    assert seen.sizes() == (0, 0, 0), "nothing is kept of it"


@pytest.mark.parametrize(
    ("name", "gang", "queue"),
    [
        pytest.param("jobset", "jobset-train", "default", id="the label of Kueue"),
        pytest.param("trainjob", "jobset-tune", "default", id="the annotation of an owner further out"),
        pytest.param("pytorchjob", "pytorchjob-bert", "default", id="a path of the table"),
        pytest.param("rayjob", "job-sum", "default", id="an owner of a pod that is in no gang"),
    ],
)
def test_the_queue_is_what_an_owner_names(name: str, gang: str, queue: str) -> None:
    obj = sample(name)
    text = orjson.dumps(obj).replace(b'"default"', b'"research"')
    seen = Seen()
    obj = orjson.loads(text)
    seen.tell(obj, *made_of(obj))
    assert seen.jobs()[gang].queue == "research"


@pytest.mark.parametrize(
    ("name", "called"),
    [
        pytest.param("pytorchjob", {"PyTorchJob bert"}, id="all pods of one owner"),
        pytest.param(
            "leaderworkerset",
            {"LeaderWorkerSet llm (group 0)", "LeaderWorkerSet llm (group 1)"},
            id="a group for each replica",
        ),
        pytest.param("trainjob", {"JobSet tune"}, id="the object whose pods form the gang, and not one further out"),
        pytest.param("workflow", {"Pod nightly-prepare", "Workflow nightly (group fan)"}, id="a pod by itself"),
    ],
)
def test_a_gang_is_called_by_the_owner_that_it_was_found_by(name: str, called: set[str]) -> None:
    obj = sample(name)
    seen = Seen()
    seen.tell(obj, *made_of(obj))
    assert {spec.made_for for spec in seen.jobs().values()} == called


def test_a_pod_waits_for_the_owner_that_says_what_its_gang_is() -> None:
    obj = sample("pytorchjob")
    seen = Seen()
    seen.tell(*made_of(obj))
    why = state_words.waits_for_owner("PyTorchJob", "bert", state_words.OWNER_OF_IT)
    assert set(seen.waiting().values()) == {why}
    assert seen.cache.snapshot(0.0).jobs["default/podgroup-pytorchjob-bert"].gated == 4
    seen.tell(obj)
    assert not seen.waiting()
    assert seen.cache.snapshot(0.0).jobs["default/podgroup-pytorchjob-bert"].gated == 0


def test_a_pod_waits_for_an_owner_of_its_owner() -> None:
    obj = sample("rayjob")
    made = made_of(obj)
    seen = Seen()
    seen.tell(*made)
    assert {*seen.waiting().values()} == {state_words.waits_for_owner("RayJob", "sum", state_words.OWNER_OF_IT)}
    seen.tell(obj)
    assert not seen.waiting()


def test_a_pod_waits_for_the_object_that_its_label_names() -> None:
    seen = Seen()
    seen.tell(*made_of(sample("podgang"))[:1])
    label = state_words.which_label_names("grove.io/podgang")
    assert {*seen.waiting().values()} == {state_words.waits_for_owner("PodGang", "chat-0", label)}


def test_nobody_waits_for_a_kind_that_may_not_be_read() -> None:
    obj = sample("pytorchjob")
    seen = Seen()
    seen.cache.intake.set_refused("PyTorchJob.kubeflow.org", refused=True)
    seen.tell(*made_of(obj))
    assert seen.gangs() == {"pytorchjob-bert": (1, {}, 4)}, "as Volcano has them"
    seen.cache.intake.set_refused("PyTorchJob.kubeflow.org", refused=False)
    assert len(seen.waiting()) == 4


@pytest.mark.parametrize(
    ("name", "edit", "gangs"),
    [
        pytest.param(
            "jobset",
            {"metadata": {"name": "train", "annotations": {"vsched.io/gang": "false"}}},
            {"job-train-driver-0": (1, {}, 1), "job-train-worker-0": (1, {}, 2), "job-train-worker-1": (1, {}, 2)},
            id="an annotation says that it is no gang",
        ),
        pytest.param(
            "jobset",
            {"metadata": {"name": "train", "annotations": {"scheduling.volcano.sh/group-min-member": "3"}}},
            {"jobset-train": (3, {}, 5)},
            id="an annotation states another minimum",
        ),
        pytest.param(
            "job",
            {"metadata": {"name": "sweep"}},
            {"job-sweep": (1, {}, 4)},
            id="a Job that says nothing is as Volcano has it",
        ),
        pytest.param(
            "statefulset",
            {"metadata": {"name": "ring"}},
            {"statefulset-ring": (1, {}, 4)},
            id="a StatefulSet that says nothing is as Volcano has it",
        ),
    ],
)
def test_annotations_say_otherwise(name: str, edit: Obj, gangs: Any) -> None:
    obj = sample(name)
    made = made_of(obj)
    seen = Seen()
    seen.tell({**obj, **edit}, *made)
    assert seen.gangs() == gangs


def test_a_job_is_a_gang_only_as_long_as_it_says_so() -> None:
    obj = sample("job")
    plain = {**obj, "metadata": {"name": "sweep"}}
    seen = Seen()
    seen.tell(plain, *made_of(obj))
    assert (seen.gangs(), seen.sizes()) == ({"job-sweep": (1, {}, 4)}, (0, 0, 0))
    seen.tell(obj)
    assert seen.gangs() == {"job-sweep": (4, {}, 4)}
    seen.tell(plain, made_of(obj)[0])
    assert seen.gangs() == {"job-sweep": (1, {}, 4)}


def test_an_edit_of_the_owner_changes_the_gang() -> None:
    obj = sample("pytorchjob")
    seen = Seen()
    seen.tell(obj, *made_of(obj))
    obj["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 5
    seen.tell(obj)
    assert seen.gangs() == {"pytorchjob-bert": (6, {"master": 1, "worker": 5}, 4)}


def test_an_owner_that_cannot_be_read_says_so_and_its_pods_wait() -> None:
    obj = sample("pytorchjob")
    pods = made_of(obj)
    obj["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = "three"
    seen = Seen()
    seen.tell(obj, *pods)
    problem = seen.cache.broken["PyTorchJob.kubeflow.org", "default/bert"].message
    assert problem == (
        groups_words.no_count("PyTorchJob.kubeflow.org default/bert: replicas", "three", "replicas of worker")
    )
    assert len(seen.waiting()) == 4


@pytest.mark.parametrize("spec", [{"schedulingGroup": {"podGroupName": "g"}}, {"schedulerName": "other"}])
def test_pods_with_a_native_group_or_of_other_schedulers_are_left_alone(spec: Obj) -> None:
    obj = sample("pytorchjob")
    pods = made_of(obj)
    for each in pods:
        each["spec"] |= spec
    seen = Seen()
    seen.tell(obj, *pods)
    assert not seen.gangs()
    assert seen.cache.describe()["owned_pods"] == 0


def test_pods_that_name_another_podgroup_stay_there() -> None:
    obj = sample("pytorchjob")
    pods = made_of(obj)
    for each in pods:
        each["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "theirs"}
    seen = Seen()
    seen.tell(*pods, obj)
    assert not seen.gangs()
    assert len(seen.cache.snapshot(0.0).strays["default/theirs"].tasks) == 4


def test_pods_that_name_the_podgroup_of_their_gang_are_in_it() -> None:
    obj = sample("mpijob")
    made = made_of(obj)
    for each in made:
        if each["kind"] == "Pod":
            each["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "podgroup-mpijob-pi"}
    seen = Seen()
    seen.tell(*made, obj)
    assert seen.gangs() == {"mpijob-pi": (4, {"launcher": 1, "worker": 3}, 4)}


def test_a_kind_of_ones_own_comes_from_a_file() -> None:
    table = (
        "workloads: [{apiVersions: [example.com/v1], kind: Service, roles: [{each: spec.parts, nameFrom: name, "
        "pods: {part: '{name}'}, replicas: replicas}], split: [{labels: [replica]}]}]"
    )
    obj = {
        "apiVersion": "example.com/v1",
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {"parts": [{"name": "prefill", "replicas": 2}, {"name": "decode", "replicas": 1}]},
    }
    pods = [
        pod(f"chat-{replica}-{part}-{number}", obj, {"part": part, "replica": replica})
        for replica in "ab"
        for part, count in (("prefill", 2), ("decode", 1))
        for number in range(count)
    ]
    seen = Seen(table)
    seen.tell(obj, *pods)
    minima = {"decode": 1, "prefill": 2}
    assert seen.gangs() == {"service-chat-a": (3, minima, 3), "service-chat-b": (3, minima, 3)}
    assert seen.jobs()["service-chat-a"].gang == "Service chat"


def test_pods_of_a_deployment_that_says_so_are_one_gang_over_its_replica_sets() -> None:
    table = (
        "workloads: [{apiVersions: [apps/v1], kind: Deployment, annotated: true, marks: [pod-template-hash], "
        "roles: [{name: pod, replicas: spec.replicas}]}]"
    )
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "ring", "annotations": {"vsched.io/gang": "true"}},
        "spec": {"replicas": 4},
    }
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "ring", "controller": True}
    sets = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"ring-{which}",
                "ownerReferences": [owner],
            },
            "spec": {},
        }
        for which in "ab"
    ]
    pods = [pod(f"{each['metadata']['name']}-{n}", each, {"pod-template-hash": "x"}) for each in sets for n in range(2)]
    seen = Seen(table)
    seen.tell(*pods, *sets)
    assert len(seen.waiting()) == 4, "the Deployment has not been seen"
    seen.tell(deployment)
    assert seen.gangs() == {"deployment-ring": (4, {}, 4)}
    seen.tell({**deployment, "metadata": {"name": "ring"}})
    assert seen.gangs() == {"replicaset-ring-a": (1, {}, 2), "replicaset-ring-b": (1, {}, 2)}


FIELDS = (
    *("replicatedJobs", "leaderWorkerTemplate", "pytorchReplicaSpecs", "workerGroupSpecs", "podgroups", "executor"),
    *("mpiReplicaSpecs", "dynamicAllocation", "runPolicy", "parallelism", "replicas", "suspend"),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "replicas", "spec", "template", "size", "minReplicas", "groupName"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    name=st.sampled_from([case.values[0] for case in CASES]),
    spec=st.dictionaries(st.sampled_from(FIELDS), _JSON) | _JSON,
)
def test_whatever_an_object_says_its_pods_are_placed_or_wait_with_a_reason(name: str, spec: Any) -> None:
    obj = sample(name)
    made = made_of(obj)
    seen = Seen()
    seen.tell({**obj, "spec": spec}, *made)
    shown = {task.name for job in seen.cache.snapshot(0.0).jobs.values() for task in job.tasks.values()}
    assert shown == {each["metadata"]["name"] for each in made if each["kind"] == "Pod"}
    broken = [problem for problem in seen.cache.unused() if problem.kind != "Pod"]
    assert not seen.waiting() or len(broken) == 1
    assert all("\n" not in problem.message for problem in broken)
