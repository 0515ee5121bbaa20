"""How much is read of one object: what says more is left out with the field, its number and the bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import builders as make
from tests.support import oversized as big
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.api import words as wire_words
from vsched.framework.cycle import run_cycle
from vsched.framework.words import jobs as jobs_words
from vsched.mirror.awaiting_columns import AT_ONCE
from vsched.mirror.ingest.bounds import (
    ADDED_LABELS_MAX,
    CONTAINERS_MAX,
    DIVIDED_MAX,
    GATES_MAX,
    LABELS_MAX,
    NAME_LENGTH_MAX,
    PART_BYTES_MAX,
    POD_TERMS_MAX,
    PORTS_MAX,
    REQUIREMENTS_MAX,
    RESOURCES_MAX,
    ROLES_MAX,
    SPREAD_MAX,
    STRATEGY_MAX,
    TERMS_MAX,
    TOLERATIONS_MAX,
    VALUES_MAX,
)
from vsched.mirror.ingest.words import fields as fields_words
from vsched.mirror.mirror import Mirror
from vsched.model import words as model_words
from vsched.settings.built_in import REGISTRY

Manifest = dict[str, Any]
TERMS = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
CHOICE = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def tell(cache: Mirror, manifest: Manifest, type: str = "ADDED") -> None:
    cache.intake.apply(manifest["kind"], type, make.read(manifest))


def told(cache: Mirror) -> list[str]:
    """Why objects are left out, and why pods wait whatever room there is."""
    pods = (task for job in cache.snapshot(NOW).jobs.values() for task in job.pending.values())
    waits = [f"Pod {task.key}: {task.unsupported}" for task in pods if task.unsupported]
    groups = (job.spec for job in cache.snapshot(NOW).jobs.values() if not job.spec.implicit)
    waits += [f"PodGroup {spec.namespace}/{spec.name}: {spec.unsupported}" for spec in groups if spec.unsupported]
    return waits + [note.message for note in cache.broken.values()]


@pytest.mark.parametrize(
    ("made", "most", "field"),
    [
        pytest.param(big.labelled, LABELS_MAX, "metadata.labels", id="labels of a pod"),
        pytest.param(big.spread, SPREAD_MAX, "spec.topologySpreadConstraints", id="spread constraints"),
        pytest.param(big.apart, POD_TERMS_MAX, TERMS, id="terms about other pods"),
        pytest.param(big.choosing, TERMS_MAX, CHOICE, id="terms of node affinity"),
        pytest.param(
            lambda count: big.choosing(1, count),
            VALUES_MAX,
            f"{CHOICE}[0].matchExpressions[0].values",
            id="values of a requirement",
        ),
        pytest.param(big.selecting, REQUIREMENTS_MAX, "spec.nodeSelector", id="labels of a node selector"),
        pytest.param(big.tolerating, TOLERATIONS_MAX, "spec.tolerations", id="tolerations"),
        pytest.param(big.containing, CONTAINERS_MAX, "spec.containers", id="containers"),
        pytest.param(big.listening, PORTS_MAX, "spec.containers[0].ports", id="ports of a container"),
        pytest.param(big.gated, GATES_MAX, "spec.schedulingGates", id="scheduling gates"),
        pytest.param(big.asking, RESOURCES_MAX, "spec.containers[*].resources", id="resources of a pod"),
        pytest.param(big.minimum, RESOURCES_MAX, "spec.minResources", id="resources of a PodGroup"),
        pytest.param(big.roles, ROLES_MAX, "spec.minTaskMember", id="roles of a PodGroup"),
    ],
)
def test_as_much_is_read_as_the_bound_and_what_says_more_is_not_taken_with_that_as_the_reason(
    made: Callable[[int], Manifest], most: int, field: str
) -> None:
    cache = mirror(manifests("node n1 cpu=64"))
    tell(cache, made(most))
    assert told(cache) == []

    manifest = made(most + 1)
    tell(cache, manifest)
    assert len(told(cache)) == 1
    assert told(cache)[0].endswith(wire_words.too_many_entries(f" tenant/big: {field}", most + 1, most))
    report = run_cycle(cache.snapshot(NOW), DEFAULT_POLICY, REGISTRY)
    assert not report.binds
    if manifest["kind"] == "Pod":
        said = wire_words.too_many_entries(field, most + 1, most)
        assert [(one.reason, one.message) for one in report.unschedulable.values()] == [("Unsupported", said)]

    tell(cache, made(most))
    assert told(cache) == [], "it is read once it says less"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"queue": "q" * 400}, "spec.queue", id="the queue of a PodGroup"),
        pytest.param({"priorityClassName": "c" * 400}, "spec.priorityClassName", id="its priority class"),
        pytest.param({"minTaskMember": {"r" * 400: 1}}, "spec.minTaskMember", id="a role"),
        pytest.param({"minResources": {"example.com/" + "r" * 400: "1"}}, "spec.minResources", id="a resource"),
    ],
)
def test_names_are_read_up_to_the_longest_there_can_be(spec: Manifest, field: str) -> None:
    cache = mirror([])
    tell(cache, big.group(**spec))
    assert f"{field}: " in told(cache)[0]
    assert f"letters ({NAME_LENGTH_MAX} are read at most)" in told(cache)[0]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("scheduling.k8s.io/group-name", id="the PodGroup of a pod"),
        pytest.param("scheduling.volcano.sh/queue-name", id="the queue of a pod"),
        pytest.param("volcano.sh/task-spec", id="the role of a pod"),
    ],
)
def test_annotations_that_hold_names_are_read_up_to_the_longest_name(name: str) -> None:
    cache = mirror([])
    pod = big.pod()
    pod["metadata"]["annotations"] = {name: "n" * 250_000}
    tell(cache, pod)
    field = "scheduling.k8s.io/group-name" if "group" in name else name
    assert told(cache) == [
        fields_words.too_long(f"Pod tenant/big: metadata.annotations[{field}]", 250000, NAME_LENGTH_MAX)
    ]


def test_a_pod_brings_so_many_weights_for_resources() -> None:
    cache = mirror([])
    pod = big.pod()
    weights = {f"example.com/r{number}": 1 for number in range(STRATEGY_MAX + 1)}
    pod["metadata"]["annotations"] = {
        "volcano.sh/resource-strategy-scoring-type": "LeastAllocated",
        "volcano.sh/resource-strategy-weight": json.dumps(weights),
    }
    tell(cache, pod)
    assert told(cache) == []
    assert "65 entries (64 are read at most): ignored" in cache.blemished["Pod", "uid-big"].message


@pytest.mark.parametrize("field", ["hard", "reserved"])
@pytest.mark.parametrize("kind", ["Consumer", "Bucket"])
def test_a_consumer_and_a_bucket_name_so_many_resources(kind: str, field: str) -> None:
    cache = mirror([], arbitrating=True)
    amounts = {f"example.com/r{number}": "1" for number in range(DIVIDED_MAX + 1)}
    metadata = {"name": "big", "namespace": "tenant"} if kind == "Consumer" else {"name": "big"}
    tell(cache, {"kind": kind, "metadata": metadata, "spec": {field: amounts}})
    assert told(cache)[0].endswith(wire_words.too_many_entries(f"spec.{field}", 129, 128))


def test_what_selects_pods_has_so_many_requirements() -> None:
    cache = mirror([])
    labels = {f"label-{number}": "x" for number in range(REQUIREMENTS_MAX + 1)}
    for kind in ("Service", "ReplicaSet"):
        tell(cache, make.selecting(kind, **labels))
    tell(cache, make.budget("b", {"matchLabels": labels}))
    assert [message.partition(": ")[2] for message in told(cache)] == [
        wire_words.too_many_entries("spec.selector.matchLabels", 129, 128)
    ] * 3


def test_a_gang_waits_with_the_one_of_its_pods_that_says_too_much() -> None:
    cache = mirror(manifests("node n1 cpu=64\njob tenant/big min=3 pods=2 cpu=1"))
    pod = big.labelled(LABELS_MAX + 1)
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "big"}
    tell(cache, pod)
    report = run_cycle(cache.snapshot(NOW), DEFAULT_POLICY, REGISTRY)
    assert not report.binds
    message = report.jobs["tenant/big"].message
    assert jobs_words.some_wait(1, "big", wire_words.too_many_entries("metadata.labels", 513, 512)) in message


def test_pods_wait_with_their_podgroup_that_says_too_much() -> None:
    cache = mirror(manifests("node n1 cpu=64"))
    pod = big.pod()
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "big"}
    for found in (big.roles(ROLES_MAX + 1), pod):
        tell(cache, found)
    report = run_cycle(cache.snapshot(NOW), DEFAULT_POLICY, REGISTRY)
    assert not report.binds
    said = wire_words.too_many_entries("PodGroup tenant/big: spec.minTaskMember", 257, 256)
    assert report.jobs["tenant/big"].message == said
    assert [one.message for one in report.unschedulable.values()] == [said]


def test_a_pod_on_a_node_counts_with_its_amounts_however_many_resources_it_names() -> None:
    cache = mirror(manifests("node n1 cpu=4"))
    placed = big.asking(20_000)
    placed["spec"]["nodeName"], placed["status"]["phase"] = "n1", "Running"
    placed["spec"]["containers"][0]["resources"]["requests"] |= {"cpu": "3", "example.com/" + "x" * 400: "1"}
    tell(cache, placed)
    assert cache.snapshot(NOW).nodes.idle[0].tolist() == [1000]
    assert len(cache.axis) == 3


def test_a_large_spec_is_read_once_however_often_its_pod_changes() -> None:
    cache = mirror([])
    pod = big.choosing(TERMS_MAX, 100)
    tell(cache, pod)
    before = cache.task("uid-big")
    pod["metadata"]["labels"] = {"app": "other"}
    tell(cache, pod, "MODIFIED")
    after = cache.task("uid-big")
    assert before is not None
    assert after is not None
    assert before.shape is after.shape
    assert before.labels != after.labels
    smaller = big.choosing(TERMS_MAX, 99)
    tell(cache, smaller, "MODIFIED")
    found = cache.task("uid-big")
    assert found is not None
    assert found.shape is not before.shape


def test_a_pod_on_a_node_that_has_too_many_containers_takes_its_room_however_often_it_is_patched() -> None:
    cache = mirror(manifests("node n1 cpu=99"))
    placed = big.containing(5_000)
    placed["spec"]["nodeName"], placed["status"]["phase"] = "n1", "Running"
    for number in range(3):
        placed["metadata"]["labels"] = {"app": str(number)}
        cache.intake.apply("Pod", "MODIFIED", make.read(placed))
        assert cache.snapshot(NOW).nodes.idle[0].tolist() == [49_000]


def test_a_part_of_a_pod_is_read_up_to_the_size_of_all_annotations() -> None:
    cache = mirror([])
    tell(cache, big.apart(1_500))
    assert told(cache)[0].endswith(f"bytes ({PART_BYTES_MAX:,} are read at most)")


def test_a_pod_on_a_node_that_says_too_much_takes_its_room_and_nobody_counts_its_labels() -> None:
    cache = mirror(manifests("node n1 cpu=4"))
    placed = big.labelled(LABELS_MAX + ADDED_LABELS_MAX + 1)
    placed["spec"]["nodeName"], placed["status"]["phase"] = "n1", "Running"
    placed["spec"]["containers"] = [big.container(requests={"cpu": "3", "example.com/unknown": "1"})]
    tell(cache, placed)

    snapshot = cache.snapshot(NOW)
    assert snapshot.nodes.idle[0].tolist() == [1000]
    assert [labels.pairs for labels in snapshot.placed.counts] == [()]
    assert snapshot.nodes.requested[:, 0].tolist() == [3000, 0, 1, 1000], "and of what no node offers as well"


def test_a_pod_is_not_left_out_for_labels_that_it_gets_with_its_node() -> None:
    cache = mirror(manifests("node n1 cpu=4"))
    placed = big.labelled(LABELS_MAX)
    tell(cache, placed)
    placed["metadata"]["labels"] |= {f"topology.kubernetes.io/{name}": "a" for name in ("zone", "region")}
    placed["spec"]["nodeName"], placed["status"]["phase"] = "n1", "Running"
    tell(cache, placed, "MODIFIED")
    assert told(cache) == []


# -- resources that nobody offers -----------------------------------------------------------------------------------


def waiting(cache: Mirror, now: float = NOW) -> list[str]:
    return sorted(task.name for job in cache.snapshot(now).jobs.values() for task in job.pending.values())


def crowded() -> Mirror:
    """Two pods ask for as many resources that nobody offers as there may be, and a third for one more."""
    cache = mirror(manifests("node n1 cpu=4"))
    for name in ("first", "second"):
        tell(cache, _named(big.asking(RESOURCES_MAX, name), name))
    tell(cache, _named(big.asking(1, "more"), "third"))
    return cache


def _named(pod: Manifest, name: str) -> Manifest:
    pod["metadata"]["name"], pod["metadata"]["uid"] = name, f"uid-{name}"
    return pod


def test_of_resources_that_nobody_offers_so_many_are_counted() -> None:
    cache = crowded()
    assert waiting(cache) == ["first", "second"]
    assert told(cache) == [
        model_words.too_many_unknown_resources(
            "Pod tenant/third: spec.containers[0].resources.requests.example.com/more0", 64
        )
    ]
    assert len(cache.axis) == 3 + 2 * RESOURCES_MAX


def test_a_pod_that_found_no_column_is_read_again_once_others_are_gone() -> None:
    cache = crowded()
    cache.snapshot(NOW)
    tell(cache, _named(big.asking(RESOURCES_MAX, "first"), "first"), "DELETED")
    assert waiting(cache, NOW + 10) == ["second", "third"]
    assert told(cache) == []
    assert len(cache.axis) == 3 + 2 * RESOURCES_MAX, "it has a column that nobody uses any more"


def test_a_pod_that_found_no_column_is_read_again_once_a_node_offers_what_it_asks_for() -> None:
    cache = crowded()
    cache.snapshot(NOW)
    tell(cache, make.node("n2", status={"allocatable": {"cpu": "1", "pods": "9", "example.com/more0": "1"}}))
    assert waiting(cache, NOW + 0.01) == ["first", "second", "third"], "at once"


def test_a_resource_that_nothing_uses_is_offered_again_at_once() -> None:
    cache = crowded()
    offering = make.node("n2", status={"allocatable": {"cpu": "1", "pods": "9", "example.com/more0": "1"}})
    tell(cache, offering)
    tell(cache, _named(big.asking(1, "more"), "third"), "DELETED")
    tell(cache, offering, "DELETED")
    tell(cache, _named(big.asking(1, "other"), "fourth"))
    cache.snapshot(NOW)
    tell(cache, _named(big.asking(1, "more"), "third"))
    assert waiting(cache, NOW + 0.01) == ["first", "second"]
    tell(cache, offering)
    assert waiting(cache, NOW + 0.02) == ["first", "second", "third"]


def broken_on_a_node(resource: str) -> Manifest:
    """A pod on a node, of which only what it requests can be read."""
    says = {"annotations": {"volcano.sh/task-priority": "not a number"}}
    asks = {"containers": [big.container(requests={"cpu": "1", f"example.com/{resource}": "1"})]}
    return make.pod("broken", node="n1", spec=asks, metadata=says)


def requested(cache: Mirror, now: float) -> dict[str, int]:
    """What the pods of a node request by the name of the resource."""
    snapshot = cache.snapshot(now)
    amounts = snapshot.nodes.requested[:, snapshot.nodes.statics.row["n1"]].tolist()
    return {name: amount for name, amount in zip(snapshot.axis.names, amounts, strict=True) if amount}


def test_a_pod_that_cannot_be_used_is_read_again_once_there_is_a_column_for_what_it_requests() -> None:
    cache = crowded()
    tell(cache, broken_on_a_node("more0"))
    assert requested(cache, NOW) == {"cpu": 1000, "pods": 1}
    assert sum("task-priority" in line for line in told(cache)) == 1, "the reason is what is wrong with it"
    tell(cache, make.node("n2", status={"allocatable": {"cpu": "1", "pods": "9", "example.com/more0": "1"}}))
    assert requested(cache, NOW + 0.01) == {"cpu": 1000, "pods": 1, "example.com/more0": 1000}


def test_a_pod_that_cannot_be_used_does_not_take_the_column_that_the_next_name_gets() -> None:
    cache = crowded()
    offering = make.node("n2", status={"allocatable": {"example.com/once": "1"}})
    tell(cache, offering)
    tell(cache, offering, "DELETED")
    cache.snapshot(NOW)
    tell(cache, broken_on_a_node("once"))
    assert requested(cache, NOW) == {"cpu": 1000, "pods": 1}
    tell(cache, make.node("n3", status={"allocatable": {"example.com/next": "1"}}))
    assert requested(cache, NOW + 0.01) == {"cpu": 1000, "pods": 1}


def test_nodes_and_queues_have_as_many_columns_as_they_name() -> None:
    cache = crowded()
    tell(cache, make.node("n2", status={"allocatable": {f"example.com/node{number}": "1" for number in range(100)}}))
    tell(cache, make.queue("q", spec={"capability": {f"example.com/queue{number}": "1" for number in range(100)}}))
    assert len(cache.axis) == 3 + 2 * RESOURCES_MAX + 200


def test_names_of_a_snapshot_stay_as_they_were_when_a_column_gets_another_name() -> None:
    cache = crowded()
    before = cache.snapshot(NOW)
    names = list(before.axis.names)
    for name in ("first", "second"):
        tell(cache, _named(big.asking(RESOURCES_MAX, name), name), "DELETED")
    for number in range(100):
        name = f"churn{number}"
        tell(cache, _named(big.asking(RESOURCES_MAX, name), name))
        cache.snapshot(NOW + 10 + 10 * number)
        tell(cache, _named(big.asking(RESOURCES_MAX, name), name), "DELETED")
    after = cache.snapshot(NOW + 10_000)
    assert before.axis.names == names
    assert after.axis.names != names
    assert len(after.axis) == len(names), "however many names come and go"
    assert after.nodes.axis is after.axis


def test_a_pod_whose_spec_was_read_before_does_not_find_the_column_of_another_resource() -> None:
    cache = crowded()
    first = _named(big.asking(RESOURCES_MAX, "first"), "first")
    tell(cache, first, "DELETED")
    cache.snapshot(NOW)
    tell(cache, first)
    snapshot = cache.snapshot(NOW + 10)
    asked = {
        task.name: {snapshot.axis.names[column] for column, _ in task.shape.request}
        for job in snapshot.jobs.values()
        for task in job.pending.values()
    }
    assert all(name.startswith("example.com/second") or name == "pods" for name in asked["second"])
    assert asked.keys() == {"second", "third"} or asked.keys() == {"second", "first"}
    for name, resources in asked.items():
        prefix = {"third": "more"}.get(name, name)
        assert {one for one in resources if one.startswith("example.com/")} == {
            one for one in snapshot.axis.names if one.startswith(f"example.com/{prefix}")
        }


def test_all_that_found_no_column_are_read_again_some_at_a_time() -> None:
    cache = crowded()
    for number in range(AT_ONCE + 10):
        tell(cache, _named(big.asking(1, "more"), f"late-{number}"))
    cache.snapshot(NOW)
    tell(cache, make.node("n2", status={"allocatable": {"cpu": "1", "pods": "9", "example.com/more0": "1"}}))
    assert len(waiting(cache, NOW + 0.01)) == 2 + AT_ONCE
    assert len(waiting(cache, NOW + 0.02)) == 2 + AT_ONCE + 11, "the third one among them"
