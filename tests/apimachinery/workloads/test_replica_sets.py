"""ReplicaSets: how many pods, which go first, what the status says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.workload_objects import NOW, ago, controlled_by, deleting, pod, workload
from vsched.apimachinery.workloads.actions import After, Create, Delete, SetStatus, Update
from vsched.apimachinery.workloads.replica_sets import BURST, reconcile


def replica_set(wanted: int, **status: Any) -> dict[str, Any]:
    return workload("ReplicaSet", "rs", spec={"replicas": wanted}, status={"observedGeneration": 1, **status})


def of(owner: dict[str, Any], *pods: dict[str, Any]) -> list[dict[str, Any]]:
    reference = controlled_by(owner, "ReplicaSet")
    return [{**each, "metadata": {**each["metadata"], "ownerReferences": [reference]}} for each in pods]


def kinds(actions: list[Any], kind: type) -> list[Any]:
    return [action for action in actions if isinstance(action, kind)]


def test_missing_pods_are_made_from_the_template() -> None:
    owner = replica_set(3)
    made = kinds(reconcile(owner, of(owner, pod("a")), [], NOW), Create)
    assert len(made) == 2
    meta = made[0].obj["metadata"]
    assert (meta["generateName"], meta["labels"]) == ("rs-", {"app": "web"})
    assert meta["ownerReferences"] == [controlled_by(owner, "ReplicaSet")]


def test_many_are_made_a_burst_at_a_time() -> None:
    actions = reconcile(replica_set(3 * BURST), [], [], NOW)
    assert len(kinds(actions, Create)) == BURST
    assert kinds(actions, After) == [After(0)]


def test_surplus_goes_unbound_first_then_pending_then_not_ready_then_youngest() -> None:
    owner = replica_set(1)
    pods = of(
        owner,
        pod("old", ready=True, creationTimestamp=ago(100)),
        pod("young", ready=True, creationTimestamp=ago(10)),
        pod("pending"),
        pod("unbound", node=""),
    )
    doomed = kinds(reconcile(owner, pods, [], NOW), Delete)
    assert [each.name for each in doomed] == ["unbound", "pending", "young"]


def test_finished_and_terminating_pods_are_replaced() -> None:
    owner = replica_set(2)
    pods = of(owner, pod("done", phase="Failed"), deleting(pod("leaving", ready=True)))
    assert len(kinds(reconcile(owner, pods, [], NOW), Create)) == 2


def test_a_pod_whose_labels_no_longer_match_is_released_and_replaced() -> None:
    owner = replica_set(1)
    actions = reconcile(owner, of(owner, pod("a", labels={"app": "debug"})), [], NOW)
    [release] = kinds(actions, Update)
    assert "ownerReferences" not in release.obj["metadata"]
    assert len(kinds(actions, Create)) == 1


def test_a_matching_pod_without_controller_is_adopted() -> None:
    owner = replica_set(1)
    actions = reconcile(owner, [], [pod("a")], NOW)
    [adoption] = kinds(actions, Update)
    assert adoption.obj["metadata"]["ownerReferences"] == [controlled_by(owner, "ReplicaSet")]
    assert not kinds(actions, Create)


def test_a_set_on_its_way_out_makes_nothing() -> None:
    assert not kinds(reconcile(deleting(replica_set(3)), [], [], NOW), Create)


@pytest.mark.parametrize(
    ("min_ready", "available"),
    [
        pytest.param(0, 1, id="ready is available"),
        pytest.param(60, 1, id="ready for long enough is available"),
        pytest.param(61, 0, id="ready for too short a time is not"),
    ],
)
def test_status_counts(min_ready: int, available: int) -> None:
    owner = replica_set(2)
    owner["spec"]["minReadySeconds"] = min_ready
    actions = reconcile(owner, of(owner, pod("a", ready=True), pod("b")), [], NOW)
    [status] = kinds(actions, SetStatus)
    assert status.status["replicas"] == 2
    assert status.status["readyReplicas"] == 1
    assert status.status.get("availableReplicas", 0) == available
    assert bool(kinds(actions, After)) == (not available)


def test_nothing_to_do_is_nothing_done() -> None:
    owner = replica_set(1, replicas=1, fullyLabeledReplicas=1, readyReplicas=1, availableReplicas=1)
    assert reconcile(owner, of(owner, pod("a", ready=True)), [], NOW) == []
